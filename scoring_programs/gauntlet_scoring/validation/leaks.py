"""Whether a scenario file, which agents see, gives away what is expected of them.

No field of the ground truth may stand in it at any depth, under no name that is usual for it, and neither may what
the fields hold: the values of the right answer, the expectation, the steps of the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.text import normalise
from gauntlet_scoring.validation.collecting import Collector, json_path, scenario_id
from gauntlet_scoring.validation.documents import Location, Problem, read_documents
from gauntlet_scoring.validation.findings import Finding, FindingClass, Level, Report, Strength, in_order
from gauntlet_scoring.values import comparable

TELLING_KEYS: Final = frozenset(
    (
        *("finalout", "finaloutput", "finaloutdescription", "finalanswer", "expectedresult", "expectedanswer"),
        *(
            "expectedoutput",
            "expected",
            "characteristicform",
            "characteristicanswer",
            "planningsteps",
            "executionsteps",
        ),
        *("executionlinks", "steps", "plan", "trajectory", "checks", "groundtruth", "gold", "goldanswer"),
        *("goldfinalanswer", "answer", "answers", "correctanswer", "rightanswer", "referenceanswer", "solution"),
        *("solutions", "possiblealternatives", "rubric", "canonicaltoolcalls"),
    )
)
"""Keys that hold what is expected, in lower case and without dashes."""

_TEXT: Final = "text"
_SHORTEST: Final = 12  # characters of a sentence that is looked for: a shorter one may stand there by chance
_SMALLEST: Final = 10  # numbers below stand anywhere


@dataclass(frozen=True)
class Leak:
    """A place that gives something away."""

    location: Location
    message: str
    level: Level
    finding_class: FindingClass


def check_scenarios_text(text: str, *, truths: Iterable[GroundTruth] = (), name: str = "scenarios.jsonl") -> Report:
    """Check a scenario file for agents; with ``truths``, for the values of their answers too."""
    by_key = {truth.key: truth for truth in truths}
    documents, problems = read_documents(text)
    findings: list[Finding] = [_problem(each) for each in problems]
    for document in documents:
        collector = Collector(document=document, scenario=scenario_id(document.value))
        if isinstance(document.value, dict):
            for leak in scenario_leaks(document.value, by_key.get(collector.scenario or "")):
                collector.add(leak.level, leak.finding_class, leak.location, leak.message, rule="leak")
        else:
            collector.structural((), "must be a JSON object: one scenario")
        findings.extend(collector.findings)
    return Report(name=name, strength=Strength.STRICT, scenarios=len(documents), findings=in_order(findings))


def scenario_leaks(row: Mapping[str, Any], truth: GroundTruth | None = None) -> Iterator[Leak]:
    """What one scenario gives away: keys by themselves, and with the ground truth what they hold."""
    leaves = list(_leaves(dict(row), ()))
    for location in dict.fromkeys(_telling(dict(row), ())):
        message = "says what is expected: this belongs into the ground truth, which agents do not see"
        yield Leak(location, message, Level.ERROR, FindingClass.STRUCTURAL)
    if truth is not None:
        yield from _sentences(leaves, truth)
        yield from _values(leaves, truth)


def _telling(value: Any, here: Location) -> Iterator[Location]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key.casefold().replace("_", "").replace("-", "").replace(" ", "") in TELLING_KEYS:
                yield (*here, key)
            else:
                yield from _telling(each, (*here, key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _telling(each, (*here, position))


def _leaves(value: Any, here: Location) -> Iterator[tuple[Location, Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is None:
        yield here, value
        return
    for key, each in members:
        yield from _leaves(each, (*here, key))


def _sentences(leaves: list[tuple[Location, Any]], truth: GroundTruth) -> Iterator[Leak]:
    """The expectation nowhere; a step of the plan not beside the text, which it may repeat."""
    form = _plain(truth.characteristic_form)
    steps = [_plain(step.instruction) for step in truth.planning_steps]
    question = _plain(truth.text)
    for location, value in leaves:
        if not isinstance(value, str):
            continue
        text = _plain(value)
        if len(form) >= _SHORTEST and form in text and form not in question:
            yield Leak(location, "repeats the characteristic form", Level.ERROR, FindingClass.SEMANTIC)
        step = next((one for one in steps if len(one) >= _SHORTEST and one in text and one not in question), None)
        if step is not None:
            yield Leak(location, "repeats a step of the plan", Level.ERROR, FindingClass.SEMANTIC)


def _values(leaves: list[tuple[Location, Any]], truth: GroundTruth) -> Iterator[Leak]:
    """A value of the answer beside the text: surely a leak under the answer's own key, probably one under another."""
    answers = _answers(truth)
    question = _plain(truth.text)
    members = Counter(location[:-1] for location, _ in leaves)
    for location, value in leaves:
        # One of several that the agent may choose from says nothing.
        is_choice = isinstance(location[-1], int) and members[location[:-1]] > 1
        places = answers.get(comparable(value), [])
        if location[0] in (_TEXT, "id", "category", "public") or is_choice or not places:
            continue
        own = next((place for place in places if _key(place) == _key(location)), None)
        if own is not None:
            message = f"has the right answer's value, that of {json_path(own)}"
            yield Leak(location, message, Level.ERROR, FindingClass.SEMANTIC)
        elif _is_rare(value) and _plain(str(value)) not in question:
            message = f"has the same value as {json_path(places[0])}: does it give the answer away?"
            yield Leak(location, message, Level.WARNING, FindingClass.SEMANTIC)


def _answers(truth: GroundTruth) -> dict[Hashable, list[Location]]:
    """The values of the right answer, and where they stand; true, false and null are no telling values."""
    found: dict[Hashable, list[Location]] = {}
    expected = {"final_out": truth.final_out or {}, "expected_result": truth.expected_result}
    for place, value in _leaves(expected, ()):
        if value is not None and not isinstance(value, bool):
            found.setdefault(comparable(value), []).append(place)
    return found


def _key(location: Location) -> str | None:
    return next((part.casefold() for part in reversed(location) if isinstance(part, str)), None)


def _is_rare(value: Any) -> bool:
    if isinstance(value, str):
        return len(value.strip()) >= 3
    return (
        isinstance(value, float | int) and not isinstance(value, bool) and (abs(value) >= _SMALLEST or value % 1 != 0)
    )


def _plain(text: str) -> str:
    return " ".join(normalise(text).split()).strip(" .")


def _problem(problem: Problem) -> Finding:
    return Finding(FindingClass.STRUCTURAL, "", problem.line, problem.message, column=problem.column)
