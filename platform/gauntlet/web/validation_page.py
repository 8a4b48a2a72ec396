"""The validator's page: a text is checked in a process of its own, and nothing of it is stored."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Final

import structlog
from django.utils.safestring import SafeString, mark_safe

MOST_BYTES: Final = 1_000_000
_SECONDS: Final = 20  # of processor time; the published set of 152 scenarios takes a fraction of one
_WALL_SECONDS: Final = 60
_CHILD: Final = Path(__file__).with_name("validation_child.py")
_AT_ONCE = BoundedSemaphore(2)
_log = structlog.get_logger(__name__)

CLASSES: Final[Mapping[str, str]] = {
    "structural": "Structural",
    "semantic": "Semantic",
    "logical": "Logical",
    "domain": "Domain",
}


class CannotCheck(Exception):
    """The text cannot be checked here; the message says what to do instead."""


@dataclass(frozen=True, kw_only=True)
class FindingLine:
    """A finding as the table shows it."""

    line: int
    column: int | None
    finding_class: str
    level: str
    scenario: str | None
    path: str
    message: str
    rule: str


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A scenario's steps as a drawing; without one where there are too many."""

    scenario: str
    text: str
    steps: int
    svg: SafeString


@dataclass(frozen=True, kw_only=True)
class ClassCount:
    """How many findings there are of a class."""

    key: str
    title: str
    total: int


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the page tells of a text."""

    scenarios: int
    usable: int
    levels: Mapping[str, int]
    classes: Sequence[ClassCount]
    findings: Sequence[FindingLine]
    graphs: Sequence[Graph]

    @property
    def total(self) -> int:
        """All findings, shown or not."""
        return sum(self.levels.values())


def check(text: str, *, strength: str, vocabulary: str) -> Checked:
    """Check a ground truth in a child process.

    Args:
        text: at most ``MOST_BYTES`` of UTF-8.
        strength: strict or lenient.
        vocabulary: assetops, or open: any agent and tool is right.

    Raises:
        CannotCheck: it takes too long or too much memory, or others are being checked.
    """
    if not _AT_ONCE.acquire(timeout=5):
        raise CannotCheck("Others are having files checked right now. Send it again in a few seconds.")
    try:
        return _checked(_outcome(text, strength=strength, vocabulary=vocabulary))
    finally:
        _AT_ONCE.release()


def _outcome(text: str, *, strength: str, vocabulary: str) -> dict[str, Any]:
    asked = {"text": text, "strength": strength, "vocabulary": vocabulary, "seconds": _SECONDS}
    command = [sys.executable, "-I", str(_CHILD)]
    try:
        done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True, timeout=_WALL_SECONDS)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0:
        _log.warning("validation.gave_up", code=done.returncode if done else None, bytes=len(text))
        raise CannotCheck(
            "This takes more time or memory to check than this page gives. Send it in parts, or run "
            "`gauntlet-score validate FILE` on your machine, which has no limits."
        )
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def _checked(outcome: dict[str, Any]) -> Checked:
    counts: dict[str, dict[str, int]] = outcome["counts"]
    levels: dict[str, int] = {}
    for of_level in counts.values():
        for level, number in of_level.items():
            levels[level] = levels.get(level, 0) + number
    return Checked(
        scenarios=outcome["scenarios"],
        usable=outcome["usable"],
        levels=levels,
        classes=[ClassCount(key=key, title=title, total=sum(counts[key].values())) for key, title in CLASSES.items()],
        findings=[FindingLine(finding_class=one.pop("class"), **one) for one in outcome["findings"]],
        graphs=[
            Graph(**{**one, "svg": mark_safe(one["svg"])})  # noqa: S308 -- our own drawing, its texts escaped
            for one in outcome["graphs"]
        ],
    )
