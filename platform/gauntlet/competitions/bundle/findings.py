"""What is wrong with a bundle: each finding names the file, the line, the field and what is allowed there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """An error keeps a bundle out; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Place:
    """Where something was written."""

    file: str
    line: int | None = None  # from 1; None: the file as a whole
    field: str = ""  # such as phases[0].start


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or merely odd, and what would be right."""

    level: Level
    file: str
    line: int | None
    field: str
    message: str
    allowed: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = f"{self.field}: " if self.field else ""
        allowed = f" Allowed: {', '.join(self.allowed)}." if self.allowed else ""
        return f"{place}: {self.level}: {field}{self.message}{allowed}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON, for the API and for pages."""
        return {
            "level": str(self.level),
            "file": self.file,
            "line": self.line,
            "field": self.field,
            "message": self.message,
            "allowed": list(self.allowed),
        }


class Findings:
    """Collects findings while a bundle is read."""

    def __init__(self) -> None:
        self._all: list[Finding] = []

    def error(self, place: Place, message: str, *, allowed: Sequence[object] = ()) -> None:
        """Something that keeps the bundle out."""
        self._add(Level.ERROR, place, message, allowed)

    def warning(self, place: Place, message: str, *, allowed: Sequence[object] = ()) -> None:
        """Something that the organizer should know."""
        self._add(Level.WARNING, place, message, allowed)

    def _add(self, level: Level, place: Place, message: str, allowed: Sequence[object]) -> None:
        values = tuple(str(value) for value in allowed)
        self._all.append(Finding(level, place.file, place.line, place.field, message, values))

    @property
    def sorted(self) -> list[Finding]:
        """By file and line."""
        return sorted(self._all, key=lambda f: (f.file, f.line or 0, f.level, f.field))

    @property
    def errors(self) -> list[Finding]:
        """Those that keep the bundle out, by file and line."""
        return [finding for finding in self.sorted if finding.level is Level.ERROR]


def suggestion(word: str, known: Iterable[str]) -> str:
    """`` Did you mean …?`` for a word that is close to a known one, or nothing."""
    names = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), names, n=1)
    return f" Did you mean '{names[close[0]]}'?" if close else ""
