"""Tags of scenarios: by what a column may choose those that count in it.

They come from the ground truth (``type``, ``category``, ``stage``), where a scenario's own file does not say them, so
that no organizer writes them twice. Agents and participants see none of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from gauntlet.competitions.bundle.document import Section, storable
from gauntlet.competitions.bundle.findings import suggestion
from gauntlet.competitions.bundle.plan import ScenarioPlan, TaskPlan

TAGS: Final = ("category", "type", "stage")
_LONGEST: Final = 64


def with_tags(scenarios: Sequence[ScenarioPlan], ground_truth: Path) -> list[ScenarioPlan]:
    """The scenarios with their tags; ``ground_truth`` was checked, or is no file."""
    known: dict[str, dict[str, str]] = {}
    if ground_truth.is_file():
        for line in ground_truth.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            if line.strip():
                row = json.loads(line)
                known[str(row["id"])] = {tag: str(row[tag]) for tag in TAGS if row.get(tag) not in (None, "")}
    return [replace(one, tags=_tags(one, known.get(one.key, {}))) for one in scenarios]


def _tags(scenario: ScenarioPlan, of_truth: Mapping[str, str]) -> dict[str, str]:
    own = {"category": scenario.category} if scenario.category else {}
    return {tag: value[:_LONGEST] for tag, value in {**of_truth, **own}.items() if storable(value)}


def tags_of(tasks: Sequence[TaskPlan]) -> dict[str, list[str]]:
    """Every value of each tag that some scenario of the tasks carries."""
    values: dict[str, set[str]] = {tag: set() for tag in TAGS}
    for task in tasks:
        for scenario in task.scenarios:
            for tag, value in scenario.tags.items():
                values[tag].add(value)
    return {tag: sorted(found) for tag, found in values.items()}


def read_where(section: Section, known: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The key ``where`` of a column: tags, each with a value or a list of values that some scenario carries."""
    where: dict[str, list[str]] = {}
    for tag in TAGS:
        value = section.get(tag)
        if value is None:
            continue
        members = [value] if value.scalar is not None else value.sequence()
        wanted: list[str] = []
        for member in members:
            word = member.text(longest=_LONGEST)
            if word is not None and word not in known[tag]:
                message = f"no scenario has the {tag} '{word}'.{suggestion(word, known[tag])}"
                section.findings.error(member.place, message, allowed=known[tag])
            elif word is not None:
                wanted.append(word)
        if wanted:
            where[tag] = wanted
    if not where and not section.findings.errors:
        section.findings.error(section.place, "must choose scenarios by at least one tag.", allowed=TAGS)
    return where
