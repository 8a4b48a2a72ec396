"""The Codabench program contract: what a program's folder says, what its command may name, what it leaves behind.

Source: /app/… folders, metadata and outputs of Codabench v1.25; where that is a fault (a NaN score that gives
"Finished" without a score), the program fails here with a sentence.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic_core
import yaml
from pydantic import ValidationError

from gauntlet_runtime.jobs import MOST_COMMAND_BYTES
from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.program_folders import FOLDERS, with_folders
from gauntlet_scoring.program_metadata import METADATA_FILES

SCORING_FOLDERS: Final = {variable: f"/app/{folder}" for variable, folder in FOLDERS.items()}
#: What PyYAML raises at a text: beside its own errors those of dates that there are not, of numbers without end, and of
#: what is nested too deep.
NO_YAML: Final = (yaml.YAMLError, ValueError, RecursionError)
SCORES_TEXT_BYTES: Final = 256 << 10  # of scores.txt: YAML is read slowly, and a worker reads it
REPORT_BYTES: Final = 8 << 20
FILE_BYTES: Final = 64 << 20
LINE_CHARACTERS: Final = 1 << 20  # of scenarios.jsonl: a page shows many of them at once
MOST_SCORES: Final = 1000  # of a program, and of a scenario
PROVENANCE_BYTES: Final = 32 << 10  # of provenance.json: it is kept in the record of each evaluation
DETAIL_LEVELS: Final = 100  # of lists and objects within each other in a row's detail
_LARGEST: Final = 10**300  # number in it that everybody reads again
_NAME: Final = re.compile(r"[\w.:/@%^ -]{1,80}", re.ASCII)
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class ProgramFault(Exception):
    """A program broke its contract; the message is a sentence without the program's own words."""


@dataclass(frozen=True)
class Outputs:
    """What a scoring program left in its output folder."""

    scores: dict[str, float]
    scenarios: list[dict[str, Any]] = field(default_factory=list)
    detailed_results: str | None = None
    provenance: dict[str, str] = field(default_factory=dict)


def command_of(folder: Path) -> str:
    """The command in a program's metadata.

    Raises:
        ProgramFault: there is none.
    """
    for name in METADATA_FILES:
        path = folder / name
        if path.is_file():
            return _command_in(path)
    raise ProgramFault("The program has no metadata.yaml (or metadata) with a command.")


def _command_in(path: Path) -> str:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except NO_YAML as error:
        raise ProgramFault(f"The program's {path.name} is not YAML.") from error
    command = content.get("command") if isinstance(content, dict) else None
    if not isinstance(command, str) or not command.strip():
        raise ProgramFault(f"The program's {path.name} names no command.")
    return command


def arguments_of(command: str, folders: dict[str, str] = SCORING_FOLDERS) -> list[str]:
    """The words of a command, with ``$input`` and the like replaced. No shell is involved.

    Raises:
        ProgramFault: its quotes do not match, it is empty, or nothing can be started so.
    """
    try:
        size = len(command.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, which YAML can write
        size = 0
    if "\0" in command or not 0 < size <= MOST_COMMAND_BYTES:
        raise ProgramFault(f"The program's command is no text of 1 to {MOST_COMMAND_BYTES} bytes.")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ProgramFault("The program's command has a quote without its partner.") from error
    if not words:
        raise ProgramFault("The program's command is empty.")
    return [with_folders(word, folders) for word in words]


def read_outputs(folder: Path) -> Outputs:
    """Read what a scoring program left, as collected from its output folder.

    Raises:
        ProgramFault: a score is missing or no finite number, or one of the other files breaks its format.
    """
    return Outputs(
        scores=_scores(folder),
        scenarios=_scenarios(folder / "scenarios.jsonl"),
        detailed_results=_report(folder),
        provenance=_provenance(folder / "provenance.json"),
    )


def _scores(folder: Path) -> dict[str, float]:
    if (folder / "scores.json").is_file():
        name, found = "scores.json", _json(folder / "scores.json")
    elif (folder / "scores.txt").is_file():
        name, found = "scores.txt", _key_values(folder / "scores.txt")
    else:
        raise ProgramFault("The program wrote neither scores.json nor scores.txt into /app/output.")
    if not isinstance(found, dict) or not found:
        raise ProgramFault(f"{name} must be a flat object of at least one key with its number.")
    if len(found) > MOST_SCORES:
        raise ProgramFault(f"{name} holds more than {MOST_SCORES} scores.")
    return {_key(key, name): _number(value, f"{name}: {_shown(key)}") for key, value in found.items()}


def _key(key: Any, name: str) -> str:
    if not isinstance(key, str) or not key or not key.isprintable():
        raise ProgramFault(f"{name}: every key must be text.")
    return key


def _shown(key: Any) -> str:
    """A score's name for a sentence that participants read; a text that is no name may say anything."""
    return key if isinstance(key, str) and _NAME.fullmatch(key) else "one of the scores"


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProgramFault(f"{place} is {_kind(value)}, not a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ProgramFault(f"{place} is not a finite number.")
    return number


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "text", type(None): "null", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")


def _text(path: Path, *, limit: int = FILE_BYTES) -> str:
    if path.stat().st_size > limit:
        raise ProgramFault(f"{path.name} is larger than {limit >> 10} KiB.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProgramFault(f"{path.name} is not UTF-8.") from error


def _json(path: Path, *, limit: int = FILE_BYTES) -> Any:
    # Not the json module: it lets halves of surrogate pairs through, which a database refuses.
    try:
        return pydantic_core.from_json(_without_nul(_text(path, limit=limit)))
    except ValueError as error:
        raise ProgramFault(f"{path.name} is not valid JSON.") from error


def _key_values(path: Path) -> Any:
    """scores.txt: YAML lines ``key: value``. YAML 1.1 takes ``1e-3`` for text; Codabench stores it as a number."""
    text = _text(path, limit=SCORES_TEXT_BYTES)
    try:
        found = yaml.safe_load(text)
    except NO_YAML as error:
        raise ProgramFault(f"{path.name} is not made of `key: value` lines.") from error
    if not isinstance(found, dict):
        raise ProgramFault(f"{path.name} is not made of `key: value` lines (mind the space after the colon).")
    return {key: _number_in(value) for key, value in found.items()}


def _number_in(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _scenarios(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = []
    seen: set[tuple[str, int]] = set()
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        place = f"scenarios.jsonl, line {number}"
        if len(line) > LINE_CHARACTERS:
            raise ProgramFault(f"{place} is longer than {LINE_CHARACTERS:,} characters.")
        try:
            row = ScenarioRow.model_validate_json(_without_nul(line))
        except ValidationError as error:
            field_name = next(iter(error.errors(include_url=False, include_input=False)[0]["loc"]), "")
            named = field_name if field_name in ScenarioRow.model_fields else "the line"
            raise ProgramFault(f"{place}: {named} is missing or malformed.") from error
        if (row.scenario, row.trial) in seen:
            raise ProgramFault(f"{place}: this scenario and trial stand in an earlier line too.")
        seen.add((row.scenario, row.trial))
        if len(row.scores) > MOST_SCORES:
            raise ProgramFault(f"{place} holds more than {MOST_SCORES} scores.")
        for key, value in row.scores.items():
            _number(value, f"{place}: {_shown(key)}")
        _check_detail(row.detail, place)
        rows.append(row.model_dump(mode="json"))
    return rows


def _check_detail(value: Any, place: str, *, levels: int = DETAIL_LEVELS) -> None:
    """Refuse what is read here and by nobody after this: it would look as if the platform had failed to store it."""
    if isinstance(value, dict | list):
        if not levels:
            raise ProgramFault(f"{place}: its detail is nested deeper than {DETAIL_LEVELS} levels.")
        for one in value.values() if isinstance(value, dict) else value:
            _check_detail(one, place, levels=levels - 1)
    elif isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise ProgramFault(f"{place}: its detail holds a number of more than 300 digits.")


def _without_nul(line: str) -> str:
    """NUL, escaped in JSON, as a replacement character: a program may quote an agent, and a database refuses NUL."""
    return _NUL.sub(r"\1\\ufffd", line)


def _report(folder: Path) -> str | None:
    """``detailed_results.html``, else the first HTML file, as Codabench picks it."""
    named = folder / "detailed_results.html"
    path = named if named.is_file() else next(iter(sorted(folder.glob("*.html"))), None)
    if path is None:
        return None
    if path.stat().st_size > REPORT_BYTES:
        raise ProgramFault(f"The report is larger than {REPORT_BYTES >> 20} MiB.")  # its name is the program's word
    return path.read_bytes().decode("utf-8", errors="replace").replace("\0", "\ufffd")  # no message holds NUL


def _provenance(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    found = _json(path, limit=PROVENANCE_BYTES)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ProgramFault("provenance.json must be a flat object whose values are text.")
    return {str(key): value for key, value in found.items()}
