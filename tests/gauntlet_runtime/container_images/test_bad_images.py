"""Images that are refused, each with a sentence that names the file in the archive and says what to do."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile

import pytest
from image_archives import Layer, compressed, config_of, files_tar, oci, saved, sha

AGENT = Layer().file("agent", "#!/bin/sh\n", 0o755).tar
RANDOM = random.Random(1).randbytes(200_000)  # noqa: S311 - what does not compress
MORE = Layer().file("agent", "", 0o755)


def layered(layer: Layer) -> bytes:
    """An image with this layer over a good one."""
    return saved([AGENT, layer.tar])


def config(**changes: object) -> bytes:
    """An image whose config has these changes."""
    return saved([AGENT], **changes)


def without(archive: bytes, name: str) -> bytes:
    """An archive without the files of a name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        kept = {one.name: opened.extractfile(one).read() for one in opened if name not in one.name}
    return files_tar(kept)


def replaced(archive: bytes, name: str, content: bytes) -> bytes:
    """An archive in which one file has other content."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        files = {one.name: opened.extractfile(one).read() for one in opened}
    return files_tar({key: content if name in key else value for key, value in files.items()})


def manifest_only(content: object) -> bytes:
    """An OCI layout of nothing but a manifest."""
    manifest = json.dumps(content).encode()
    index = {"manifests": [{"digest": f"sha256:{sha(manifest)}"}]}
    return files_tar({"index.json": json.dumps(index).encode(), f"blobs/sha256/{sha(manifest)}": manifest})


def indexed(*manifests: object) -> bytes:
    """An OCI layout whose index lists these."""
    return replaced(oci([AGENT], nested=False), "index.json", json.dumps({"manifests": manifests}).encode())


MANIFEST = [{"Config": "c.json", "Layers": ["l.tar"]}]
LONG = {"pax_headers": {"comment": "x" * (2 << 20)}}

#: What it is, the archive, and words of the sentence.
BAD = {
    # What the file is
    "a text": (b"hello" * 200, "no image archive"),
    "an empty file": (b"", "no image archive"),
    "a tar of a folder": (files_tar({"agent.yaml": b"name: x"}), "no manifest.json (docker save) and no index.json"),
    "docker export": (files_tar({"etc/passwd": b"", "usr/bin/x": b""}), "as `docker export` writes it"),
    "cut gzip": (gzip.compress(saved([AGENT]))[:-20], "cannot be decompressed"),
    "cut zstd": (
        compressed(saved([Layer().file("agent", "#!/bin/sh", 0o755).file("x", RANDOM).tar]), "zstd")[:50_000],
        "damaged",
    ),
    "gzip of rubbish": (b"\x1f\x8b" + b"\xff" * 600, "cannot be decompressed"),
    "cut tar": (saved([AGENT])[:1500], "damaged"),
    # The outer archive
    "two images": (saved([AGENT], files={"manifest.json": json.dumps(MANIFEST * 2).encode()}), "holds 2 images"),
    "no image": (saved([AGENT], files={"manifest.json": b"[]"}), "holds 0 images"),
    "manifest is no JSON": (saved([AGENT], files={"manifest.json": b"{"}), "manifest.json: is not JSON"),
    "manifest is no list": (saved([AGENT], files={"manifest.json": b"{}"}), "manifest.json: is not what such a file"),
    "manifest of nonsense": (saved([AGENT], files={"manifest.json": b"[1]"}), "names no config and layers"),
    "manifest nested deeply": (saved([AGENT], files={"manifest.json": b"[" * 100_000}), "is not JSON"),
    "huge manifest": (saved([AGENT], files={"manifest.json": b" " * (5 << 20)}), "has 5,242,880 bytes"),
    "no layers": (saved([]), "the image is empty"),
    "a layer is missing": (without(saved([AGENT]), "layer.tar"), "which is not in the archive"),
    "config is missing": (without(saved([AGENT]), ".json"), "no manifest.json"),
    "config of another name": (replaced(saved([AGENT]), sha(json.dumps(config_of([AGENT])).encode()), b"{}"), "digest"),
    "layer of another digest": (
        replaced(saved([AGENT]), "layer.tar", MORE.tar),
        "not the layer that the image's config",
    ),
    "fewer layers than digests": (config(rootfs={"type": "layers", "diff_ids": []}), "lists 0 layers"),
    "digests of another kind": (config(rootfs={"diff_ids": ["md5:1"]}), "no digests of its layers"),
    "no rootfs": (config(rootfs=None), "no digests of its layers"),
    "a name twice": (Layer().file("a").file("a").file("manifest.json").tar, "twice"),
    "outer absolute name": (Layer().file("/manifest.json", "[]").tar, "absolute path"),
    "outer name leading out": (Layer().file("../manifest.json", "[]").tar, "leads out of the image"),
    "outer device": (Layer().add("null", type=tarfile.CHRTYPE).tar, "neither a file nor a folder"),
    "config outside": (
        saved([AGENT], files={"manifest.json": json.dumps([{"Config": "../x", "Layers": []}]).encode()}),
        "leads out",
    ),
    # OCI
    "index without manifests": (files_tar({"index.json": b"{}"}), "lists no manifests"),
    "two OCI images": (
        replaced(
            oci([AGENT], nested=False),
            "index.json",
            json.dumps({"manifests": [{"digest": f"sha256:{sha(b'1')}"}, {"digest": f"sha256:{sha(b'2')}"}]}).encode(),
        ),
        "holds 2 images",
    ),
    "blob of another digest": (
        replaced(oci([AGENT], how=""), sha(AGENT), MORE.tar.ljust(len(AGENT), b"\0")),
        "is not what its name says",
    ),
    "digest that is a path": (
        files_tar({"index.json": json.dumps({"manifests": [{"digest": "sha256:../../etc/passwd"}]}).encode()}),
        "without a SHA-256 digest",
    ),
    "digest that is a list": (
        indexed({"digest": []}),
        "index.json: names a blob without a SHA-256 digest; export the image again.",
    ),
    "manifest that is a list": (indexed([]), "index.json: holds 0 images"),
    "kind that is a list": (
        indexed({"digest": f"sha256:{sha(b'{}')}", "mediaType": []}),
        "which is not in the archive; make the archive again.",
    ),
    "kind in a manifest that is a list": (
        manifest_only({"mediaType": ["x"]}),
        "names no layers; export the image again.",
    ),
    "layers that are numbers": (manifest_only({"layers": [1]}), "names a blob without a SHA-256 digest"),
    # The config
    "another architecture": (config(architecture="s390x"), "docker build --platform linux/"),
    "no architecture": (config(architecture=None), "for nothing that it names"),
    "windows": (config(os="windows"), "build it for linux"),
    "no command": (config(config={"Cmd": None}), "neither ENTRYPOINT nor CMD"),
    "command is a text": (config(config={"Cmd": "sh -c x"}), "no list of words"),
    "program is missing": (config(config={"Cmd": ["/usr/bin/agent"]}), "'/usr/bin/agent', which is not in the image"),
    "program not on the path": (config(config={"Cmd": ["agent"]}), "'agent', which is not in the image"),
    "program not executable": (saved([Layer().file("agent").tar]), "chmod +x"),
    "program is a folder": (saved([Layer().folder("agent").tar]), "may not be executed"),
    "program is a loop": (saved([Layer().link("agent", "agent").tar]), "not in the image"),
    "half a surrogate pair": (config(config={"Cmd": ["/agent", "\ud800"]}), "is not JSON"),
    "command with a NUL": (config(config={"Cmd": ["/agent", "a\0b"]}), "a NUL in it"),
    "words too long": (
        config(config={"Cmd": ["/agent", "\N{GRINNING FACE}" * 32_000]}),
        "or 64 KiB; put it into a script",
    ),
    "program that writes to a terminal": (
        config(config={"Cmd": ["/\x1b[2J\n\u202e"]}),
        "starts '/\ufffd[2J\ufffd\ufffd'",
    ),
    "too many words": (config(config={"Cmd": ["/agent"] * 300}), "put it into a script"),
    "environment is no list": (config(config={"Env": {"A": "1"}}), "NAME=value"),
    "environment too long": (config(config={"Env": ["A=" + "x" * 200_000]}), "KiB"),
    "relative working directory": (config(config={"WorkingDir": "app"}), "no absolute path"),
    "working directory leads out": (config(config={"WorkingDir": "/a/../../b"}), "no absolute path"),
    "working directory is a file": (config(config={"WorkingDir": "/agent"}), "no folder"),
    "working directory too long": (config(config={"WorkingDir": "/" + "x" * 300}), "255 bytes a name"),
    "working directory in /tmp": (config(config={"WorkingDir": "/tmp/work"}), "has the WORKDIR /tmp/work, where"),
    "working directory of a process": (config(config={"WorkingDir": "/proc/1/root"}), "use another, /app for example"),
    "working directory beside the launcher": (config(config={"WorkingDir": "/.gauntlet/lib"}), "sandbox has its own"),
    "working directory behind the door": (config(config={"WorkingDir": "/run/gauntlet/x"}), "sandbox has its own"),
    "working directory by a link": (
        saved([AGENT, Layer().link("w", "dev").tar], config={"WorkingDir": "/w/x"}),
        "has the WORKDIR /w/x, where",
    ),
    "working directory by a link to a name that is no UTF-8": (
        saved([AGENT, Layer().folder("caf\udce9").link("w", "caf\udce9").tar], config={"WorkingDir": "/w"}),
        "has the WORKDIR /w, which leads to a folder whose name is no UTF-8; rename that in the image.",
    ),
    "user is a number": (config(config={"User": 5}), "USER that is no text"),
    # The layers
    "path leading out": (layered(Layer().file("a/../../x")), "a/../../x: "),
    "absolute path leading out": (layered(Layer().file("/a/../../x")), "a/../../x: "),
    "character device": (
        layered(Layer().add("data/zero", type=tarfile.CHRTYPE, devmajor=1, devminor=5)),
        "data/zero: is a device; remove it from the image, in a later layer for example (RUN rm).",
    ),
    "block device": (layered(Layer().add("data/disk", type=tarfile.BLKTYPE, devmajor=8)), "data/disk: is a device"),
    "FIFO": (layered(Layer().add("data/pipe", type=tarfile.FIFOTYPE)), "data/pipe: is a FIFO"),
    "unknown kind": (layered(Layer().add("data/odd", type=b"V")), "data/odd: is of a kind that no image needs"),
    "device by a link": (
        layered(Layer().folder("data").link("l", "data").add("l/zero", type=tarfile.CHRTYPE)),
        "data/zero: is a device",
    ),
    "hard link to a device": (
        layered(Layer().add("dev/null", type=tarfile.CHRTYPE).hard_link("null", "dev/null")),
        "null: is a device",
    ),
    "device of a later layer": (
        saved([AGENT, Layer().file("x").tar, Layer().file(".wh.x").add("x", type=tarfile.CHRTYPE).tar]),
        "x: is a device",
    ),
    "the program is a FIFO": (saved([Layer().add("agent", type=tarfile.FIFOTYPE, mode=0o755).tar]), "chmod +x"),
    "link to a long path": (
        layered(Layer().link("l", "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 2_000)),
        "holds this link, which leads to a path of more than 4,095 bytes; use a shorter one.",
    ),
    "link to nothing": (layered(Layer().link("l", "")), "leads to nothing that has a name"),
    "hard link out": (layered(Layer().hard_link("shadow", "../../etc/shadow")), "leads out"),
    "hard link to nothing": (layered(Layer().hard_link("shadow", "etc/shadow")), "is no file of the image"),
    "hard link to a folder": (layered(Layer().folder("d").hard_link("h", "d")), "is no file of the image"),
    "through a file": (layered(Layer().file("agent/inside")), "agent is no folder"),
    "through a loop": (layered(Layer().link("l", "l").file("l/inside")), "l is no folder"),
    "name too long": (layered(Layer().file("n" * 300)), "255 bytes a name"),
    "too deep": (layered(Layer().file("d/" * 200 + "x")), "128 folders deep"),
    "too deep by links": (
        layered(Layer().folder("d/" * 100 + "e").link("l", "d/" * 100 + "e").file("l/" + "f/" * 100 + "x")),
        "more than 128 folders deep",
    ),
    "huge header": (layered(Layer().add("x", type=tarfile.XHDTYPE).file("y" * 3_000_000)), "headers are longer than"),
    "damaged layer": (saved([AGENT, b"\1" * 2048]), "no whole tar"),
    "the door is a link": (layered(Layer().link("run", "/etc")), "/run/gauntlet: must be a folder"),
    "the door is a file": (layered(Layer().file("run/gauntlet")), "/run/gauntlet: must be a folder"),
    "etc is a link": (layered(Layer().link("etc", "/data")), "/etc: must be a folder"),
    "the launcher's place": (layered(Layer().file(".gauntlet/sh")), "keeps for itself"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_archive_is_refused_with_its_sentence(refuse, what):
    archive, words = BAD[what]
    assert words in refuse(archive)


@pytest.mark.parametrize("how", ["gzip", "zstd"])
@pytest.mark.parametrize("where", ["outer", "layer"])
def test_a_bomb_is_refused_while_it_is_unpacked(refuse, how, where):
    layer = Layer().file("agent", "", 0o755).file("zeros", bytes(64 << 20)).tar
    archive = compressed(saved([layer]), how) if where == "outer" else oci([layer], how=how)
    assert len(archive) < 1 << 20
    assert "unpacks to more than 4,194,304 bytes" in refuse(archive, unpacked_bytes=4 << 20)


def test_too_large_and_too_many_are_refused(refuse, tmp_path):
    layers = [Layer().file("agent", "", 0o755).file("a", bytes(3000)).tar, Layer().file("b", bytes(3000)).tar]
    assert "has 6,000 bytes of files; at most 5,000" in refuse(saved(layers), unpacked_bytes=5000)


def test_entries_are_counted_over_all_layers(refuse):
    layers = [AGENT, *(Layer().file("x").file("y").tar for _ in range(5))]
    assert "more than 6 entries" in refuse(saved(layers), entries=6)


def test_whiteouts_without_end_are_refused(refuse, monkeypatch):
    from gauntlet_runtime.container_images import tree

    monkeypatch.setattr(tree, "_MOST_WORK", 20_000)
    layer = Layer().file("agent", "", 0o755)
    for number in range(200):
        layer.file(f"d/{number}").file("d/.wh..wh..opq")
    assert "build it in fewer steps" in refuse(layered(layer))
