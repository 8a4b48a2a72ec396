"""Lenient reading of execution steps and links; see :mod:`gauntlet_scoring.validation.repairs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from gauntlet_scoring.validation.documents import Location
from gauntlet_scoring.validation.vocabulary import FINISH, SPECIAL_ACTIONS, Vocabulary

Row = dict[str, Any]
Read = tuple[Location, str]
"""Where something stands, and what it was read as."""

_FLAGS: Final = ("name", "action", "arguments", "outputs")
_SPECIAL: Final = {name.casefold().replace("-", "").replace("_", ""): name for name in SPECIAL_ACTIONS}


def repair_step(step: Row, here: Location, vocabulary: Vocabulary) -> Iterator[Read]:
    """One step: its keys, its action's spelling, its outputs and its flags."""
    yield from _arguments(step, here)
    yield from _action(step, here, vocabulary)
    yield from _outputs(step, here)
    flags = step.get("deterministic")
    if isinstance(flags, bool):
        step["deterministic"] = dict.fromkeys(_FLAGS, flags)
        yield (*here, "deterministic"), f"{str(flags).lower()} is read as the same flag for all four parts"


def _arguments(step: Row, here: Location) -> Iterator[Read]:
    for alias in ("argument", "args", "tool_args"):
        if alias in step and "arguments" not in step:
            step["arguments"] = step.pop(alias)
            yield (*here, alias), f"the field {alias!r} is read as 'arguments'"
    if "arguments" in step and step["arguments"] is None:
        step["arguments"] = {}
        yield (*here, "arguments"), "null is read as no arguments"


def _action(step: Row, here: Location, vocabulary: Vocabulary) -> Iterator[Read]:
    action = step.get("action")
    if not isinstance(action, str):
        return
    meant = vocabulary.action_aliases.get(action) or _SPECIAL.get(action.casefold().replace("-", "").replace("_", ""))
    if meant is not None and meant != action:
        step["action"] = meant
        yield (*here, "action"), f"the action {action!r} is read as {meant!r}"


def _outputs(step: Row, here: Location) -> Iterator[Read]:
    """The schema wants names of variables. A text is a value and gives one name; an object's keys are names."""
    outputs = step.get("outputs", [])
    if isinstance(outputs, list):
        return
    place = (*here, "outputs")
    if not outputs:
        step["outputs"] = []
        yield place, "an empty value is read as no outputs"
    elif isinstance(outputs, dict):
        step["outputs"] = [str(key) for key in outputs]
        yield place, f"an object is read as the outputs that its keys name: {', '.join(step['outputs'])}"
    else:
        step["outputs"] = [f"{step.get('name', 'step')}_result"]
        yield place, f"a value is read as one output, {step['outputs'][0]!r}"


def repair_names(row: Row) -> Iterator[Read]:
    """Names used several times get a number, and the links between them are told apart in the order of the steps."""
    steps = _members(row, "execution_steps")
    renamed: dict[str, list[str]] = {}
    for position, step in steps.items():
        name = step.get("name")
        if not isinstance(name, str):
            continue
        names = renamed.setdefault(name, [])
        if names:
            step["name"] = _free(name, len(names) + 1, {text_of(one, "name") for one in steps.values()})
            place = ("execution_steps", position, "name")
            yield place, f"the name {name!r} is already taken: read as {step['name']!r}"
        names.append(step["name"])
    several = {name: names for name, names in renamed.items() if len(names) > 1}
    if several and isinstance(row.get("execution_links"), list):
        row["execution_links"] = [each for link in row["execution_links"] for each in _told_apart(link, several)]


def _free(name: str, number: int, taken: set[Any]) -> str:
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _told_apart(link: Any, several: dict[str, list[str]]) -> list[Any]:
    """A link to several steps of one name goes to the first, one from them leaves the last, one among them chains."""
    if not isinstance(link, dict):
        return [link]
    source, target = link.get("source"), link.get("target")
    if isinstance(source, str) and source == target and source in several:
        names = several[source]
        return [{"source": one, "target": other} for one, other in pairwise(names)]
    ends = dict(link)
    if isinstance(source, str) and source in several:
        ends["source"] = several[source][-1]
    if isinstance(target, str) and target in several:
        ends["target"] = several[target][0]
    return [ends]


def repair_links(row: Row) -> Iterator[Read]:
    """Links as pairs, or with other words for their ends."""
    links = row.get("execution_links")
    for position, link in enumerate(links if isinstance(links, list) else []):
        place = ("execution_links", position)
        if isinstance(link, list) and len(link) == 2 and all(isinstance(end, str) for end in link):
            row["execution_links"][position] = {"source": link[0], "target": link[1]}
            yield place, "a pair is read as source and target"
        elif isinstance(link, dict) and set(link) == {"from", "to"}:
            row["execution_links"][position] = {"source": link["from"], "target": link["to"]}
            yield place, "'from' and 'to' are read as source and target"


def add_finish(row: Row) -> Iterator[Read]:
    """A scenario without Finish gets one after every step that nothing follows (the guide's 400 and 421 have none)."""
    steps = list(_members(row, "execution_steps").values())
    links = row.get("execution_links")
    names = [text_of(step, "name") for step in steps]
    if not steps or not isinstance(links, list) or any(step.get("action") == FINISH for step in steps):
        return
    sources = {text_of(link, "source") for link in links if isinstance(link, dict)}
    leaves = [step for step, name in zip(steps, names, strict=True) if name is not None and name not in sources]
    agents = Counter(step["agent"] for step in leaves if isinstance(step.get("agent"), str))
    if not agents:
        return
    name = "finish" if "finish" not in names else _free("finish", 2, set(names))
    row["execution_steps"].append({"name": name, "action": FINISH, "agent": agents.most_common(1)[0][0]})
    links.extend({"source": step["name"], "target": name} for step in leaves)
    yield ("execution_steps",), "no step is Finish: one is read after every step that nothing follows"


def text_of(value: Row, field: str) -> str | None:
    """A field's text, or null where it is none: a file may hold anything in its place."""
    found = value.get(field)
    return found if isinstance(found, str) else None


def _members(row: Row, field: str) -> dict[int, Row]:
    value = row.get(field)
    members = value if isinstance(value, list) else []
    return {position: each for position, each in enumerate(members) if isinstance(each, dict)}
