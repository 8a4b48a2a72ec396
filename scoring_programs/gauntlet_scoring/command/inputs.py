"""What the command reads: files and folders of ground truth and of scenarios, and which is which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gauntlet_scoring.command.failure import CommandFailed
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation import ASSETOPS, MCP, OPEN, Strength, Vocabulary, check_text, read_vocabulary
from gauntlet_scoring.validation.documents import read_documents
from gauntlet_scoring.validation.findings import Report
from gauntlet_scoring.validation.leaks import check_scenarios_text
from gauntlet_scoring.validation.vocabulary import VOCABULARY_FILE, vocabulary_beside

_SUFFIXES: Final = (".json", ".jsonl")
_SHOWN_TO_AGENTS: Final = {"public", "show"}
_SCENARIO_KEYS: Final = {"id", "text", "category", *_SHOWN_TO_AGENTS}
_BUILT_IN: Final = {"assetops": ASSETOPS, "mcp": MCP, "open": OPEN}


def vocabulary_of(choice: str | None, path: Path) -> Vocabulary:
    """The vocabulary that was asked for: by name, by file, or the one beside the ground truth, or AssetOps'.

    Raises:
        CommandFailed: there is none of that name, or the file is none.
    """
    try:
        if choice is None:
            return vocabulary_beside(path, default=ASSETOPS)
        return _BUILT_IN[choice] if choice in _BUILT_IN else read_vocabulary(Path(choice))
    except ScoringInputError as error:
        raise CommandFailed(f"{error}. --vocabulary takes assetops, mcp, open or a file.") from error


def read(path: Path) -> str:
    """A file's text.

    Raises:
        CommandFailed: it cannot be read as UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{path}: is not text in UTF-8; save it in this encoding") from error


def files_of(path: Path) -> list[Path]:
    """The file itself, or every JSON file of a folder that may hold scenarios.

    Raises:
        CommandFailed: there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CommandFailed(f"{path}: there is no such file or folder")
    found = sorted(each for each in path.rglob("*") if each.is_file() and each.suffix in _SUFFIXES)
    kept = [each for each in found if each.name != VOCABULARY_FILE and _holds_scenarios(each)]
    if not kept:
        raise CommandFailed(f"{path}: holds no JSON file with scenarios")
    return kept


def is_for_agents(text: str) -> bool:
    """Whether a file is a scenario file, which agents see, and no ground truth."""
    rows = [document.value for document in read_documents(text)[0]]
    objects = [row for row in rows if isinstance(row, dict)]
    return any(_SHOWN_TO_AGENTS & set(row) for row in objects) or (
        bool(objects) and all(set(row) <= _SCENARIO_KEYS for row in objects)
    )


def checked(path: Path, *, strength: Strength, vocabulary: str | None) -> Iterator[Report]:
    """The report of every file: ground truth is validated, scenario files are looked through for leaks."""
    texts = {each: read(each) for each in files_of(path)}
    shown = {each for each, text in texts.items() if is_for_agents(text)}
    reports = {
        each: check_text(text, strength=strength, name=str(each), vocabulary=vocabulary_of(vocabulary, each))
        for each, text in texts.items()
        if each not in shown
    }
    truths: list[GroundTruth] = [truth for report in reports.values() for truth in report.truths]
    for each, text in texts.items():
        yield reports[each] if each in reports else check_scenarios_text(text, truths=truths, name=str(each))


def truths_of(path: Path, *, vocabulary: str | None) -> tuple[list[GroundTruth], Vocabulary]:
    """The scenarios of a file, read leniently.

    Raises:
        CommandFailed: one of them is not usable even so.
    """
    words = vocabulary_of(vocabulary, path)
    report = check_text(read(path), strength=Strength.LENIENT, name=str(path), vocabulary=words)
    if len(report.truths) < report.scenarios or not report.truths:
        raise CommandFailed(f"{path}: does not hold usable ground truth; `gauntlet-score validate {path}` says why")
    return list(report.truths), words


def _holds_scenarios(path: Path) -> bool:
    try:
        documents = read_documents(path.read_text(encoding="utf-8-sig"))[0]
    except (OSError, UnicodeDecodeError):
        return False
    first: Any = documents[0].value if documents else None
    return isinstance(first, dict) and "id" in first and ("text" in first or "utterance" in first)
