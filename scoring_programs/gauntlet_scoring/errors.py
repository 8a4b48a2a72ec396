"""What stops a scoring program: input that is not what the contract says. The organizer or the platform has to act."""

from __future__ import annotations

from pathlib import Path


class ScoringInputError(Exception):
    """A file that a scoring program was given cannot be used.

    Its text is one sentence that begins with the file, and the line where one is known; it goes to standard error.
    """

    def __init__(self, message: str, *, path: Path | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class NonFiniteScoreError(Exception):
    """A program computed a score that is not a finite number: a fault of the program, never written to a file."""
