"""Scenarios (JSON Lines, one a line) and whether each has its ground truth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from gauntlet.competitions.bundle.document import storable
from gauntlet.competitions.bundle.findings import Findings, Place, suggestion
from gauntlet.competitions.bundle.plan import ScenarioPlan
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.reading import json_lines
from gauntlet_scoring.validation import OPEN, Level, Report, check_file, vocabulary_beside
from gauntlet_scoring.validation.collecting import json_path
from gauntlet_scoring.validation.leaks import scenario_leaks
from gauntlet_scoring.validation.vocabulary import VOCABULARY_FILE

GROUND_TRUTH: Final = "ground_truth.jsonl"
_KEYS: Final = ("id", "text", "category", "public", "show")
_LARGEST: Final = 64 << 20
_MOST: Final = 10_000
_TELLS: Final = "belongs into the ground truth: a scenario must not say what is expected."


def read_scenarios(path: Path, *, file: str, findings: Findings) -> list[ScenarioPlan]:
    """Every scenario of the file that is right; findings for the others."""
    scenarios: list[ScenarioPlan] = []
    lines: dict[str, int] = {}
    for line, row in _rows(path, file=file, findings=findings):
        scenario = _scenario(row, file=file, line=line, findings=findings)
        if scenario is None:
            continue
        first = lines.setdefault(scenario.key, line)
        if first != line:
            findings.error(Place(file, line, "id"), f"the id '{scenario.key}' is already on line {first}.")
        else:
            scenarios.append(scenario)
    if not scenarios and not findings.errors:
        findings.error(Place(file, 1), "holds no scenario.")
    if len(scenarios) > _MOST:
        findings.error(Place(file, 1), f"holds {len(scenarios):,} scenarios.", allowed=[f"at most {_MOST:,}"])
    return scenarios


def check_ground_truth(
    folder: Path, scenarios: list[ScenarioPlan], *, file: str, scenarios_file: str, findings: Findings
) -> None:
    """Validate the folder's ground truth, where it is a file of that name, and look for one of every scenario.

    The agents and tools that it may name are those of the ``vocabulary.json`` beside it, or any. What a scenario shows
    must not give away what its ground truth expects.
    """
    path = folder / GROUND_TRUTH
    if not path.is_file():
        return
    before = len(findings.errors)
    report = _validated(path, file=file, findings=findings)
    if report is not None and report.ok and report.scenarios != sum(1 for _ in json_lines(path)):
        message = "holds a scenario over several lines: scoring programs read one JSON object a line (JSON Lines)."
        findings.error(Place(file, 1), message)
    if len(findings.errors) > before:
        return
    truths = {truth.key: truth for truth in report.truths} if report else {}
    keys = set(truths)
    for scenario in scenarios:
        if scenario.key not in keys:
            findings.error(Place(file), f"lacks the ground truth of the scenario '{scenario.key}'.")
        else:
            _check_leaks(scenario, truths[scenario.key], file=scenarios_file, findings=findings)
    for key in sorted(keys - {scenario.key for scenario in scenarios}):
        findings.warning(Place(file), f"holds the ground truth of '{key}', which is no scenario of the task.")


def _validated(path: Path, *, file: str, findings: Findings) -> Report | None:
    """The validator's report, told as findings of the bundle: its errors keep it out, its warnings are shown."""
    try:
        report = check_file(path, vocabulary=vocabulary_beside(path, default=OPEN))
    except ScoringInputError as error:
        name = file.removesuffix(path.name) + VOCABULARY_FILE
        findings.error(Place(name, 1), str(error).removeprefix(f"{path.parent / VOCABULARY_FILE}: ") + ".")
        return None
    for found in report.findings:
        place = Place(file, found.line, found.path)
        if found.level is Level.ERROR:
            findings.error(place, f"{found.message}.")
        elif found.level is Level.WARNING:
            findings.warning(place, f"{found.message}.")
    return report


def _check_leaks(scenario: ScenarioPlan, truth: GroundTruth, *, file: str, findings: Findings) -> None:
    shown = {"id": scenario.key, "text": scenario.text, "category": scenario.category, "show": scenario.show}
    for leak in scenario_leaks(shown, truth):
        place = Place(file, scenario.line, json_path(leak.location))
        if leak.level is Level.ERROR:
            findings.error(place, f"{leak.message}: agents would see what is expected of them.")
        else:
            findings.warning(place, f"{leak.message}")


def _rows(path: Path, *, file: str, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.stat().st_size > _LARGEST:
        findings.error(Place(file, 1), f"is larger than {_LARGEST:,} bytes.")
        return
    for line, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            row = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_float=_finite)
        except UnicodeDecodeError:
            findings.error(Place(file, line), "is not text in UTF-8; save it in this encoding.")
        except RecursionError:
            findings.error(Place(file, line), "is nested too deeply.")
        except ValueError as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            findings.error(Place(file, line), f"is not a JSON object on one line: {reason}.")
        else:
            if isinstance(row, dict):
                yield line, row
            else:
                findings.error(Place(file, line), "must be a JSON object.", allowed=_KEYS)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _scenario(row: dict[str, Any], *, file: str, line: int, findings: Findings) -> ScenarioPlan | None:
    before = len(findings.errors)
    _check_keys(row, file=file, line=line, findings=findings)

    def field(name: str, right: Callable[[Any], bool], default: Any, what: str) -> Any:
        value = row.get(name, default)
        if not right(value) or not storable(json.dumps(value, ensure_ascii=False).replace("\\u0000", "\0")):
            findings.error(Place(file, line, name), "is wrong or missing.", allowed=[what])
        return value

    key = field("id", _is_key, None, "a text of 1 to 64 characters, or a whole number")
    text = field("text", lambda v: isinstance(v, str) and bool(v.strip()), None, "a text that is not empty")
    category = field("category", lambda v: isinstance(v, str) and len(v) <= 64, "", "a text of at most 64 characters")
    public = field("public", lambda v: isinstance(v, bool), False, "true or false")
    show = field("show", lambda v: isinstance(v, dict), {}, "an object")
    if len(findings.errors) > before:
        return None
    return ScenarioPlan(key=str(key), text=text, category=category, public=public, show=show, line=line)


def _is_key(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return (isinstance(value, int) and abs(value) < 10**18) or (isinstance(value, str) and 0 < len(value.strip()) <= 64)


def _check_keys(row: dict[str, Any], *, file: str, line: int, findings: Findings) -> None:
    telling = [leak.location for leak in scenario_leaks(row)]
    for location in telling:
        findings.error(Place(file, line, json_path(location)[:64]), _TELLS)
    for key in row.keys() - set(_KEYS):
        place = Place(file, line, str(key)[:64])
        if (key,) not in telling:
            findings.warning(place, f"is unknown and ignored.{suggestion(str(key), _KEYS)}", allowed=_KEYS)
