"""Images made to harm whoever checks or unpacks them: refused in words that can be stored, and soon."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_archives import Layer, config_of, files_tar, oci, saved, sha

from gauntlet_runtime.container_images import ImageLimits, ImageRefused, check, check_image, unpack_image
from gauntlet_runtime.container_images.streams import Budget
from gauntlet_runtime.container_images.tars import entries
from gauntlet_runtime.jobs import LeaseLost

AGENT = Layer().file("agent", "#!/bin/sh\n", 0o755)


@pytest.fixture
def checked(tmp_path: Path) -> Any:
    """Check an archive; what is to be run."""

    def checked(content: bytes) -> Path:
        source, made = tmp_path / "sent.tar", tmp_path / "made"
        made.unlink(missing_ok=True)
        source.write_bytes(content)
        with source.open("rb") as file:
            check_image(file, made, work=tmp_path, limits=ImageLimits())
        return made

    return checked


def refusal(checked: Any, content: bytes) -> ImageRefused:
    with pytest.raises(ImageRefused) as caught:
        checked(content)
    return caught.value


ODD = "d\udcff\n\x1b[31m"  # bytes that are no UTF-8, and what moves a terminal's colours


@pytest.mark.parametrize(
    "layer",
    [
        Layer().file(ODD).file(f"{ODD}/inside"),
        Layer().file(f"{ODD}/../x"),
        Layer().hard_link("h", ODD),
        Layer().file(ODD + "n" * 300),
        Layer().add(ODD, type=b"V"),
    ],
)
def test_what_is_said_of_an_odd_name_can_be_stored_and_shown(checked: Any, layer: Layer) -> None:
    refused = refusal(checked, saved([AGENT.tar, layer.tar]))
    for text in (refused.file, refused.message):
        text.encode()
        assert text.isprintable()


def test_the_name_of_a_layers_file_is_told_so_too(checked: Any) -> None:
    """`docker save` of old named equal layers by links, and such a link may lead to any name."""
    content = saved([AGENT.tar, b"\1" * 2048])
    archive_of = Layer()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for entry in archive.getmembers():
            inner = archive.extractfile(entry)
            assert inner is not None
            body = inner.read()
            if body == b"\1" * 2048:
                archive_of.link(entry.name, f"../{ODD}").file(ODD, body)
            else:
                archive_of.file(entry.name, body)
    refused = refusal(checked, archive_of.tar)
    assert "no whole tar" in refused.message
    for text in (refused.file, refused.message):
        text.encode()
        assert text.isprintable()


def test_more_names_of_one_file_than_a_file_system_takes_are_refused_when_it_comes(
    checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every try to unpack it would fail, by what looks like the platform's own fault."""
    assert check.MOST_NAMES < 65_000  # of ext4, which takes the fewest
    monkeypatch.setattr(check, "MOST_NAMES", 100)
    layer = Layer()
    for number in range(99):
        layer.hard_link(f"names/{number}", "agent")
    unpack_image(checked(saved([AGENT.tar, layer.tar])), tmp_path / "tree")
    assert (tmp_path / "tree/agent").stat().st_nlink == 100
    layer.hard_link("names/99", "agent")
    refused = refusal(checked, saved([AGENT.tar, layer.tar]))
    assert "has more than 100 names (hard links)" in refused.message


def ladder(length: int = 39) -> Layer:
    """Links each of which leads a long way round to the next, the last one to a folder. Unbounded, this takes hours."""
    layer = Layer().folder("d")
    round_about = "d/../" * 800
    for number in range(length):
        layer.link(f"l{number}", f"{round_about}l{number + 1}" if number < length - 1 else f"{round_about}d")
    return layer


def test_links_that_take_hours_to_follow_are_refused_soon(checked: Any) -> None:
    layer = ladder()
    for number in range(20_000):
        layer.file(f"l0/{number}")
    assert "links" in refusal(checked, saved([AGENT.tar, layer.tar])).message


def test_so_is_a_search_path_that_does(checked: Any) -> None:
    path = "PATH=" + ":".join(f"/l0/{number}" for number in range(10_000))
    content = saved([AGENT.tar, ladder().tar], config={"Cmd": ["agent"], "Env": [path]})
    assert "links" in refusal(checked, content).message


class Counted(io.BytesIO):
    """An archive that knows how many bytes were read of it, and cancels its check after so many."""

    def __init__(self, content: bytes, *, cancel_after: int | None = None) -> None:
        super().__init__(content)
        self.given = 0
        self.unwanted = threading.Event()
        self._cancel_after = cancel_after

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.given += len(data)
        if self._cancel_after is not None and self.given >= self._cancel_after:
            self.unwanted.set()
        return data

    def check(self, work: Path) -> None:
        check_image(self, work / "made", work=work, limits=ImageLimits(), unwanted=self.unwanted)


def repeated(layer: bytes, times: int) -> bytes:
    """An OCI layout whose manifest names one plain layer many times."""
    config = json.dumps(config_of([layer] * times)).encode()
    manifest = json.dumps(
        {"config": {"digest": f"sha256:{sha(config)}"}, "layers": [{"digest": f"sha256:{sha(layer)}"}] * times}
    ).encode()
    index = json.dumps({"manifests": [{"digest": f"sha256:{sha(manifest)}"}]}).encode()
    blobs = {f"blobs/sha256/{sha(blob)}": blob for blob in (layer, config, manifest)}
    return files_tar({"index.json": index, **blobs})


FOLDERS = Layer().folder("d").tar[:512]  # one of them
LARGE = Layer().file("agent", "#!/bin/sh\n", 0o755).file("zeros", bytes(4 << 20)).tar


@pytest.mark.parametrize("form", ["saved", "oci"])
def test_a_layer_that_is_named_256_times_is_read_once(tmp_path: Path, form: str) -> None:
    """Else an archive of a few megabytes, decompressed, keeps a checker busy for days."""
    layer = Layer().file("agent", "#!/bin/sh\n", 0o755).file("zeros", bytes(1 << 20)).tar
    archive = Counted(saved([layer] * 256) if form == "saved" else repeated(layer, 256))
    archive.check(tmp_path)
    assert archive.given < 4 * len(layer)  # once for its digest, once to be written, and its headers 256 times


def test_a_compressed_layer_that_is_named_twice_is_decompressed_once(tmp_path: Path) -> None:
    limits = ImageLimits(unpacked_bytes=len(LARGE))
    check_image(io.BytesIO(oci([LARGE] * 2)), tmp_path / "made", work=tmp_path, limits=limits)


def test_layers_are_counted_before_any_is_read(tmp_path: Path) -> None:
    archive = Counted(repeated(LARGE, 257))
    with pytest.raises(ImageRefused, match="names 257 layers; at most 256 are taken; build the image in fewer steps"):
        archive.check(tmp_path)
    assert archive.given < len(LARGE)


@pytest.mark.parametrize(
    "content",
    [saved([LARGE]), oci([LARGE], how=""), gzip.compress(b"", 1) * 150_000, FOLDERS * 6_000],
    ids=["layer of docker save", "blob", "nothing, compressed again and again", "folders"],
)
def test_a_cancelled_check_reads_no_further(tmp_path: Path, content: bytes) -> None:
    archive = Counted(content, cancel_after=2 << 20)
    with pytest.raises(LeaseLost):
        archive.check(tmp_path)
    assert archive.given <= (2 << 20) + (1 << 20)


def test_folders_of_the_archive_are_counted_too(checked: Any) -> None:
    assert "more than 10,000 files" in refusal(checked, FOLDERS * 10_001 + bytes(1024)).message


def record(key: str, value: str) -> bytes:
    """A line of a PAX header."""
    size = len(f" {key}={value}\n")
    size += len(str(size + len(str(size))))
    return f"{size} {key}={value}\n".encode()


def headers(count: int, kind: bytes = tarfile.XGLTYPE, size: int = 900_000) -> Layer:
    """Headers of keys of their own; each holds for all entries that follow if it is a global one."""
    layer = Layer()
    for number in range(count):
        layer.add("g", record(f"key{number}", "x" * size), type=kind)
    return layer


def test_what_global_headers_say_is_not_kept() -> None:
    layer = Layer()
    for number in range(4):
        layer.add("g", record(f"key{number}", "x" * 900_000), type=tarfile.XGLTYPE)
        layer.folder(f"d{number}")
    listed = entries(io.BytesIO(layer.tar), start=0, size=len(layer.tar), file="x", budget=Budget(0, 0, 1 << 30))
    assert [sorted(entry.pax_headers) for entry in listed] == [[f"key{number}"] for number in range(4)]


SPARSE = tarfile.TarInfo("sparse").tobuf(tarfile.GNU_FORMAT)
SPARSE = SPARSE[:156] + tarfile.GNUTYPE_SPARSE + SPARSE[157:482] + b"\1" + SPARSE[483:]
SPARSE = SPARSE[:148] + b"%06o\0 " % tarfile.calc_chksums(SPARSE)[0] + SPARSE[156:]
MORE = (b"%011o\0" % 1 * 42).ljust(504, b"\0") + b"\1" + bytes(7)  # of it: places, and that there are still more


@pytest.mark.parametrize("place", ["archive", "layer"])
@pytest.mark.parametrize(
    "content",
    [
        headers(3).folder("d").tar,
        headers(3, tarfile.XHDTYPE).folder("d").tar,
        headers(3, tarfile.GNUTYPE_LONGNAME).folder("d").tar,
        headers(100, size=1).folder("d").tar,
        headers(1200, tarfile.GNUTYPE_LONGNAME, size=1).folder("d").tar,
        SPARSE + MORE * 100,
    ],
    ids=["global", "of one entry", "long names", "many", "very many", "sparse"],
)
def test_the_headers_of_one_entry_are_bounded_together(checked: Any, place: str, content: bytes) -> None:
    refused = refusal(checked, saved([AGENT.tar, content]) if place == "layer" else content)
    assert refused.message == (
        "holds an entry whose headers are longer than 1,048,576 bytes, or too many; make the archive again."
    )


@pytest.mark.parametrize(
    "content",
    [
        b"2 " * 400_000 + b"=\n",
        b"5 x=" + b"x" * 100,
        b"0 x=\n",
        b"-5 x=\n",
        b"9999 x=\n",
        b"9 nothing\n",
        record("comment", "1" * 900_000),
    ],
    ids=["each in the next", "cut", "of no length", "of less than none", "beyond the end", "no key", "digits"],
)
@pytest.mark.parametrize("kind", [tarfile.XGLTYPE, tarfile.XHDTYPE])
def test_records_of_headers_are_read_only_one_after_another(checked: Any, kind: bytes, content: bytes) -> None:
    """Some of these took hundreds of gigabytes, or hours in which nothing else of the checker ran."""
    layer = Layer().add("long", b"x" * 512, type=tarfile.GNUTYPE_LONGNAME).add("g", content, type=kind).folder("d")
    assert "no whole tar" in refusal(checked, saved([AGENT.tar, layer.tar])).message


def test_headers_as_tools_write_them_are_taken(checked: Any) -> None:
    """A header's content is not taken for a header, nor a header for content."""
    layer = Layer().add("pax_global_header", record("comment", "f" * 40), type=tarfile.XGLTYPE)
    layer.add("x", record("SCHILY.xattr.user.a", "1=2\n3=" * 99) + record("mtime", "1.5"), type=tarfile.XHDTYPE)
    layer.add("x", b"x" * 100 + b"/" + b"x" * 100, type=tarfile.GNUTYPE_LONGNAME).file("short")
    layer.add("x", b"x" * 156 + b"x" + b"/y" * 40, type=tarfile.GNUTYPE_LONGLINK).link("l", "short")
    checked(saved([AGENT.tar, layer.tar]))


@pytest.mark.parametrize("place", ["archive", "layer"])
def test_a_header_that_the_end_cuts_is_no_fault_of_the_platform(checked: Any, place: str) -> None:
    refused = refusal(checked, saved([AGENT.tar, SPARSE]) if place == "layer" else SPARSE)
    assert refused.message == "is damaged: it is no whole tar; make the archive again."


def odd_entry(kind: bytes, size: int | None, name: str, body: bytes) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, name
    entry.size = len(body) if size is None else size
    return entry.tobuf(tarfile.GNU_FORMAT) + body + bytes(-len(body) % 512)


KEYS = ["path", "linkpath", "size", "mtime", "hdrcharset", "comment"]
KEYS += [f"GNU.sparse.{key}" for key in ("map", "size", "realsize", "major", "minor", "name", "offset", "numbytes")]
VALUES = ["1", "0", "-512", "1,2,3", "nan", "inf", "BINARY", "/a/b", "../x", "9" * 30, "", "1\n2", "agent"]
RECORDS = st.lists(st.builds(record, st.sampled_from(KEYS), st.sampled_from(VALUES)), min_size=1, max_size=4)
ENTRY = st.builds(
    odd_entry,
    st.sampled_from([bytes([kind]) for kind in b"01234567xgLKSXV"]),
    st.sampled_from([None, None, None, None, -1, -512, 1 << 40]),
    st.sampled_from(["a", "b", "a/b", "/a", ".wh.a", ".wh..wh..opq", "dev/x", "caf\udce9", ""]),
    RECORDS.map(b"".join) | st.sampled_from([b"", b"a/b\0", b"3\n1\n2\n"]),
)


@given(st.lists(ENTRY, min_size=1, max_size=6).map(b"".join), st.integers(0, 512), st.booleans())
@settings(max_examples=200, deadline=None)
def test_whatever_headers_say_is_taken_and_unpacked_or_refused(content: bytes, cut: int, is_layer: bool) -> None:
    content = content[: len(content) - cut]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        source = io.BytesIO(saved([AGENT.tar, content]) if is_layer else content)
        try:
            check_image(source, made, work=Path(folder), limits=ImageLimits())
        except ImageRefused:
            return
        unpack_image(made, Path(folder, "tree"))


def test_the_headers_of_all_entries_are_bounded_together(refuse: Any) -> None:
    """Reading them takes much longer than reading what they stand before."""
    words = "has headers that are longer together than those of any image; use shorter names"
    assert words in refuse(saved([AGENT.tar, headers(1).folder("d").tar]), entries=200)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (tarfile.XGLTYPE, 512),
        (tarfile.XGLTYPE, -512),
        (tarfile.XGLTYPE, 1 << 40),
        (tarfile.XHDTYPE, -512),
        (tarfile.XHDTYPE, 1 << 40),
    ],
)
def test_no_file_reaches_into_what_follows(checked: Any, kind: bytes, size: int) -> None:
    """A global header changes what a file's size is said to be, but not where the next one begins."""
    layer = Layer().add("g", record("size", str(size)), type=kind).file("x").file("y", "y")
    assert "no whole tar" in refusal(checked, saved([AGENT.tar, layer.tar])).message


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_SPARSE, b"V"])
def test_an_entry_does_not_follow_itself(checked: Any, kind: bytes) -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = kind, -512
    content = entry.tobuf(tarfile.GNU_FORMAT)
    assert "no whole tar" in refusal(checked, saved([AGENT.tar, content])).message


def test_folders_on_the_way_are_counted(refuse: Any) -> None:
    layer = Layer()
    for number in range(9):
        layer.file(f"{number}/" + "d/" * 110 + "x")
    words = "has more than 1,000 entries, with folders on the way and the layers below it"
    assert words in refuse(saved([AGENT.tar, layer.tar]), entries=1000)


def by_links(name: str, depth: int) -> Layer:
    """Folders in folders, each with a short name in the root: l1, l2 and so on."""
    layer = Layer().link("l0", "/")
    for number in range(depth):
        layer.folder(f"l{number}/{name}").link(f"l{number + 1}", f"l{number}/{name}")
    return layer


@pytest.mark.parametrize(
    ("last", "limits", "words"),
    [
        ("y" * 79, {}, ""),
        ("y" * 80, {}, "has a path of more than 4,095 bytes; use shorter names"),
        ("y" * 79, {"entries": 36}, "paths in the image have more than 36,864 bytes together; use shorter names"),
    ],
)
def test_paths_are_bounded_one_by_one_and_together(
    checked: Any, refuse: Any, last: str, limits: Any, words: str
) -> None:
    """Links shorten what a layer says of a long path; whoever packs it holds it whole."""
    content = saved([AGENT.tar, by_links("n" * 250, 16).file(f"l16/{last}").tar])
    assert words in refuse(content, **limits) if words else checked(content)
