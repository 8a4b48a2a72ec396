"""Archives of strangers: what is tolerated, and what is refused by name with nothing left on the disk."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.storage.archives import ArchiveLimits, unpack
from gauntlet.storage.errors import ArchiveRefused

SMALL = ArchiveLimits(total_bytes=1 << 20, files=50, ratio=20, ratio_from_bytes=64 << 10)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of the test's own, with nothing in it."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def make_zip(entries: dict[str, bytes] | list[tuple[str, bytes]], **fields: Any) -> io.BytesIO:
    """A zip with these entries; ``fields`` are set on each."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items() if isinstance(entries, dict) else entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for field, value in fields.items():
                setattr(info, field, value)
            archive.writestr(info, content)
    return out


def files_of(folder: Path) -> dict[str, bytes]:
    """What was unpacked."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(archive: io.BytesIO, place: Path, limits: ArchiveLimits = SMALL) -> ArchiveRefused:
    """The refusal, after which nothing is there."""
    with pytest.raises(ArchiveRefused) as caught:
        unpack(archive, place / "out", limits=limits)
    assert list(place.iterdir()) == []
    return caught.value


class TestTolerated:
    """What operating systems and packers do."""

    def test_files_folders_and_the_execute_bit(self, place: Path) -> None:
        archive = make_zip({"a.txt": b"a", "b/c.txt": b"c"}, external_attr=(stat.S_IFREG | 0o4755) << 16)
        done = unpack(archive, place / "out", limits=SMALL)
        assert files_of(place / "out") == {"a.txt": b"a", "b/c.txt": b"c"}
        assert (done.files, done.bytes, done.top_folder) == (2, 2, "")
        assert (place / "out" / "a.txt").stat().st_mode & 0o7777 in (0o755, 0o750, 0o700)

    def test_one_nested_top_folder_is_taken_away(self, place: Path) -> None:
        archive = make_zip({"agent/": b"", "agent/agent.yaml": b"a", "agent/src/x.py": b"x"})
        assert unpack(archive, place / "out", limits=SMALL).top_folder == "agent"
        assert files_of(place / "out") == {"agent.yaml": b"a", "src/x.py": b"x"}

    def test_only_one_level_is_taken_away(self, place: Path) -> None:
        unpack(make_zip({"a/b/c.txt": b"c"}), place / "out", limits=SMALL)
        assert files_of(place / "out") == {"b/c.txt": b"c"}

    def test_a_file_beside_the_folder_keeps_it(self, place: Path) -> None:
        unpack(make_zip({"agent/a": b"a", "b": b"b"}), place / "out", limits=SMALL)
        assert files_of(place / "out") == {"agent/a": b"a", "b": b"b"}

    @pytest.mark.parametrize(
        "noise", ["__MACOSX/agent/._a", ".DS_Store", "agent/.DS_Store", "Thumbs.db", "agent/__pycache__/x.pyc", "._a"]
    )
    def test_leftovers_of_systems_are_left_out_and_do_not_hide_the_top_folder(self, noise: str, place: Path) -> None:
        unpack(make_zip({"agent/a": b"a", noise: b"noise"}), place / "out", limits=SMALL)
        assert files_of(place / "out") == {"a": b"a"}

    def test_windows_separators(self, place: Path) -> None:
        unpack(make_zip({"agent\\src\\x.py": b"x", "agent\\agent.yaml": b"y"}), place / "out", limits=SMALL)
        assert files_of(place / "out") == {"agent.yaml": b"y", "src/x.py": b"x"}

    def test_unicode_names_in_either_form_are_the_same_name(self, place: Path) -> None:
        unpack(make_zip({"a/u\u0308ber.txt": b"x", "a/b": b""}), place / "out", limits=SMALL)
        assert "\u00fcber.txt" in files_of(place / "out")

    def test_empty_folders(self, place: Path) -> None:
        unpack(make_zip({"a": b"a", "empty/": b""}), place / "out", limits=SMALL)
        assert (place / "out" / "empty").is_dir()

    def test_an_archive_behind_a_prefix_such_as_a_self_extracting_one(self, place: Path) -> None:
        prefixed = io.BytesIO(b"#!/bin/sh\nexit 1\n" * 10 + make_zip({"a": b"a", "b": b"b"}).getvalue())
        unpack(prefixed, place / "out", limits=SMALL)
        assert files_of(place / "out") == {"a": b"a", "b": b"b"}

    def test_an_archive_in_the_format_for_large_ones(self, place: Path) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            with archive.open(zipfile.ZipInfo("a"), "w", force_zip64=True) as entry:
                entry.write(b"a")
            archive.writestr("b", b"b")
        unpack(out, place / "out", limits=SMALL)
        assert files_of(place / "out") == {"a": b"a", "b": b"b"}


LINK = (stat.S_IFLNK | 0o777) << 16
BAD_NAMES = [
    "../evil",
    "a/../../evil",
    "..\\evil",
    "a\\..\\..\\evil",
    "/etc/evil",
    "\\evil",
    "C:\\evil",
    "c:evil",
    "//server/share/evil",
    "a/\x07evil",
    "a/evil\nname",
    "x" * 300,
    "/".join(["d"] * 100) + "/evil",
]


@pytest.mark.security
class TestRefused:
    """What could reach beyond the folder, or exhaust the machine."""

    @pytest.mark.parametrize("name", BAD_NAMES, ids=[repr(n)[:20] for n in BAD_NAMES])
    def test_names_that_lead_elsewhere(self, name: str, place: Path) -> None:
        refusal = refused(make_zip([("good", b"x"), (name, b"x")]), place)
        (fault,) = refusal.faults
        assert fault.file
        assert all(character.isprintable() for character in fault.file)
        assert not (place.parent / "evil").exists()

    @pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
    @pytest.mark.parametrize("system", [0, 3])
    def test_links_and_devices(self, kind: int, system: int, place: Path) -> None:
        archive = make_zip({"thing": b"/etc/passwd"}, external_attr=(kind | 0o644) << 16, create_system=system)
        assert refused(archive, place).faults[0].file == "thing"

    def test_a_path_that_no_system_takes_though_each_of_its_names_is_short_enough(self, place: Path) -> None:
        """Refused, and no fault of the disk's that would be tried again for nothing."""
        (fault,) = refused(make_zip({"/".join(["n" * 250] * 20): b""}), place).faults
        assert "its path is too long" in fault.message
        longest = "/".join(["n" * 250] * 11 + ["x"])
        unpack(make_zip({longest: b"", "top": b""}), place / "out", limits=SMALL)
        assert (place / "out" / longest).is_file()

    def test_a_link_and_a_file_behind_it(self, place: Path) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            link = zipfile.ZipInfo("dir")
            link.external_attr = LINK
            archive.writestr(link, "/tmp")
            archive.writestr("dir/evil", "x")
        assert "dir" in {fault.file for fault in refused(out, place).faults}

    def test_every_fault_is_told_at_once(self, place: Path) -> None:
        faults = refused(make_zip([("../a", b""), ("ok", b""), ("/b", b"")]), place).faults
        assert [fault.file for fault in faults] == ["../a", "/b"]

    def test_a_name_that_comes_twice(self, place: Path) -> None:
        with pytest.warns(UserWarning, match="Duplicate"):
            archive = make_zip([("a", b"1"), ("a", b"2")])
        assert "twice" in refused(archive, place).message

    @pytest.mark.parametrize("second", ["./a", "a/", "x/../a"])
    def test_a_name_that_comes_twice_in_disguise(self, second: str, place: Path) -> None:
        refused(make_zip([("a", b"1"), (second, b"")]), place)

    def test_a_file_where_another_needs_a_folder(self, place: Path) -> None:
        assert refused(make_zip([("top", b""), ("a", b"1"), ("a/b", b"2")]), place).faults[0].file == "a/b"

    def test_encrypted_entries(self, place: Path) -> None:
        content = bytearray(make_zip({"a": b"a"}).getvalue())
        at = content.index(b"PK\x01\x02")
        struct.pack_into("<H", content, at + 8, 0x1)
        assert "password" in refused(io.BytesIO(bytes(content)), place).message

    def test_unusual_compression(self, place: Path) -> None:
        assert "unusual" in refused(make_zip({"a": b"a"}, compress_type=zipfile.ZIP_LZMA), place).message

    def test_too_many_files(self, place: Path) -> None:
        refusal = refused(make_zip({str(n): b"" for n in range(51)}), place)
        assert "50" in refusal.message

    def test_a_directory_that_lies_about_the_number_of_its_files(self, place: Path) -> None:
        content = bytearray(make_zip({str(n): b"" for n in range(51)}).getvalue())
        at = content.rindex(b"PK\x05\x06")
        struct.pack_into("<HH", content, at + 8, 1, 1)
        assert "50" in refused(io.BytesIO(bytes(content)), place).message

    def test_more_bytes_than_allowed_as_declared(self, place: Path) -> None:
        refusal = refused(make_zip({"a": b"x" * 600_000, "b": b"x" * 600_000}, compress_type=0), place)
        assert refusal.faults[0].file == "b"
        assert "1,048,576" in refusal.message

    def test_a_ratio_bomb(self, place: Path) -> None:
        assert "bomb" in refused(make_zip({"a": b"\0" * 500_000}), place).message

    def test_small_files_may_compress_well(self, place: Path) -> None:
        unpack(make_zip({"a": b"\0" * 60_000, "b": b""}), place / "out", limits=SMALL)

    def test_an_entry_that_is_larger_than_it_declares(self, place: Path) -> None:
        content = bytearray(make_zip({"a": b"x" * 5000}).getvalue())
        central = content.index(b"PK\x01\x02")
        struct.pack_into("<L", content, central + 24, 10)
        struct.pack_into("<L", content, 22, 10)
        assert refused(io.BytesIO(bytes(content)), place).faults[0].file == "a"

    def test_entries_that_share_their_bytes(self, place: Path) -> None:
        """A bomb whose directory names one block of data many times."""
        content = make_zip({"a": b"x" * 40_000}).getvalue()
        central, end = content.index(b"PK\x01\x02"), content.rindex(b"PK\x05\x06")
        entry = content[central:end]
        copies = b"".join(entry.replace(b"a", bytes([97 + n]), 1) for n in range(20))
        tail = bytearray(content[end:])
        struct.pack_into("<HHL", tail, 8, 20, 20, len(copies))
        refused(io.BytesIO(content[:central] + copies + bytes(tail)), place)

    @pytest.mark.parametrize(
        ("content", "word"),
        [
            (b"", "not a zip"),
            (b"PK\x03\x04 cut off", "cut off"),
            (b"\x1f\x8b\x08\x00", "gzip"),
            (b"7z\xbc\xaf\x27\x1c", "7z"),
            (b"Rar!\x1a\x07", "rar"),
            (b"\0" * 257 + b"ustar\0", "tar"),
        ],
    )
    def test_other_things_than_zips_are_named(self, content: bytes, word: str, place: Path) -> None:
        assert word in refused(io.BytesIO(content), place).message

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda c: c[: len(c) // 2], id="cut off"),
            pytest.param(lambda c: c[:40] + b"\xff" * 30 + c[70:], id="data"),
            pytest.param(lambda c: c.replace(b"PK\x01\x02", b"PK\x09\x09"), id="directory"),
            pytest.param(lambda c: c.replace(b"PK\x03\x04", b"PK\x09\x09"), id="entries"),
        ],
    )
    def test_damage(self, damage: Callable[[bytes], bytes], place: Path) -> None:
        content = make_zip({"a": bytes(range(256)) * 20, "b": b"b"}).getvalue()
        refused(io.BytesIO(damage(content)), place)

    def test_a_full_disk_is_not_the_archives_fault_and_leaves_nothing(self, place: Path, monkeypatch: Any) -> None:
        def full(*args: Any, **kwargs: Any) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("gauntlet.storage.archives._write", full)
        with pytest.raises(OSError, match="No space"):
            unpack(make_zip({"a": b"a"}), place / "out", limits=SMALL)
        assert list(place.iterdir()) == []
