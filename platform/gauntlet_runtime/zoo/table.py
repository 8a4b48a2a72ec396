"""The zoo's table: program, backend, the verdict it must get, the one it got, seconds."""

from __future__ import annotations

from collections.abc import Iterable

from gauntlet_runtime.zoo.keeper import Row


def table(rows: Iterable[Row]) -> str:
    """The rows as text, one line each, problems below their row; the last line counts."""
    rows = sorted(rows, key=lambda row: (row.program, row.backend))
    lines = [("program", "backend", "must be", "is", "", "seconds")]
    lines += [
        (row.program, row.backend, row.expected, row.got, "ok" if row.ok else "WRONG", f"{row.seconds:.1f}")
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    text = []
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        text.append("  ".join([*cells, line[5].rjust(7)]))
        if number:
            text += [f"    {problem}" for problem in rows[number - 1].problems]
    right = sum(row.ok for row in rows)
    programs = len({row.program for row in rows})
    text.append(f"{programs} programs: {right} of {len(rows)} verdicts as declared")
    return "\n".join(text)
