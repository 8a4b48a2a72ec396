"""Refusals of the storage app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gauntlet.api_errors import DomainError


@dataclass(frozen=True)
class ArchiveFault:
    """What is wrong with an archive: the entry, as it is named in there (empty: the archive itself), and why."""

    file: str
    message: str


class ArchiveRefused(DomainError):
    """An archive that is not unpacked. ``faults`` name the entries; nothing of it was left on the disk."""

    code: ClassVar = "archive_refused"
    status: ClassVar = 422

    def __init__(self, faults: Sequence[ArchiveFault]) -> None:
        first = faults[0]
        message = f"{first.file}: {first.message}" if first.file else first.message
        super().__init__(message, errors=[{"file": f.file, "message": f.message} for f in faults])
        self.faults = tuple(faults)


class FolderRefused(DomainError):
    """A folder that cannot become an artifact: it holds something that is neither a file nor a folder."""

    code: ClassVar = "folder_refused"
    status: ClassVar = 422
