"""How a check says what it found about one scenario: the location becomes a path, a line and a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any, Final

from gauntlet_scoring.validation.documents import Document, Location
from gauntlet_scoring.validation.findings import Finding, FindingClass, Level

_ID_CHARACTERS: Final = 80


@dataclass
class Collector:
    """Collects the findings about one scenario.

    Attributes:
        document: where it stands; null where it does not come from a file
        line: said where there is no document
    """

    document: Document | None
    scenario: str | None
    line: int = 1
    findings: list[Finding] = field(default_factory=list)

    def add(
        self, level: Level, finding_class: FindingClass, location: Location, message: str, *, rule: str = ""
    ) -> None:
        """Note a finding at a location in the scenario."""
        line, column = (self.line, None) if self.document is None else self.document.place(location)
        self.findings.append(
            Finding(
                finding_class=finding_class,
                path=json_path(location),
                line=line,
                message=message,
                level=level,
                column=column,
                scenario=self.scenario,
                rule=rule,
            )
        )

    structural = partialmethod(add, Level.ERROR, FindingClass.STRUCTURAL)
    logical = partialmethod(add, Level.ERROR, FindingClass.LOGICAL)
    domain = partialmethod(add, Level.ERROR, FindingClass.DOMAIN)
    semantic = partialmethod(add, Level.ERROR, FindingClass.SEMANTIC)


def json_path(location: Location) -> str:
    """A location as a path: ("a", 2, "b") is a[2].b."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def scenario_id(value: Any) -> str | None:
    """A scenario's id as text, or null where it has none."""
    found = value.get("id") if isinstance(value, dict) else None
    usable = isinstance(found, int | str) and not isinstance(found, bool)
    return str(found)[:_ID_CHARACTERS] if usable else None
