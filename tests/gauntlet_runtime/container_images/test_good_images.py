"""Images that are taken: every form of archive, and what becomes of layers, links, modes and the config."""

from __future__ import annotations

import io
import json
import stat
import tarfile
import threading

import pytest
import zstandard
from image_archives import ARCHITECTURE, Layer, agent_image, compressed, config_of, oci, saved

from gauntlet_runtime.container_images import ImageLimits, check_image
from gauntlet_runtime.jobs import LeaseLost

AGENT = Layer().folder("etc").file("agent", "#!/bin/sh\n", 0o755).file("data/a.txt", "a")


def packed(taken):
    """The entries of the layer that was written."""
    plain = zstandard.ZstdDecompressor().stream_reader(taken.archive.read_bytes()).read()
    with (
        tarfile.open(fileobj=io.BytesIO(plain)) as outer,
        tarfile.open(fileobj=outer.extractfile("layer.tar")) as layer,
    ):
        return {entry.name: entry for entry in layer}


@pytest.mark.parametrize("how", ["", "gzip", "zstd"])
@pytest.mark.parametrize("form", ["saved", "oci", "oci-plain", "oci-zstd", "oci-one-level"])
def test_every_form_gives_the_same_image(take, form, how):
    layers = [AGENT.tar, Layer().file("data/b.txt", "b").tar]
    archive = {
        "saved": lambda: saved(layers),
        "oci": lambda: oci(layers),
        "oci-plain": lambda: oci(layers, how=""),
        "oci-zstd": lambda: oci(layers, how="zstd"),
        "oci-one-level": lambda: oci(layers, nested=False),
    }[form]()
    taken, plain = take(compressed(archive, how)), take(saved(layers))
    assert taken.image == plain.image
    assert taken.archive.read_bytes() == plain.archive.read_bytes()
    assert taken.files == {"agent": "#!/bin/sh\n", "data": "/", "data/a.txt": "a", "data/b.txt": "b"}
    assert (taken.image.layers, taken.image.size, taken.image.architecture) == (2, 12, ARCHITECTURE)


def test_what_docker_25_saves_has_both_an_index_and_a_manifest(take):
    layers = [AGENT.tar]
    with tarfile.open(fileobj=io.BytesIO(oci(layers, nested=False))) as index:
        files = {one.name: index.extractfile(one).read() for one in index}
    assert take(saved(layers, files=files)).image == take(saved(layers)).image


def test_a_second_equal_layer_may_be_a_link_to_the_first(take):
    twice = AGENT.tar
    manifest = b'[{"Config": "c.json", "Layers": ["one/layer.tar", "two/layer.tar"]}]'
    archive = Layer().file("one/layer.tar", twice).link("two/layer.tar", "../one/layer.tar")
    archive.file("c.json", json.dumps(config_of([twice, twice]))).file("manifest.json", manifest)
    assert take(archive.tar).image.layers == 2


@pytest.mark.parametrize(
    ("upper", "left"),
    [
        (Layer().file("d/.wh.x"), {"d/y": "y", "d/z": "/", "d/z/deep": "deep"}),
        (Layer().file("d/.wh.z"), {"d/x": "x", "d/y": "y"}),
        (Layer().file("d/.wh..wh..opq").file("d/new", "n"), {"d/new": "n"}),
        # The mark may stand after what the same layer adds: it takes away what is below only.
        (Layer().file("d/new", "n").file("d/.wh..wh..opq"), {"d/new": "n"}),
        (Layer().file("d/z/new", "n").file("d/.wh.z"), {"d/x": "x", "d/y": "y", "d/z": "/", "d/z/new": "n"}),
        (Layer().file("d/.wh.absent").file("e/.wh.absent"), {"d/x": "x", "d/y": "y", "d/z": "/", "d/z/deep": "deep"}),
        (Layer().file("d/.wh..wh.plnk"), {"d/x": "x", "d/y": "y", "d/z": "/", "d/z/deep": "deep"}),
        (Layer().file("d/z", "now a file"), {"d/x": "x", "d/y": "y", "d/z": "now a file"}),
        (Layer().folder("d/x"), {"d/x": "/", "d/y": "y", "d/z": "/", "d/z/deep": "deep"}),
        (Layer().file("d/x", "newer"), {"d/x": "newer", "d/y": "y", "d/z": "/", "d/z/deep": "deep"}),
    ],
)
def test_what_a_later_layer_says_wins(take, upper, left):
    lower = Layer().folder("d").file("d/x", "x").file("d/y", "y").file("d/z/deep", "deep").file("agent", "", 0o755)
    assert take(saved([lower.tar, upper.tar])).files == {"agent": "", "d": "/", **left}


def test_links_lead_nowhere_but_inside_the_image(take):
    lower = Layer().file("agent", "", 0o755).link("out", "/../../../../etc").link("up", "../../data").folder("data")
    lower.folder("etc")
    upper = Layer().file("up/inside", "i").file("out/passwd", "p").link("loop", "loop")
    taken = take(saved([lower.tar, upper.tar]))
    assert taken.files["data/inside"] == "i"
    assert (taken.files["out"], taken.files["loop"]) == ("-> /../../../../etc", "-> loop")
    assert (taken.root / "etc/passwd").read_text() == "p"


def test_hard_links_stay_one_file(take):
    layer = Layer().file("agent", "same", 0o755).hard_link("other", "agent")
    taken = take(saved([layer.tar, Layer().hard_link("third", "/other").tar]))
    numbers = {(taken.root / name).stat().st_ino for name in ("agent", "other", "third")}
    assert len(numbers) == 1
    assert taken.image.size == 4


def test_names_in_layers_may_be_absolute_as_nix_writes_them(take):
    lower = Layer().file("/agent", "", 0o755).file("//nix/store/x", "x").file("/nix/store/y", "y")
    upper = Layer().file("/nix/store/.wh.x").hard_link("/nix/z", "/nix/store/y")
    files = take(saved([lower.tar, upper.tar])).files
    assert files == {"agent": "", "nix": "/", "nix/store": "/", "nix/store/y": "y", "nix/z": "y"}


def test_a_hard_link_to_a_link_is_another_such_link(take):
    """GNU's `ln` makes these; what such a link leads to need not be there."""
    lower = Layer().file("agent", "", 0o755).file("usr/bin/python3.11", "p").link("usr/bin/python3", "python3.11")
    upper = Layer().hard_link("usr/bin/python", "usr/bin/python3").link("gone", "/nowhere").hard_link("g", "gone")
    files = take(saved([lower.tar, upper.tar])).files
    assert (files["usr/bin/python"], files["usr/bin/python3"]) == ("-> python3.11", "-> python3.11")
    assert (files["g"], files["gone"]) == ("-> /nowhere", "-> /nowhere")


def device(layer, name, kind=tarfile.CHRTYPE):
    return layer.add(name, type=kind, devmajor=1, devminor=3)


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_left_out_where_the_sandbox_has_its_own_or_a_later_layer_takes_them_away(take, kind):
    """What `debootstrap` makes has them in /dev, and no later layer can take anything out of a lower one."""
    lower = Layer().file("agent", "", 0o755).folder("data")
    for name in ("dev/null", "dev/pts/ptmx", "tmp/pipe", "data/removed", "data/replaced", "gone/deep/zero"):
        device(lower, name, kind)
    upper = Layer().file("data/.wh.removed").file("data/replaced", "r").file(".wh.gone")
    taken = take(saved([lower.tar, upper.tar]))
    assert taken.files == {"agent": "", "data": "/", "data/replaced": "r"}
    assert list((taken.root / "dev").rglob("*")) == list((taken.root / "tmp").iterdir()) == []
    assert "What the image has in /dev is left out: the sandbox has its own." in taken.image.notes


def test_a_hard_link_is_as_executable_as_its_file(take):
    """Engines set the one file's mode by each of its names."""
    layer = Layer().file("agent", "same", 0o755).hard_link("other", "agent").file("a", "data").hard_link("b", "a")
    taken = take(saved([layer.tar]))
    assert {name: entry.mode for name, entry in packed(taken).items() if entry.isreg() or entry.islnk()} == {
        "a": 0o644,
        "agent": 0o755,
        "b": 0o644,
        "other": 0o755,
    }


def test_modes_and_owners_are_the_platforms(take):
    layer = Layer().file("agent", "", 0o6711).file("secret", "", 0o600).folder("closed", 0o700)
    layer.file("closed/inside", "", 0o4755)
    taken = take(saved([layer.tar]))
    modes = {name: stat.S_IMODE((taken.root / name).stat().st_mode) for name in ("agent", "secret", "closed")}
    assert modes == {"agent": 0o755, "secret": 0o644, "closed": 0o755}
    assert not [path for path in taken.root.rglob("*") if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]


def test_files_and_folders_keep_their_times(take):
    layer = Layer().add("lib", type=tarfile.DIRTYPE, mtime=1_500_000_000).add("lib/a.py", b"a", mtime=1_600_000_000)
    layer.add("lib/deep/b.py", b"b", mtime=1_700_000_000).hard_link("lib/c.py", "lib/a.py").file("agent", "", 0o755)
    layer.add("etc/passwd", b"7:x:7:7::/:\n", mtime=1_500_000_001)
    upper = Layer().add("lib/a.txt", b"t", mtime=1_000_000_000)
    taken = take(saved([layer.tar, upper.tar]))
    times = {
        "lib": 1_500_000_000,
        "lib/a.py": 1_600_000_000,
        "lib/a.txt": 1_000_000_000,
        "lib/c.py": 1_600_000_000,
        "lib/deep": 1_700_000_000,
        "lib/deep/b.py": 1_700_000_000,
        "etc/passwd": 1_500_000_001,
    }
    assert {name: (taken.root / name).stat().st_mtime for name in times} == times
    assert {name: entry.mtime for name, entry in packed(taken).items() if name in times} == times


@pytest.mark.parametrize(
    ("told", "kept"), [("-1", 0), ("nan", 0), ("inf", 0), ("1e300", 2**33 - 1), ("1600000000.9", 1_600_000_000)]
)
def test_a_time_that_no_file_has_is_the_nearest_or_none(take, told, kept):
    layer = Layer().file("agent", "", 0o755).add("odd", pax_headers={"mtime": told})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry, content in layer.entries:
            archive.addfile(entry, io.BytesIO(content))
    taken = take(saved([out.getvalue()]))
    assert (packed(taken)["odd"].mtime, (taken.root / "odd").stat().st_mtime) == (kept, kept)


def test_the_sandboxs_own_places_are_emptied_and_the_preload_file_dropped(take):
    layer = Layer().file("agent", "", 0o755).file("dev/x").file("tmp/y").link("proc", "/data").folder("sys")
    layer.file("etc/ld.so.preload", "/evil.so").file("run/gauntlet/gateway.sock").file("data/kept", "k")
    taken = take(saved([layer.tar]))
    assert [list((taken.root / name).iterdir()) for name in ("dev", "tmp", "proc", "sys", "run/gauntlet", "etc")] == [
        [] for _ in range(6)
    ]
    assert [note for note in taken.image.notes if "/dev" in note]


def test_users_and_groups_whose_name_is_a_number_are_dropped(take):
    listed = "root:x:0:0::/:/bin/sh\n1900000001:x:0:0::/:/bin/sh\n 7 :x:0:0::/:\nme1:x:5:5::/:\n"
    layer = Layer().file("agent", "", 0o755).file("etc/passwd", listed).link("etc/group", "../data/group")
    taken = take(saved([layer.file("data/group", "root:x:0:\n1900000001:x:0:\n").tar]))
    assert (taken.root / "etc/passwd").read_text() == "root:x:0:0::/:/bin/sh\nme1:x:5:5::/:\n"
    assert (taken.root / "data/group").read_text() == "root:x:0:\n"


def test_the_config_says_what_is_started_and_how(take):
    config = {
        "Entrypoint": ["agent"],
        "Cmd": ["--fast", "two words"],
        "Env": ["PATH=/opt/bin:/usr/bin", "A=1=2", "B=", "bad-name=x", "GAUNTLET_URL=http://evil"],
        "WorkingDir": "/link/made",
        "User": "root",
    }
    layer = Layer().file("opt/bin/agent", "", 0o755).folder("place").link("link", "place")
    image = take(saved([layer.tar], config=config)).image
    assert image.command == ["agent", "--fast", "two words"]
    assert image.working_directory == "/place/made"
    assert image.environment == {"PATH": "/opt/bin:/usr/bin", "A": "1=2", "B": "", "GAUNTLET_URL": "http://evil"}
    assert [note for note in image.notes if "'bad-name'" in note]
    assert [note for note in image.notes if "root" in note and "unprivileged" in note]


@pytest.mark.parametrize("place", ["/", "/tmp", "/dev/shm", "/with space\n/and a line break"])
def test_a_program_may_work_in_its_own_folders_and_in_the_open_ones(take, place):
    assert take(saved([AGENT.tar], config={"WorkingDir": place})).image.working_directory == place


def test_a_user_of_its_own_is_told_that_another_is_used(take):
    image = take(saved([AGENT.tar], config={"User": "app:staff"})).image
    assert image.user == "app:staff"
    assert [note for note in image.notes if "'app:staff'" in note]


def test_the_written_image_is_what_docker_loads(take):
    taken = take(saved([AGENT.tar, Layer().tar]))
    with taken.archive.open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file).read()
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        assert archive.getnames() == ["config.json", "manifest.json", "layer.tar"]
    assert taken.config["config"]["Labels"] == {"org.gauntlet.digest": taken.image.id}


def test_a_layer_without_any_byte_is_an_empty_layer(take):
    assert take(saved([AGENT.tar, b""])).image.layers == 2


def test_an_image_with_a_real_python(take):
    taken = take(agent_image("say(1)"))
    assert taken.image.command == ["python3.11", "agent.py"]
    assert (taken.root / "usr/bin/python3.11").stat().st_mode & 0o111


def test_a_check_that_nobody_waits_for_any_more_stops(tmp_path):
    unwanted = threading.Event()
    unwanted.set()
    with pytest.raises(LeaseLost):
        check_image(
            io.BytesIO(saved([AGENT.tar])), tmp_path / "x", work=tmp_path, limits=ImageLimits(), unwanted=unwanted
        )
    assert list(tmp_path.iterdir()) == []
