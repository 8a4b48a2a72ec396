"""How reports look on a terminal: a table of the four classes, and the findings, equal ones told once."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gauntlet_scoring.rescoring import Rescored
from gauntlet_scoring.validation.findings import Finding, Level, Report, Strength

if TYPE_CHECKING:
    from rich.console import Console

_TOGETHER: Final = 4  # equal findings from which on they are told once
_NAMED: Final = 8  # lines that are named of them
_UNSEEN: Final = dict.fromkeys((*range(32), *range(0x7F, 0xA0)))
_POSITION: Final = re.compile(r"\[\d+\]")
_STYLES: Final = {Level.ERROR: "red", Level.WARNING: "yellow", Level.REPAIR: "cyan", Level.NOTE: "dim"}


def console(*, stderr: bool = False) -> Console:
    """A console that takes text literally and does not cut lines."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 200
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_report(report: Report, *, whole: bool) -> None:
    """Print one file's report; ``whole`` tells every finding by itself."""
    out = console()
    lenient = ", read leniently" if report.strength is Strength.LENIENT else ""
    out.print(f"{_clean(report.name)}: {report.scenarios} scenarios, {len(report.truths)} usable{lenient}")
    out.print(_table(report))
    for message, level in _told(report, whole=whole):
        out.print(_clean(message), style=_STYLES[level])


def _table(report: Report) -> object:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class")
    for level in Level:
        table.add_column(f"{level}s", justify="right")
    for finding_class, levels in report.counts().items():
        table.add_row(str(finding_class), *(str(levels[level]) for level in Level))
    return table


def _told(report: Report, *, whole: bool) -> list[tuple[str, Level]]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in report.findings:
        path = _any_member(finding.path)
        groups.setdefault((finding.finding_class, finding.level, finding.rule, path, finding.message), []).append(
            finding
        )
    told: list[tuple[str, Level]] = []
    for group in groups.values():
        if whole or len(group) < _TOGETHER:
            told.extend((f"{report.name}:{finding}", finding.level) for finding in group)
        else:
            told.append((_together(group, report.name), group[0].level))
    return told


def _together(group: Sequence[Finding], name: str) -> str:
    first = group[0]
    lines = list(dict.fromkeys(finding.line for finding in group))
    named = ", ".join(str(line) for line in lines[:_NAMED]) + (", …" if len(lines) > _NAMED else "")
    path = f" {_any_member(first.path)}:" if first.path else ""
    rule = f" ({first.rule})" if first.rule else ""
    count = f"{len(group)} times, lines {named}"
    return f"{name}: {first.level} [{first.finding_class}]{path} {first.message}{rule}: {count}"


def _any_member(path: str) -> str:
    return _POSITION.sub("[]", path)


def show_rescored(found: Rescored) -> None:
    """Print every key, stored and new, and whether they are equal."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("score")
    for name in ("stored", "new"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in found.comparisons:
        style = None if one.equal else "red"
        cells = (f"{one.program}.{one.key}", _number(one.stored), _number(one.new))
        table.add_row(*map(_clean, cells), "equal" if one.equal else "different", style=style)
    out = console()
    out.print(f"evaluation {_clean(found.evaluation)}")
    out.print(table)
    for program, reason in found.failures.items():
        out.print(_clean(f"{program}: could not be run: {reason}"), style="red")


def _number(value: float | None) -> str:
    return "–" if value is None else repr(value)


def _clean(text: str) -> str:
    """A file's words must not be able to move a reader's cursor."""
    return text.replace("\n", " ").translate(_UNSEEN)
