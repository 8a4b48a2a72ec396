"""Reports as SARIF 2.1.0 (OASIS), which code hosts and editors show at the line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import quote

from gauntlet_scoring.validation.findings import Finding, FindingClass, Level, Report

SARIF_VERSION: Final = "2.1.0"
SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.REPAIR: "note", Level.NOTE: "note"}
_CLASSES: Final = {
    FindingClass.STRUCTURAL: "The file is not what the schema says, or names something that is not there.",
    FindingClass.SEMANTIC: "It does not say clearly or consistently what is expected.",
    FindingClass.LOGICAL: "The steps cannot work in this order.",
    FindingClass.DOMAIN: "It names something that the domain does not have.",
}


def sarif(reports: Sequence[Report]) -> dict[str, Any]:
    """One run with a result for every finding of every report."""
    findings = [(report, finding) for report in reports for finding in report.findings]
    rules = sorted({_rule_id(finding) for _, finding in findings})
    places = {rule: position for position, rule in enumerate(rules)}
    return {
        "$schema": SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [
            {
                "tool": {"driver": _driver(rules)},
                "columnKind": "unicodeCodePoints",
                "artifacts": [
                    {"location": {"uri": uri}} for uri in dict.fromkeys(_uri(report.name) for report in reports)
                ],
                "results": [_result(report, finding, places) for report, finding in findings],
            }
        ],
    }


def _driver(rules: Sequence[str]) -> dict[str, Any]:
    return {
        "name": "gauntlet-score",
        "version": _version(),
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": _CLASSES[FindingClass(rule.partition("/")[0])]},
                "properties": {"requirement": rule.partition("/")[2]},
            }
            for rule in rules
        ],
    }


def _version() -> str:
    try:
        return version("gauntlet-scoring")
    except PackageNotFoundError:  # a copied folder, not an installation
        return "0"


def _rule_id(finding: Finding) -> str:
    return f"{finding.finding_class}/{finding.rule or 'reading'}"


def _uri(name: str) -> str:
    """A file's name as a URI reference, in the notation of which SARIF wants it."""
    return quote(name.replace("\\", "/"), safe="/._-~")


def _result(report: Report, finding: Finding, places: dict[str, int]) -> dict[str, Any]:
    region: dict[str, int] = {"startLine": finding.line}
    if finding.column is not None:
        region["startColumn"] = finding.column
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(report.name)}, "region": region}}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path, "kind": "member"}]
    scenario = "" if finding.scenario is None else f"scenario {finding.scenario}: "
    path = f"{finding.path}: " if finding.path else ""
    rule = _rule_id(finding)
    return {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "level": _LEVELS[finding.level],
        "message": {"text": f"{scenario}{path}{finding.message}"},
        "locations": [location],
        "properties": {"class": str(finding.finding_class), "level": str(finding.level), "scenario": finding.scenario},
    }
