"""The zoo's table: program, backend, the verdict it must get, the one it got, seconds."""

from __future__ import annotations

from collections.abc import Iterable

from gauntlet_runtime.zoo.keeper import Row


def table(rows: Iterable[Row]) -> str:
    """The rows as text, one line each, problems below their row; the last line counts."""
    rows = sorted(rows, key=lambda row: (row.program, row.backend))
    lines = [("program", "backend", "must be", "is", "", "seconds")]
    lines += [(row.program, row.backend, row.expected, row.got, _mark(row), f"{row.seconds:.1f}") for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    text = []
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        text.append("  ".join([*cells, line[5].rjust(7)]))
        if number:
            text += [f"    {problem}" for problem in rows[number - 1].problems]
    return "\n".join([*text, _count(rows)])


def _mark(row: Row) -> str:
    if row.lacking:
        return f"needs {', '.join(row.lacking)}"
    return "ok" if row.ok else "WRONG"


def _count(rows: list[Row]) -> str:
    programs, ran = len({row.program for row in rows}), [row for row in rows if not row.lacking]
    text = f"{programs} programs: {sum(row.ok for row in ran)} of {len(ran)} verdicts as declared"
    return f"{text}, {len(rows) - len(ran)} not run" if len(ran) < len(rows) else text
