"""The validation of a ground-truth file as a whole: reading, lenient repairs, and the checks of all four classes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation.assetops import ASSETOPS
from gauntlet_scoring.validation.collecting import Collector, scenario_id
from gauntlet_scoring.validation.documents import Document, Problem, read_documents
from gauntlet_scoring.validation.domain import check_domain
from gauntlet_scoring.validation.findings import Finding, FindingClass, Level, Report, Strength, in_order
from gauntlet_scoring.validation.logic import check_logic
from gauntlet_scoring.validation.meaning import check_meaning
from gauntlet_scoring.validation.repairs import repaired
from gauntlet_scoring.validation.structure import MOST_ERRORS, Draft, check_structure, draft_of, draft_of_truth
from gauntlet_scoring.validation.vocabulary import OPEN, Vocabulary
from gauntlet_scoring.validation.wording import check_wording


def check_text(
    text: str,
    *,
    strength: Strength = Strength.STRICT,
    name: str = "ground_truth.jsonl",
    vocabulary: Vocabulary = ASSETOPS,
) -> Report:
    """Check a ground truth: one JSON object, an array of them, or one a line.

    Args:
        text: the file's content
        strength: strict as the rules are written; lenient reads the spellings of real files and reports what it read
        name: what the report calls the file
        vocabulary: the agents and tools that it may name; :data:`OPEN` accepts any
    """
    documents, problems = read_documents(text)
    findings = [_problem(each) for each in problems]
    truths: list[GroundTruth] = []
    seen: dict[str, Document] = {}
    for document in documents:
        truth, found = _check_document(document, strength=strength, vocabulary=vocabulary, seen=seen)
        findings.extend(found)
        if truth is not None:
            truths.append(truth)
    return Report(
        name=name,
        strength=strength,
        scenarios=len(documents),
        findings=in_order(findings),
        truths=tuple(truths),
    )


def check_file(
    path: Path, *, strength: Strength = Strength.STRICT, vocabulary: Vocabulary = ASSETOPS, name: str | None = None
) -> Report:
    """Check a file as :func:`check_text` does; one that cannot be read is a finding."""
    called = name or path.name
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        message = str(ScoringInputError(f"cannot be read ({error.strerror})", path=path))
    except UnicodeDecodeError:
        message = "is not text in UTF-8; save it in this encoding"
    else:
        return check_text(text, strength=strength, name=called, vocabulary=vocabulary)
    return Report(name=called, strength=strength, scenarios=0, findings=(_problem(Problem(1, None, message)),))


def validate_ground_truth_file(path: Path, *, vocabulary: Vocabulary = OPEN) -> list[Finding]:
    """The strict findings about a file; none means that it can be scored with and says all that it should."""
    return list(check_file(path, vocabulary=vocabulary).findings)


def validate_ground_truth(truth: GroundTruth, *, line: int = 1, vocabulary: Vocabulary = OPEN) -> list[Finding]:
    """The strict findings about one scenario that fits the schema."""
    collector = Collector(document=None, scenario=truth.key, line=line)
    _check_draft(draft_of_truth(truth), collector, vocabulary=vocabulary)
    return list(in_order(collector.findings))


def _check_document(
    document: Document, *, strength: Strength, vocabulary: Vocabulary, seen: dict[str, Document]
) -> tuple[GroundTruth | None, list[Finding]]:
    row = document.value
    collector = Collector(document=document, scenario=scenario_id(row))
    for key in document.duplicates[:MOST_ERRORS]:
        collector.structural((), f"an object has the key {key!r} twice: only the last one counts")
    if not isinstance(row, dict):
        collector.structural((), "must be a JSON object: one scenario", rule="G11")
        return None, collector.findings
    if strength is Strength.LENIENT:
        row = _repair(row, collector, vocabulary)
    row = _check_id(row, collector, strength=strength, seen=seen, document=document)
    draft = draft_of(row, collector)
    _check_draft(draft, collector, vocabulary=vocabulary)
    return draft.truth, collector.findings


def _check_draft(draft: Draft, collector: Collector, *, vocabulary: Vocabulary) -> None:
    check_structure(draft, collector)
    check_logic(draft, collector)
    check_meaning(draft, collector, vocabulary=vocabulary)
    check_wording(draft, collector)
    check_domain(draft, collector, vocabulary=vocabulary)


def _repair(row: dict[str, Any], collector: Collector, vocabulary: Vocabulary) -> dict[str, Any]:
    content, repairs = repaired(row, vocabulary)
    for repair in repairs:
        collector.add(Level.REPAIR, repair.finding_class, repair.location, repair.message)
    unknown = sorted(set(content) - set(GroundTruth.model_fields))
    for key in unknown[MOST_ERRORS:]:
        del content[key]
    for key in unknown[:MOST_ERRORS]:
        del content[key]
        collector.add(Level.WARNING, FindingClass.STRUCTURAL, (key,), f"the field {key!r} is unknown and left out")
    return content


def _check_id(
    row: dict[str, Any], collector: Collector, *, strength: Strength, seen: dict[str, Document], document: Document
) -> dict[str, Any]:
    """G11: an id once in the set. Lenient reading tells the second one apart (the guide has two 502)."""
    key = scenario_id(row)
    if key is None or seen.setdefault(key, document) is document:
        return row
    line = seen[key].place(("id",))[0]
    if strength is Strength.STRICT:
        collector.structural(("id",), f"the id {key} is already on line {line}", rule="G11")
        return row
    free = _free_key(key, seen)
    seen[free] = document
    message = f"the id {key} is already on line {line}: this one is read as {free!r}"
    collector.add(Level.REPAIR, FindingClass.STRUCTURAL, ("id",), message, rule="G11")
    return {**row, "id": free}


def _free_key(key: str, taken: Iterable[str]) -> str:
    number = 2
    while f"{key}-{number}" in taken:
        number += 1
    return f"{key}-{number}"


def _problem(problem: Problem) -> Finding:
    return Finding(FindingClass.STRUCTURAL, "", problem.line, problem.message, column=problem.column, rule="G11")
