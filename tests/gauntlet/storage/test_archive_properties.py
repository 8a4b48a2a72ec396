"""Whatever bytes come, unpacking ends with a refusal or with files inside the folder."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.storage.archives import ArchiveLimits, unpack
from gauntlet.storage.errors import ArchiveRefused

LIMITS = ArchiveLimits(total_bytes=1 << 16, files=30)
PARTS = st.sampled_from(["a", "b", "..", ".", "", "C:", "__MACOSX", "~", "x y", "\u00fc", "._a", "con"])
NAMES = st.lists(PARTS, min_size=1, max_size=5).flatmap(
    lambda parts: st.sampled_from(["/", "\\"]).map(lambda separator: separator.join(parts))
)

pytestmark = pytest.mark.security


def _unpack_in_a_fresh_folder(content: bytes) -> dict[str, bytes] | None:
    """The files, or None where the archive was refused; fails where anything appeared outside the folder."""
    with tempfile.TemporaryDirectory() as name:
        around = Path(name) / "around"
        around.mkdir()
        try:
            unpack(io.BytesIO(content), around / "out", limits=LIMITS)
        except ArchiveRefused:
            assert list(around.iterdir()) == []
            assert [p.name for p in Path(name).iterdir()] == ["around"]
            return None
        assert [p.name for p in Path(name).iterdir()] == ["around"]
        assert [p.name for p in around.iterdir()] == ["out"]
        return {p.relative_to(around / "out").as_posix(): p.read_bytes() for p in around.rglob("*") if p.is_file()}


@given(entries=st.lists(st.tuples(NAMES, st.binary(max_size=200)), max_size=8))
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_names_stay_inside_or_are_refused(entries: list[tuple[str, bytes]]) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content)
    files = _unpack_in_a_fresh_folder(out.getvalue())
    if files is not None:
        assert sum(map(len, files.values())) <= sum(len(content) for _, content in entries)


@given(
    place=st.integers(min_value=0, max_value=10_000), junk=st.binary(min_size=1, max_size=40), cut=st.integers(0, 400)
)
@settings(max_examples=300, deadline=None)
def test_any_damage_is_refused_or_harmless(place: int, junk: bytes, cut: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.yaml", b"name: x\n" * 30)
        archive.writestr("src/agent.py", b"print(1)\n" * 30)
        archive.writestr("empty/", b"")
    content = out.getvalue()
    place %= len(content)
    damaged = content[:place] + junk + content[place + len(junk) :]
    _unpack_in_a_fresh_folder(damaged[: len(damaged) - cut % len(damaged)])


@given(content=st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes_at_all(content: bytes) -> None:
    assert _unpack_in_a_fresh_folder(content) is None


@given(
    files=st.dictionaries(
        st.lists(st.sampled_from(["a", "b", "c", "\u00fc", "x y"]), min_size=2, max_size=3).map("/".join),
        st.binary(max_size=500),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=100, deadline=None)
def test_what_can_be_packed_comes_out_unchanged(files: dict[str, bytes]) -> None:
    folders = {"/".join(parts[:n]) for parts in (name.split("/") for name in files) for n in range(1, len(parts))}
    if folders & files.keys():
        return
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("top.txt", b"keeps the folders where they are")
        for name, content in files.items():
            archive.writestr(name, content)
    unpacked = _unpack_in_a_fresh_folder(out.getvalue())
    assert unpacked is not None
    assert unpacked == files | {"top.txt": b"keeps the folders where they are"}
