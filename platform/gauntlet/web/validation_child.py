"""A process of its own that checks one ground truth and draws its graphs, so that no text can hold the site up.

Run as a file, with what to check as JSON on its input and the outcome as JSON on its output. It knows the scoring
library only, limits its own time and memory, and ends with whoever started it.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, Final

from gauntlet_scoring.step_graph import step_graph_svg
from gauntlet_scoring.validation import ASSETOPS, OPEN, Report, Strength, check_text

_MEMORY: Final = 1 << 30
_MOST_FINDINGS: Final = 300
_MOST_GRAPHS: Final = 40
_MOST_DRAWN: Final = 250_000  # bytes of all graphs
_MOST_STEPS: Final = 200  # of a graph that is drawn


def main() -> None:
    """Check what stands on the input."""
    asked = json.load(sys.stdin.buffer)
    seconds = asked["seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    vocabulary = OPEN if asked["vocabulary"] == "open" else ASSETOPS
    report = check_text(asked["text"], strength=Strength(asked["strength"]), vocabulary=vocabulary)
    said = json.dumps(_outcome(report), ensure_ascii=False)
    sys.stdout.buffer.write(said.encode(errors="replace"))  # half a surrogate pair can be read, and not be written


def _outcome(report: Report) -> dict[str, Any]:
    """What the page needs: the first findings, how many there are of each class and level, and the first graphs."""
    return {
        "scenarios": report.scenarios,
        "counts": {str(each): {str(k): n for k, n in levels.items()} for each, levels in report.counts().items()},
        "findings": [finding.as_dict() for finding in report.findings[:_MOST_FINDINGS]],
        "graphs": list(_graphs(report)),
        "usable": len(report.truths),
    }


def _graphs(report: Report) -> Iterator[dict[str, Any]]:
    drawn = 0
    for truth in report.truths[:_MOST_GRAPHS]:
        steps, links = len(truth.execution_steps), len(truth.execution_links)
        svg = step_graph_svg(truth) if max(steps, links) <= _MOST_STEPS else ""
        drawn += len(svg)
        if drawn > _MOST_DRAWN:
            return
        yield {"scenario": truth.key[:80], "text": truth.text[:200], "steps": steps, "svg": svg}


if __name__ == "__main__":
    main()
