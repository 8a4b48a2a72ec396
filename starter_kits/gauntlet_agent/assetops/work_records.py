"""The WO agent's way to records: which machine is meant, and the rows of a table for it, in pages through its tools."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_agent.assetops import analyses
from gauntlet_agent.assetops.periods import Period
from gauntlet_agent.assetops.reading import plain
from gauntlet_agent.assetops.roster import CODE_TOOL
from gauntlet_agent.assetops.skills import Unanswerable, Work, page_size, rows_of, said, same_machine, total_of
from gauntlet_agent.errors import ToolError

TOOLS: Final = {
    "orders": "list_workorders",
    "alerts": "list_alerts",
    "anomalies": "list_anomalies",
    "events": "list_events",
}
WORDS: Final = {"orders": "work orders", "alerts": "alerts", "anomalies": "anomalies", "events": "events"}


@dataclass(frozen=True)
class Machine:
    """A machine as the records know it."""

    id: str
    name: str

    @property
    def facts(self) -> dict[str, Any]:
        """What a report says of it."""
        return {"equipment_id": self.id, "equipment_name": self.name}


def find_machines(work: Work) -> list[Machine]:
    """The machines that the request names, each once.

    Raises:
        Unanswerable: one of them does not exist, or none is named.
    """
    listed = [Machine(str(row.get("equipment_id")), str(row.get("equipment_name") or row.get("name") or ""))
              for row in rows_of(work.call("list_equipment"))]  # fmt: skip
    named = [*work.reading.assets] or [work.asset]
    found: dict[str, Machine] = {}
    for written in named:
        machine = next((one for one in listed if plain(written) in (plain(one.id), plain(one.name))), None)
        machine = machine or next((one for one in listed if same_machine(written, one.name)), None)
        if machine is None:
            raise Unanswerable(f"There is no equipment {written} in the records.")
        found[machine.id] = machine
    return list(found.values())


def find_machine(work: Work) -> Machine:
    """The first machine that the request names."""
    return find_machines(work)[0]


@dataclass(frozen=True)
class Rows:
    """Rows of one table for one machine and period.

    Attributes:
        total: how many there are, also where not all were read
    """

    rows: list[dict[str, Any]]
    total: int


def rows(work: Work, table: str, machine: Machine, period: Period | None, *, kind: str | None = None) -> Rows:
    """All rows of a table in a period, in the order of time.

    Raises:
        Unanswerable: there are none, and nobody else has any in that time either: nothing was recorded.
    """
    tool, column = TOOLS[table], analyses.TABLES[table][1]
    asked: dict[str, Any] = {"equipment_id": machine.id, **(period.arguments if period else {})}
    if kind is not None:
        asked["kind"] = kind
    found = work.all_rows(tool, **asked)
    kept = analyses.within(found, column) if found and column in found[0] else found
    if not kept:
        check_recorded(work, table, period)
    return Rows(kept, max(len(kept), len(found)))


def count(work: Work, table: str, machine: Machine, period: Period | None, *, kind: str | None = None) -> int:
    """How many rows there are; read from the tool's own total where it says one."""
    tool = TOOLS[table]
    asked: dict[str, Any] = {"equipment_id": machine.id, **(period.arguments if period else {})}
    if kind is not None:
        asked["kind"] = kind
    page = work.call(tool, **asked, limit=page_size(work.desk, tool))
    total = total_of(page, default=-1)
    number = total if total >= 0 else rows(work, table, machine, period, kind=kind).total
    if number == 0:
        check_recorded(work, table, period)
    return number


def check_recorded(work: Work, table: str, period: Period | None) -> None:
    """Refuse a time in which nothing of the kind was recorded at all: that is not the same as none.

    Raises:
        Unanswerable: no machine has any.
    """
    page = work.call(TOOLS[table], **(period.arguments if period else {}), limit=1)
    if not rows_of(page) and total_of(page) == 0:
        when = f" {period.words}" if period else ""
        raise Unanswerable(f"No {WORDS[table]} were recorded at all{when}.")


def kinds_word(kind: str | None) -> str:
    """Work orders of a kind, in words."""
    return f"{kind} work orders" if kind else "work orders"


def listing(values: dict[str, int]) -> str:
    """Counts in a sentence."""
    return said(f"{name} {number} times" for name, number in values.items())


@dataclass(frozen=True)
class Table:
    """Which rows an analysis needs."""

    name: str
    period: Period | None = None
    kind: str | None = None


def analysed(work: Work, machine: Machine, analysis: Callable[..., Any], *needed: Table | Any) -> Any:
    """What an analysis says of a machine's rows.

    Rows that one page of a tool holds are read with it. For more of them the analysis is sent as a program to the code
    tool, where there is one: it reads the business objects where they are, for one tool call.

    Args:
        analysis: a function of :mod:`analyses`
        needed: its arguments in order: a :class:`Table` for rows, anything else as it is
    """
    tables = [one for one in needed if isinstance(one, Table)]
    if work.desk.has(CODE_TOOL) and not all(_on_one_page(work, machine, table) for table in tables):
        try:
            return run_analysis(work, machine, analysis, *needed)
        except (ToolError, CodeFailed):
            pass  # the tools say the same, page by page
    rows_or_values = [
        rows(work, one.name, machine, one.period, kind=one.kind).rows if isinstance(one, Table) else one
        for one in needed
    ]
    return analysis(*rows_or_values)


def run_analysis(work: Work, machine: Machine, analysis: Callable[..., Any], *needed: Table | Any) -> Any:
    """Run an analysis with the code tool.

    Raises:
        CodeFailed: the program failed, or said something else than its result.
    """
    answer = work.call(CODE_TOOL, code=program_of(machine, analysis, *needed))
    details = answer if isinstance(answer, Mapping) else {"stdout": str(answer)}
    if details.get("exit_code") not in (0, None) or details.get("truncated"):
        raise CodeFailed(str(details.get("stderr") or "The program's output was cut.")[-500:])
    try:
        return json.loads(str(details.get("stdout", "")).strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise CodeFailed("The program printed no result.") from error


def program_of(machine: Machine, analysis: Callable[..., Any], *needed: Table | Any) -> str:
    """The program that runs an analysis beside the tables: the analyses' own source, and one line that calls it."""
    arguments = [_loading(machine, one) if isinstance(one, Table) else repr(one) for one in needed]
    call = f"{analysis.__name__}({', '.join(arguments)})"
    return f"{inspect.getsource(analyses)}\n\nimport json\nprint(json.dumps({call}))\n"


def _loading(machine: Machine, table: Table) -> str:
    start, end = (table.period.start.isoformat(), table.period.end.isoformat()) if table.period else (None, None)
    return f"load({table.name!r}, {(machine.id, machine.name)!r}, {start!r}, {end!r}, {table.kind!r})"


def _on_one_page(work: Work, machine: Machine, table: Table) -> bool:
    """Whether the first page, which is remembered, holds all rows."""
    asked: dict[str, Any] = {"equipment_id": machine.id, **(table.period.arguments if table.period else {})}
    if table.kind is not None:
        asked["kind"] = table.kind
    size = page_size(work.desk, TOOLS[table.name])
    page = work.call(TOOLS[table.name], **asked, limit=size)
    return total_of(page, default=len(rows_of(page))) <= size


class CodeFailed(Exception):
    """A program in the code tool came to no result."""
