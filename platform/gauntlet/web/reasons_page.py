"""Why an episode got its scores: what the scoring programs say of it, as the episode's page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gauntlet.web.story_page import score_title

_SHOWN: Final = 200


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One check of a judge: whether it held, and what it found."""

    holds: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class ReasonGroup:
    """What one program says: checks under the criterion that they belong to, or plain facts."""

    title: str
    reasons: Sequence[Reason] = ()
    facts: Sequence[tuple[str, str]] = ()


def reasons(details: Mapping[str, Mapping[str, Any]]) -> list[ReasonGroup]:
    """The details of an episode by program: a list of checks becomes a group, all other values the program's facts."""
    groups = []
    for program, detail in details.items():
        facts: list[tuple[str, str]] = []
        for name, value in detail.items():
            if _are_checks(value):
                held = [Reason(holds=check["holds"], text=str(check["reason"])) for check in value[:_SHOWN]]
                groups.append(ReasonGroup(title=score_title(f"{program}.{name}"), reasons=held))
            elif isinstance(value, dict):  # such as a failure analysis: what there is under each of its names
                facts.extend((score_title(f"{program}.{inner}"), _text(one)) for inner, one in value.items())
            else:
                facts.append((score_title(f"{program}.{name}"), _text(value)))
        if facts:
            groups.append(ReasonGroup(title=program, facts=facts[:_SHOWN]))
    return groups


def _are_checks(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("holds"), bool) and "reason" in one for one in value)
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "; ".join(value) or "none"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
