"""What a validation says: findings of four classes (G22), each with its place in the file, and the report of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gauntlet_scoring.ground_truth import GroundTruth


class FindingClass(StrEnum):
    """The kinds of finding, reported apart from each other (G22)."""

    STRUCTURAL = "structural"  # the file is not what the schema says, or names something that is not there
    SEMANTIC = "semantic"  # it is well-formed, and does not say clearly enough, or consistently, what is expected
    LOGICAL = "logical"  # everything is there, and it cannot work: order, cycles, references, the end
    DOMAIN = "domain"  # an agent, a tool, an argument or a word that the domain does not have


class Level(StrEnum):
    """How much a finding weighs. Only an error keeps a file from being used."""

    ERROR = "error"
    WARNING = "warning"
    REPAIR = "repair"  # something was read as something else, and the message says what as what
    NOTE = "note"


class Strength(StrEnum):
    """How much is asked of a file."""

    STRICT = "strict"  # the schema and rules G11 to G19 as they are written
    LENIENT = "lenient"  # the spellings of real files are read as what they mean, each reported as a repair


_ORDER: Final = {level: position for position, level in enumerate(Level)}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, odd, or was read as something else."""

    finding_class: FindingClass
    path: str  # within the scenario's object, such as execution_links[2].target; "" is all of it
    line: int  # from 1, in the file
    message: str
    level: Level = Level.ERROR
    column: int | None = None  # from 1, in characters
    scenario: str | None = None  # the scenario's id as text, where it has one
    rule: str = ""  # such as G12: the requirement that asks for it

    def __str__(self) -> str:
        column = "" if self.column is None else f":{self.column}"
        scenario = "" if self.scenario is None else f" scenario {self.scenario}:"
        path = f" {self.path}:" if self.path else ""
        rule = f" ({self.rule})" if self.rule else ""
        return f"{self.line}{column}: {self.level} [{self.finding_class}]{scenario}{path} {self.message}{rule}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON, for the command, the API and pages."""
        return {
            "class": str(self.finding_class),
            "level": str(self.level),
            "rule": self.rule,
            "scenario": self.scenario,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }


@dataclass(frozen=True)
class Report:
    """What a validation found, and the scenarios that can be used, repaired where lenient reading repaired them."""

    name: str  # of the file, as the caller calls it
    strength: Strength
    scenarios: int  # how many the file holds, well-formed or not
    findings: tuple[Finding, ...] = ()
    truths: tuple[GroundTruth, ...] = ()  # those that fit the schema, in the file's order

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.of_level(Level.ERROR)

    def of_level(self, level: Level) -> list[Finding]:
        """The findings of one level, in the file's order."""
        return [finding for finding in self.findings if finding.level is level]

    def of_class(self, finding_class: FindingClass) -> list[Finding]:
        """The findings of one class, in the file's order."""
        return [finding for finding in self.findings if finding.finding_class is finding_class]

    def counts(self) -> dict[FindingClass, dict[Level, int]]:
        """How many findings there are of each class and level, zeros too: the four reports of G22 at a glance."""
        found = Counter((finding.finding_class, finding.level) for finding in self.findings)
        return {each: {level: found[each, level] for level in Level} for each in FindingClass}

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "strength": str(self.strength),
            "scenarios": self.scenarios,
            "ok": self.ok,
            "counts": {
                str(each): {str(level): n for level, n in levels.items()} for each, levels in self.counts().items()
            },
            "findings": [finding.as_dict() for finding in self.findings],
        }


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """By place in the file, the weightier first at the same one; the same finding once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (f.line, f.column or 0, _ORDER[f.level], f.path, f.message)))
