"""The deterministic judge: the checks of a ground truth against the recorded calls and the answer's data.

It looks at what the platform recorded and at ``answer.data``; the answer's text, notes and messages are never read,
so nothing an agent claims to have done can make a check hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, assert_never

from gauntlet_scoring.ground_truth import (
    AbstainsCheck,
    AnyOfCheck,
    CalledCheck,
    Check,
    Checks,
    ContainsFieldsCheck,
    EqualsCheck,
    NotCalledCheck,
    NumberCheck,
    OrderCheck,
    SetCheck,
)
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
from gauntlet_scoring.values import MISSING, at_path, comparable, is_within, shown

CRITERIA = ("task_completion", "data_retrieval_accuracy", "result_verification")
"""The rubric's criteria in the order y1, y2, y3 (A29)."""

_REASONS_TOLD = 3  # of alternatives that all failed


@dataclass(frozen=True)
class Verdict:
    """Whether a check holds, and why, in a sentence."""

    kind: str
    holds: bool
    reason: str


@dataclass(frozen=True)
class Criterion:
    """A criterion's verdicts; its value is the share of them that hold, in [0, 1]."""

    verdicts: tuple[Verdict, ...]

    @property
    def value(self) -> float:
        """The share of checks that hold."""
        return sum(verdict.holds for verdict in self.verdicts) / len(self.verdicts)


def judge(checks: Checks, episode: RecordedEpisode) -> dict[str, Criterion]:
    """Judge an answered episode by its scenario's checks, by criterion (:data:`CRITERIA`)."""
    data = episode.answer.data if episode.answer is not None else None
    evidence = Evidence(calls=episode.calls, data=data)
    return {
        name: Criterion(verdicts=tuple(evidence.verdict(check) for check in getattr(checks, name))) for name in CRITERIA
    }


@dataclass(frozen=True)
class Evidence:
    """What a check may look at."""

    calls: Sequence[RecordedCall]
    data: Any

    def verdict(self, check: Check) -> Verdict:
        """Apply one check."""
        holds, reason = self._apply(check)
        return Verdict(kind=check.kind, holds=holds, reason=reason)

    def _apply(self, check: Check) -> tuple[bool, str]:
        match check:
            case EqualsCheck():
                return self._equals(check)
            case NumberCheck():
                return self._number(check)
            case SetCheck():
                return self._set(check)
            case ContainsFieldsCheck():
                return self._contains_fields(check)
            case CalledCheck():
                return self._called(check)
            case NotCalledCheck():
                return self._not_called(check)
            case OrderCheck():
                return self._order(check)
            case AbstainsCheck():
                return self._abstains(check)
            case AnyOfCheck():
                return self._any_of(check)
            case _:
                assert_never(check)

    def _equals(self, check: EqualsCheck) -> tuple[bool, str]:
        value = at_path(self.data, check.path)
        holds = value is not MISSING and comparable(value) == comparable(check.value)
        return holds, _found(check.path, value, f"expected {shown(check.value)}")

    def _number(self, check: NumberCheck) -> tuple[bool, str]:
        value = at_path(self.data, check.path)
        expected = f"expected the number {check.value:g}"
        if check.tolerance:
            expected += f" within {check.tolerance:g}"
        return is_within(value, check.value, tolerance=check.tolerance), _found(check.path, value, expected)

    def _set(self, check: SetCheck) -> tuple[bool, str]:
        value = at_path(self.data, check.path)
        if not isinstance(value, list):
            return False, _found(check.path, value, "expected a list")
        found = {comparable(each) for each in value}
        expected = {comparable(each) for each in check.value}
        reason = f"{check.path or 'data'}: {len(expected - found)} missing, {len(found - expected)} too many"
        return found == expected, reason

    def _contains_fields(self, check: ContainsFieldsCheck) -> tuple[bool, str]:
        absent = [path for path in check.paths if at_path(self.data, path) in (MISSING, None)]
        return not absent, f"missing or null: {', '.join(absent)}" if absent else "every field is there"

    def _called(self, check: CalledCheck) -> tuple[bool, str]:
        of_tool = [each for each in self.calls if each.call.tool == check.tool]
        if not of_tool:
            return False, f"{check.tool} was not called"
        kind = "answered" if check.refused else "successful"
        counted = [each for each in of_tool if each.succeeded or (check.refused and each.result is not None)]
        if not counted:
            return False, f"no call of {check.tool} was {kind}"
        if any(_includes(each.call.arguments, check.arguments) for each in counted):
            return True, f"{check.tool} was called as expected"
        return False, f"no {kind} call of {check.tool} had {shown(check.arguments)}"

    def _not_called(self, check: NotCalledCheck) -> tuple[bool, str]:
        calls = sum(each.call.tool == check.tool for each in self.calls)
        return calls == 0, f"{check.tool} was called {calls} times"

    def _order(self, check: OrderCheck) -> tuple[bool, str]:
        first: dict[str, int] = {}
        for each in self.calls:
            if each.succeeded:
                first.setdefault(each.call.tool, each.call.seq)
        absent = [tool for tool in check.tools if tool not in first]
        if absent:
            return False, f"no successful call of {', '.join(absent)}"
        positions = [first[tool] for tool in check.tools]
        holds = all(left < right for left, right in pairwise(positions))
        return holds, f"first calls came {'in' if holds else 'out of'} the order {', '.join(check.tools)}"

    def _abstains(self, check: AbstainsCheck) -> tuple[bool, str]:
        abstained = at_path(self.data, "abstain") is True
        said = "declined" if abstained else "did not decline"
        return abstained == check.value, f"the answer {said}, expected {'to' if check.value else 'not to'} decline"

    def _any_of(self, check: AnyOfCheck) -> tuple[bool, str]:
        verdicts = [self.verdict(each) for each in check.checks]
        held = [verdict for verdict in verdicts if verdict.holds]
        # Alternatives are often one check with several values, and then fail in the same words.
        reasons = list(dict.fromkeys(verdict.reason for verdict in held or verdicts))
        more = len(reasons) - _REASONS_TOLD
        told = "; or ".join(reasons[:_REASONS_TOLD])
        return bool(held), f"{told}; or {more} more" if more > 0 else told


def _found(path: str, value: Any, expected: str) -> str:
    return f"{path or 'data'}: {expected}, found {shown(value)}"


def _includes(arguments: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether every expected argument was given; a null one is as good as left out."""
    return all(
        comparable(arguments.get(key), dates=True) == comparable(value, dates=True) for key, value in expected.items()
    )
