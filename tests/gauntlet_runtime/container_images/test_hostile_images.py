"""Images made to harm whoever checks or unpacks them: refused in words that can be stored, and soon."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from image_archives import Layer, config_of, files_tar, oci, saved, sha

from gauntlet_runtime.container_images import ImageLimits, ImageRefused, check, check_image, unpack_image
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
