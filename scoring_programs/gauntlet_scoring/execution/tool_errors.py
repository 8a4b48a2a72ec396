"""Which tools failed how often, and whether the steps were tool-oriented or code-oriented (A43)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gauntlet_scoring.reading import RecordedCall

_CODE_ARGUMENT: Final = "code"


class StepKind(StrEnum):
    """What a call hands over."""

    TOOL = "tool"  # arguments of a tool
    CODE = "code"  # a program to be run


@dataclass(frozen=True)
class ToolUse:
    """How often a tool was called, and how."""

    tool: str
    kind: StepKind
    calls: int = 0
    errors: int = 0  # answered with an error
    unanswered: int = 0  # its result never came
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """Calls that brought nothing."""
        return self.errors + self.unanswered

    def with_call(self, call: RecordedCall) -> ToolUse:
        """One call more."""
        result = call.result
        return ToolUse(
            tool=self.tool,
            kind=self.kind,
            calls=self.calls + 1,
            errors=self.errors + (call_failed(call) and result is not None),
            unanswered=self.unanswered + (result is None),
            seconds=self.seconds + (result.seconds if result is not None else 0.0),
        )


def call_failed(call: RecordedCall) -> bool:
    """Whether a call brought nothing: an error, no result, or code that ended with another status than 0."""
    if not call.succeeded:
        return True
    return step_kind(call) is StepKind.CODE and _exit_code(call.content) not in (None, 0)


def step_kind(call: RecordedCall) -> StepKind:
    """Code-oriented is a call with a text argument ``code``, as the WO agent makes (A21), tool-oriented any other."""
    return StepKind.CODE if isinstance(call.call.arguments.get(_CODE_ARGUMENT), str) else StepKind.TOOL


def tool_uses(calls: Iterable[RecordedCall]) -> list[ToolUse]:
    """The calls by tool and kind of step: the tools that failed most often first, then by name."""
    found: dict[tuple[str, StepKind], ToolUse] = {}
    for call in calls:
        key = (call.call.tool, step_kind(call))
        found[key] = found.get(key, ToolUse(*key)).with_call(call)
    return in_order(found.values())


def added(uses: Iterable[ToolUse]) -> list[ToolUse]:
    """The uses of several episodes as one list, in the same order."""
    found: dict[tuple[str, StepKind], ToolUse] = {}
    for use in uses:
        key = (use.tool, use.kind)
        so_far = found.get(key, ToolUse(*key))
        found[key] = ToolUse(
            *key,
            calls=so_far.calls + use.calls,
            errors=so_far.errors + use.errors,
            unanswered=so_far.unanswered + use.unanswered,
            seconds=so_far.seconds + use.seconds,
        )
    return in_order(found.values())


def in_order(uses: Iterable[ToolUse]) -> list[ToolUse]:
    """The tools that failed most often first, then by name."""
    return sorted(uses, key=lambda use: (-use.failed, use.tool, use.kind))


def _exit_code(content: Any) -> int | None:
    found = content.get("exit_code") if isinstance(content, dict) else None
    return found if isinstance(found, int) else None
