"""Whether an answer has the form that was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from gauntlet_scoring.ground_truth import (
    AbstainsCheck,
    Check,
    ContainsFieldsCheck,
    EqualsCheck,
    GroundTruth,
    NumberCheck,
    SetCheck,
)
from gauntlet_scoring.reading import RecordedEpisode
from gauntlet_scoring.values import MISSING, at_path


class JsonKind(StrEnum):
    """A JSON type; whole and other numbers are one."""

    TEXT = "a text"
    NUMBER = "a number"
    FLAG = "true or false"
    LIST = "a list"
    OBJECT = "an object"
    NULL = "null"
    ANYTHING = "anything but null"


def format_compliance(truth: GroundTruth, episode: RecordedEpisode) -> float:
    """Share of the fields that the ground truth looks at which the answer's data has with the right JSON type (G29).

    The fields are the paths of the checks, outside of ``any_of``; without checks the top-level fields of ``final_out``.
    Where there is neither: 1 for an answer with a text or data, else 0. Values are not compared: the rubric does.
    """
    wanted = expected_fields(truth)
    data = episode.answer.data if episode.answer is not None else None
    if not wanted:
        return float(bool(data) or bool(episode.answer and episode.answer.text.strip()))
    return sum(fits(at_path(data, path), kind) for path, kind in wanted.items()) / len(wanted)


def misfits(truth: GroundTruth, episode: RecordedEpisode) -> list[str]:
    """What is not as asked for, a sentence a field."""
    data = episode.answer.data if episode.answer is not None else None
    return [
        f"{path or 'data'}: expected {kind}, found {kind_of(value)}"
        for path, kind in expected_fields(truth).items()
        if not fits(value := at_path(data, path), kind)
    ]


def expected_fields(truth: GroundTruth) -> dict[str, JsonKind]:
    """The paths in an answer's data that the ground truth looks at, and the JSON type of each."""
    if truth.checks is not None:
        found: dict[str, JsonKind] = {}
        for criterion in type(truth.checks).model_fields:
            for path, kind in _fields(getattr(truth.checks, criterion)):
                if found.setdefault(path, kind) is JsonKind.ANYTHING:
                    found[path] = kind  # a check that says more
        if found:
            return found
    return {name: _kind(value) for name, value in (truth.final_out or {}).items()}


def fits(value: Any, kind: JsonKind) -> bool:
    """Whether a value is of this type."""
    if kind is JsonKind.ANYTHING:
        return value is not MISSING and value is not None
    return value is not MISSING and _kind(value) is kind


def kind_of(value: Any) -> str:
    """A value's type in a sentence."""
    return "nothing" if value is MISSING else str(_kind(value))


def _fields(checks: Iterable[Check]) -> Iterable[tuple[str, JsonKind]]:
    for check in checks:
        match check:
            case EqualsCheck():
                yield check.path, _kind(check.value)
            case NumberCheck():
                yield check.path, JsonKind.NUMBER
            case SetCheck():
                yield check.path, JsonKind.LIST
            case ContainsFieldsCheck():
                yield from ((path, JsonKind.ANYTHING) for path in check.paths)
            case AbstainsCheck(value=True):
                yield "abstain", JsonKind.FLAG
            case _:
                pass


def _kind(value: Any) -> JsonKind:
    if value is None:
        return JsonKind.NULL
    if isinstance(value, bool):
        return JsonKind.FLAG
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return JsonKind.NUMBER
    if isinstance(value, str):
        return JsonKind.TEXT
    return JsonKind.LIST if isinstance(value, list) else JsonKind.OBJECT
