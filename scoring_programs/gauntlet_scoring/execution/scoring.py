"""One episode's execution scores with their reasons, and what is counted over all episodes of an evaluation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from gauntlet_scoring.composites import check_parts, mean_of_parts
from gauntlet_scoring.execution.actions import tool_of
from gauntlet_scoring.execution.answer_format import format_compliance
from gauntlet_scoring.execution.measures import Execution, compare_execution, execution_scores, node_overlap
from gauntlet_scoring.execution.pattern_names import TITLES, FailurePattern
from gauntlet_scoring.execution.patterns import as_checks, failure_patterns
from gauntlet_scoring.execution.plans import compare_plan
from gauntlet_scoring.execution.tool_errors import ToolUse, added, tool_uses
from gauntlet_scoring.html_report import REPORT_FILE, page, paragraph, table
from gauntlet_scoring.program import Case, Measured, Results
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.reading import read_ground_truth

SCORE: Final = "score"
DEFAULT_PARTS: Final = ("action_sequence", "node_f1", "edge_f1", "completeness", "argument_accuracy")
"""Of which the execution score is the mean where a program's setting ``parts`` says no other."""

PATTERNS_FILE: Final = "failure_patterns.json"


def parts_of(metadata: ProgramMetadata) -> tuple[str, ...]:
    """The parts that the program's settings declare for its composite ``score``, names with spaces between.

    Raises:
        ScoringInputError: a part is unknown, or on another scale than the composite.
    """
    parts = tuple(metadata.settings.get("parts", " ".join(DEFAULT_PARTS)).split())
    check_parts(SCORE, parts, metadata)
    return parts


@cache
def agents_of_tools(reference: Path) -> dict[str, frozenset[str]]:
    """The agents with whom the ground truth of a reference folder names each tool."""
    found: dict[str, set[str]] = {}
    for row in read_ground_truth(reference).values():
        for step in row.truth.execution_steps:
            found.setdefault(tool_of(step.action), set()).add(step.agent)
    return {tool: frozenset(agents) for tool, agents in found.items()}


def score_execution(case: Case, *, parts: Sequence[str] = DEFAULT_PARTS) -> tuple[Measured, Execution]:
    """Every key of the execution program for one answered episode, and what they were computed from."""
    execution = compare_execution(case.reference.truth, case.episode)
    agents = agents_of_tools(case.reference.path.parent)
    scores = execution_scores(execution, agents=agents)
    plan = compare_plan(case.reference.truth.planning_steps, case.episode.plan)
    scores |= plan.scores()
    scores["format_compliance"] = format_compliance(case.reference.truth, case.episode)
    scores[SCORE] = mean_of_parts(parts, scores)
    detail = as_checks(failure_patterns(execution)) | _facts(execution)
    detail |= {
        "plan_steps": f"{len(case.episode.plan)}, of {len(case.reference.truth.planning_steps)} in the reference"
    }
    return Measured(scores=scores, detail=detail), execution


def _facts(execution: Execution) -> dict[str, Any]:
    nodes, edges = node_overlap(execution), execution.overlap
    wrong = [each for each in execution.arguments if not each.right]
    return {
        "steps_done": f"{len(execution.matched)} of {len(execution.reference.steps)}",
        "actions": f"{len(execution.actions)}, of {len(execution.episode.calls)} recorded calls",
        "node_precision_and_recall": f"{nodes.precision:.3f} and {nodes.recall:.3f}",
        "edge_precision_and_recall": f"{edges.precision:.3f} and {edges.recall:.3f}",
        "arguments_right": f"{len(execution.arguments) - len(wrong)} of {len(execution.arguments)}",
        "tool_errors": _errors(tool_uses(execution.episode.calls)),
    }


def _errors(uses: Sequence[ToolUse]) -> str:
    failed = [f"{use.tool} ({use.kind}) {use.failed} of {use.calls}" for use in uses if use.failed]
    return ", ".join(failed) or "none"


@dataclass
class Tally:
    """What is counted over the episodes of an evaluation, as they are read."""

    uses: list[ToolUse] = field(default_factory=list)
    patterns: Counter[FailurePattern] = field(default_factory=Counter)  # episodes that show it
    clean: int = 0  # episodes that show none
    episodes: int = 0

    def add(self, execution: Execution) -> dict[FailurePattern, list[str]]:
        """Count an episode; gives its patterns."""
        patterns = failure_patterns(execution)
        shown = [pattern for pattern, found in patterns.items() if found]
        self.patterns.update(shown)
        self.clean += not shown
        self.episodes += 1
        self.uses = added([*self.uses, *tool_uses(execution.episode.calls)])
        return patterns

    def failed(self, case: Case) -> dict[str, Any]:
        """Count an episode that the participant's fault ended; gives its detail."""
        execution = compare_execution(case.reference.truth, case.episode)
        return as_checks(self.add(execution)) | _facts(execution)

    def tables(self) -> list[str]:
        """The failure patterns and the tools as sections of a report."""
        share = [(TITLES[each], self.patterns[each], self.patterns[each] / max(1, self.episodes)) for each in TITLES]
        tools = [
            (
                use.tool,
                str(use.kind),
                use.calls,
                use.errors,
                use.unanswered,
                use.failed / use.calls,
                use.seconds / use.calls,
            )
            for use in self.uses
        ]
        kinds = [
            (f"{kind} steps", calls, failed, failed / calls if calls else 0.0)
            for kind in ("tool", "code")
            for calls, failed in [_sums(self.uses, kind)]
        ]
        told = f"Of {self.episodes} episodes {self.clean} show none. An episode may show several."
        return [
            table("Failure patterns", ("Pattern", "Episodes", "Share"), share, caption=told),
            table("Tool-oriented and code-oriented steps", ("Kind", "Calls", "Failed", "Share"), kinds),
            table(
                "Tools, most failures first",
                ("Tool", "Kind", "Calls", "Errors", "Unanswered", "Failed", "Seconds a call"),
                tools,
            ),
        ]

    def as_json(self) -> str:
        """The same for other programs: ``failure_patterns.json``."""
        content = {
            "episodes": self.episodes,
            "without_any": self.clean,
            "patterns": {str(pattern): self.patterns[pattern] for pattern in FailurePattern},
            "tools": [asdict(use) for use in self.uses],
        }
        return json.dumps(content, indent=2) + "\n"


def _sums(uses: Sequence[ToolUse], kind: str) -> tuple[int, int]:
    return sum(use.calls for use in uses if use.kind == kind), sum(use.failed for use in uses if use.kind == kind)


def execution_report(tally: Tally, results: Results) -> dict[str, str]:
    """The files of the execution program's report."""
    scores: list[tuple[str, float]] = list(results.scores.items())
    scenarios: list[list[str | float]] = [
        [f"{row.scenario}, trial {row.trial}", *(row.scores[key] for key in (SCORE, *DEFAULT_PARTS))]
        for row in results.rows
    ]
    sections = [
        paragraph(f"{results.episodes} episodes, {sum(results.failures.values())} of them without an answer."),
        table("Scores", ("Score", "Mean"), scores),
        *tally.tables(),
        table("By scenario", ("Scenario", "Score", *(part.replace("_", " ") for part in DEFAULT_PARTS)), scenarios),
    ]
    return {REPORT_FILE: page("Execution", sections), PATTERNS_FILE: tally.as_json()}
