"""A record that another's machine made: whether it is one that pages, scorers and exports can read.

Whether it tells the truth nobody can see in it: that is a matter of trust in whoever owns the machine.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from typing import IO, BinaryIO, Final

from pydantic import ValidationError

from gauntlet.storage.errors import ArchiveRefused
from gauntlet.storage.zip_directory import check_directory
from gauntlet.trajectories.errors import RecordRefused
from gauntlet.trajectories.reading import BLOBS, RECORD
from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.trajectory import (
    EndEvent,
    Event,
    ModelCallEvent,
    ModelResultEvent,
    ScenarioEvent,
    ToolResultEvent,
    read_events,
)

_LINE_BYTES: Final = 32 << 20  # of what an environment says 8 MiB are taken, and escaped they are longer
_LEAST_BLOB: Final = 64 << 10  # what is smaller stands in a line
_CHUNK: Final = 1 << 20
_BLOB: Final = re.compile(re.escape(BLOBS) + "[0-9a-f]{64}")
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)


def check_record(archive: BinaryIO, *, episodes: Collection[str], most_bytes: int) -> str:
    """Read a record through, in constant memory but for its longest line; return the episode that it is of.

    Args:
        archive: the zip; seekable
        episodes: of which it may be
        most_bytes: that all of it unpacks to at most

    Raises:
        RecordRefused: it says which line, or which file in it, and why.
    """
    try:
        check_directory(archive, most_files=most_bytes // _LEAST_BLOB + 1)
        with zipfile.ZipFile(archive) as opened:
            entries = _checked(opened.infolist(), most_bytes=most_bytes)
            _check_blobs(opened, entries)
            with opened.open(RECORD) as record:
                return _check_events(record, blobs=entries.keys(), episodes=episodes)
    except ArchiveRefused as error:
        raise RecordRefused(error.message) from error
    except _DAMAGED as error:
        raise RecordRefused("The record's archive is damaged; send it again.") from error


def _checked(infos: list[zipfile.ZipInfo], *, most_bytes: int) -> dict[str, zipfile.ZipInfo]:
    entries = {info.orig_filename: info for info in infos}
    for info in infos:
        name = info.orig_filename
        if name != RECORD and not _BLOB.fullmatch(name):
            raise RecordRefused(f"A record holds {RECORD} and {BLOBS}<digest>, and nothing else.")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise RecordRefused(f"{name}: is encrypted, or compressed in an unusual way; use deflate.")
    if len(entries) < len(infos):
        raise RecordRefused("A file is in the record twice.")
    if RECORD not in entries:
        raise RecordRefused(f"The record lacks {RECORD}.")
    if sum(info.file_size for info in infos) > most_bytes:
        raise RecordRefused(f"The record unpacks to more than the {most_bytes:,} bytes that it may have.")
    return entries


def _check_blobs(opened: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> None:
    """zipfile reads no more of an entry than it declares, and what they declare together is bounded by now."""
    for name in entries:
        if name == RECORD:
            continue
        digest = hashlib.sha256()
        with opened.open(name) as blob:
            while chunk := blob.read(_CHUNK):
                digest.update(chunk)
        if digest.hexdigest() != name.removeprefix(BLOBS):
            raise RecordRefused(f"{name}: is not what its name says.")


def _check_events(record: IO[bytes], *, blobs: Collection[str], episodes: Collection[str]) -> str:
    """The episode of the events, each of which continues the one before."""
    ended = False
    episode = ""
    for number, event in enumerate(_events(record)):
        place = f"{RECORD}, line {number + 1}"
        if number == 0:
            episode = event.episode
            if not isinstance(event, ScenarioEvent):
                raise RecordRefused(f"{place}: the first line is the scenario.")
            if episode not in episodes:
                raise RecordRefused(f"{place}: this job has no such episode.")
        if ended or event.episode != episode or event.seq != number:
            raise RecordRefused(f"{place}: does not continue the line before.")
        if event.at.tzinfo is None:
            raise RecordRefused(f"{place}: at: needs a time zone, such as Z at its end.")
        blob = _blob_of(event)
        if blob is not None and f"{BLOBS}{blob.removeprefix('sha256:')}" not in blobs:
            raise RecordRefused(f"{place}: what it keeps beside the record is not there.")
        ended = isinstance(event, EndEvent)
    if not episode:
        raise RecordRefused(f"{RECORD} is empty.")
    return episode


def _events(record: IO[bytes]) -> Iterator[Event]:
    number = 0
    while line := record.readline(_LINE_BYTES + 1):
        number += 1
        place = f"{RECORD}, line {number}"
        if len(line) > _LINE_BYTES:
            raise RecordRefused(f"{place}: is longer than {_LINE_BYTES:,} bytes.")
        if not line.strip():
            raise RecordRefused(f"{place}: is empty.")
        try:
            yield from read_events([line])
        except ValidationError as error:
            raise RecordRefused(f"{place}: {first_phrase(error)}.") from None


def _blob_of(event: Event) -> str | None:
    return event.blob if isinstance(event, ToolResultEvent | ModelCallEvent | ModelResultEvent) else None
