"""Reading an episode's record out of its stored zip."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import BinaryIO, Final

from gauntlet_scoring.trajectory import Event, ToolResultEvent, read_events

RECORD: Final = "trajectory.jsonl"
BLOBS: Final = "blobs/"
_SHOWN: Final = 64 << 10


def events(archive: BinaryIO) -> Iterator[Event]:
    """Yield the events of a stored trajectory, line by line.

    Raises:
        zipfile.BadZipFile: the stored file is damaged.
        pydantic.ValidationError: a line is of another schema version.
    """
    with zipfile.ZipFile(archive) as opened, opened.open(RECORD) as record:
        yield from read_events(record)


def blob_text(archive: BinaryIO, event: ToolResultEvent, *, size: int = _SHOWN) -> str:
    """The beginning of a large tool result that stands beside the record, at most ``size`` bytes of it."""
    if event.blob is None:
        return event.text or ""
    with zipfile.ZipFile(archive) as opened, opened.open(BLOBS + event.blob.removeprefix("sha256:")) as content:
        return content.read(size).decode(errors="replace")
