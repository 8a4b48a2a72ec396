"""Execution: how the recorded calls and the declared plan fit the reference's, and how they fail."""

from __future__ import annotations

import sys

from gauntlet_scoring.execution.scoring import Tally, execution_report, parts_of, score_execution
from gauntlet_scoring.program import Case, Measure, Measured, Results, run
from gauntlet_scoring.program_metadata import ProgramMetadata


def build(metadata: ProgramMetadata) -> Measure[Measured]:
    """The measure with the composite that the program's settings declare."""
    parts, tally = parts_of(metadata), Tally()

    def read(case: Case) -> Measured:
        measured, execution = score_execution(case, parts=parts)
        tally.add(execution)
        return measured

    def report(results: Results) -> dict[str, str]:
        return execution_report(tally, results)

    return Measure(
        read=read,
        finish=list,
        of_failed=tally.failed,
        report=report,
        facts=lambda: {"execution_parts": " ".join(parts)},
    )


if __name__ == "__main__":
    sys.exit(run(__file__, build))
