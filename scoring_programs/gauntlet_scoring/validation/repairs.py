"""Lenient reading: the spellings of real files, each read as what it means, each reported (section 7, items 3 to 6).

Every function takes one scenario's object (a copy, which it changes) and says what it read as what. What it cannot
make sense of it leaves alone: the schema then says what is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_scoring.validation.documents import Location
from gauntlet_scoring.validation.findings import FindingClass
from gauntlet_scoring.validation.step_repairs import add_finish, repair_links, repair_names, repair_step, text_of
from gauntlet_scoring.validation.vocabulary import GROUPS, MULTI_AGENT, Vocabulary

FIELD_ALIASES: Final = {
    "final_output": "final_out",
    "utterance": "text",
    "question": "text",
    "final_output_description": "final_out_description",
    "planning_step": "planning_steps",
    "execution_step": "execution_steps",
    "execution_link": "execution_links",
}


@dataclass(frozen=True)
class Repair:
    """Something that was read as something else."""

    location: Location  # where it stands in the file
    message: str
    finding_class: FindingClass = FindingClass.STRUCTURAL


Row = dict[str, Any]


def repaired(row: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Row, list[Repair]]:
    """The scenario as the schema wants it, as far as lenient reading goes, and what was read as what."""
    content: Row = copy.deepcopy(dict(row))
    repairs: list[Repair] = []
    for repair in _REPAIRS:
        repairs.extend(repair(content, vocabulary))
    return content, repairs


def _fields(row: Row, _vocabulary: Vocabulary) -> Iterator[Repair]:
    for alias, name in FIELD_ALIASES.items():
        if alias in row and name not in row:
            row[name] = row.pop(alias)
            yield Repair((alias,), f"the field {alias!r} is read as {name!r}")
    for name in ("planning_steps", "execution_steps", "execution_links"):
        if name in row and row[name] is None:
            row[name] = []
            yield Repair((name,), "null is read as an empty list")


def _form(row: Row, _vocabulary: Vocabulary) -> Iterator[Repair]:
    described = row.get("final_out_description")
    if isinstance(described, str):
        row["final_out_description"] = described = [described]
        yield Repair(("final_out_description",), "a text is read as a list of one")
    texts = described if isinstance(described, list) and all(isinstance(each, str) for each in described) else []
    if not row.get("characteristic_form") and texts:
        row["characteristic_form"] = " ".join(texts)
        yield Repair((), "characteristic_form is missing: final_out_description is read in its place")
    if isinstance(row.get("final_out"), str | int | float | list):
        row["final_out"] = {"answer": row["final_out"]}
        yield Repair(("final_out",), "a value that is no object is read as {'answer': value}")


def _determinism(row: Row, _vocabulary: Vocabulary) -> Iterator[Repair]:
    value = row.get("deterministic")
    if isinstance(value, str) and value.strip().casefold() in ("true", "false", "yes", "no"):
        row["deterministic"] = value.strip().casefold() in ("true", "yes")
        yield Repair(("deterministic",), f"the text {value!r} is read as {str(row['deterministic']).lower()}")


def _group(row: Row, _vocabulary: Vocabulary) -> Iterator[Repair]:
    value = row.get("group")
    if not isinstance(value, str) or value in GROUPS:
        return
    named = [each.strip().casefold() for each in value.replace(",", ";").split(";")]
    known = [each for each in GROUPS if each in named]
    if known and len(known) == len(named):
        row["group"] = known[-1]
        yield Repair(("group",), f"{value!r} names several groups: read as the furthest-reaching, {known[-1]!r}")


def _steps(row: Row, vocabulary: Vocabulary) -> Iterator[Repair]:
    plan, steps = _objects(row.get("planning_steps")), _objects(row.get("execution_steps"))
    for position, step in plan.items():
        yield from _agent(step, ("planning_steps", position), vocabulary)
    for position, step in steps.items():
        yield from _agent(step, ("execution_steps", position), vocabulary)
        for location, message in repair_step(step, ("execution_steps", position), vocabulary):
            yield Repair(location, message)
    for location, message in (
        *repair_names(row),
        *repair_links(row),
        *_missing_agents(row),
        *add_finish(row),
    ):
        yield Repair(location, message)


def _agent(step: Row, here: Location, vocabulary: Vocabulary) -> Iterator[Repair]:
    name = step.get("agent")
    meant = vocabulary.agent_aliases.get(name) if isinstance(name, str) else None
    if meant is not None and vocabulary.agent_of(str(name)) is None:
        step["agent"] = meant
        yield Repair((*here, "agent"), f"the agent {name!r} is read as {meant!r}", FindingClass.DOMAIN)


def _missing_agents(row: Row) -> Iterator[tuple[Location, str]]:
    """A step without agent belongs to that of the steps that lead to it, or to the only one of the scenario."""
    steps = _objects(row.get("execution_steps"))
    by_name = {name: step for step in steps.values() if (name := text_of(step, "name")) is not None}
    links = _objects(row.get("execution_links")).values()
    plan = _objects(row.get("planning_steps")).values()
    named = {step["agent"] for step in (*steps.values(), *plan) if isinstance(step.get("agent"), str)}
    for position, step in steps.items():
        if step.get("agent"):
            continue
        before = [
            by_name.get(text_of(link, "source") or "") for link in links if link.get("target") == step.get("name")
        ]
        agents = {one["agent"] for one in before if one is not None and isinstance(one.get("agent"), str)}
        found = agents if len(agents) == 1 else named
        if len(found) == 1:
            (step["agent"],) = found
            yield ("execution_steps", position), f"the step has no agent: read as {step['agent']!r}"


def _type(row: Row, vocabulary: Vocabulary) -> Iterator[Repair]:
    value = row.get("type")
    if isinstance(value, str) and value in vocabulary.type_aliases:
        row["type"] = vocabulary.type_aliases[value]
        yield Repair(("type",), f"the type {value!r} is read as {row['type']!r}", FindingClass.DOMAIN)
    elif not value:
        meant = _type_by_agents(row, vocabulary)
        if meant is not None:
            row["type"] = meant
            location: Location = ("type",) if "type" in row else ()
            yield Repair(location, f"the type is missing: read as {meant!r} by its agents", FindingClass.DOMAIN)


def _type_by_agents(row: Row, vocabulary: Vocabulary) -> str | None:
    steps = [*_objects(row.get("planning_steps")).values(), *_objects(row.get("execution_steps")).values()]
    agents = {vocabulary.agent_of(step["agent"]) for step in steps if isinstance(step.get("agent"), str)} - {None}
    if len(agents) > 1:
        return MULTI_AGENT
    return next((vocabulary.agents[name].type for name in agents if name is not None), None)


def _category(row: Row, vocabulary: Vocabulary) -> Iterator[Repair]:
    value = row.get("category")
    known = {name.casefold().replace(" ", ""): name for name in vocabulary.categories}
    if isinstance(value, str) and value not in vocabulary.categories:
        meant = known.get(value.casefold().replace(" ", "").replace("_", "").replace("-", ""))
        if meant is not None:
            row["category"] = meant
            yield Repair(("category",), f"the category {value!r} is read as {meant!r}", FindingClass.DOMAIN)


def _objects(value: Any) -> dict[int, Row]:
    """The members of a list that are objects, by position."""
    members = value if isinstance(value, list) else []
    return {position: each for position, each in enumerate(members) if isinstance(each, dict)}


_REPAIRS: Final[tuple[Callable[[Row, Vocabulary], Iterator[Repair]], ...]] = (
    *(_fields, _form, _determinism, _group, _category),
    *(_steps, _type),  # last: a missing type is read off the agents
)
