"""Published results that a board shows beside its rows, with where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gauntlet.competitions.bundle.document import Section
from gauntlet.competitions.bundle.findings import suggestion
from gauntlet.competitions.bundle.plan import BaselinePlan, ColumnPlan

_MOST: Final = 100


def read_baselines(board: Section, columns: Mapping[str, ColumnPlan]) -> list[BaselinePlan]:
    """The key ``baselines`` of a board with these columns, by key."""
    sections = board.sections("baselines")
    if len(sections) > _MOST:
        board.findings.error(board.where("baselines"), f"lists {len(sections)}.", allowed=[f"at most {_MOST}"])
    baselines: dict[str, BaselinePlan] = {}
    for section in sections[:_MOST]:
        baseline = BaselinePlan(
            name=section.text("name", required=True, longest=100),
            source=section.text("source", required=True, longest=300),
            scores=_scores(section, columns),
        )
        section.close()
        if baseline.name in baselines:
            section.findings.error(section.where("name"), f"the name '{baseline.name}' is taken by another baseline.")
        baselines[baseline.name] = baseline
    return list(baselines.values())


def _scores(section: Section, columns: Mapping[str, ColumnPlan]) -> dict[str, float]:
    """Values by column key, each within its column's scale: a number of another scale would mislead every reader."""
    part = section.section("scores") if section.needed("scores") else None
    if part is None:
        return {}
    scores: dict[str, float] = {}
    for key in part.names():
        place = part.where(key)
        value = part.get(key)
        number = value.number() if value else None
        column = columns.get(key)
        if column is None:
            part.findings.error(
                place, f"the board has no column '{key}'.{suggestion(key, columns)}", allowed=[*columns]
            )
        elif number is not None and not _on_scale(number, column):
            part.findings.error(place, f"is {number:g}.", allowed=[f"from {column.low:g} to {column.high:g}"])
        elif number is not None:
            scores[key] = number
    if not scores and not part.findings.errors:
        part.findings.error(section.where("scores"), "must hold at least one column's value.")
    return scores


def _on_scale(number: float, column: ColumnPlan) -> bool:
    return column.low is None or column.high is None or column.low <= number <= column.high
