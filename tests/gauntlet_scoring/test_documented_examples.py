"""The examples of docs/ground-truth.md: one for each pattern of the guide (G33), sound in both readings."""

from __future__ import annotations

from pathlib import Path

from gauntlet_scoring.conversion import to_multi_agent, to_multi_mcp
from gauntlet_scoring.step_graph import step_graph_svg
from gauntlet_scoring.validation import ASSETOPS, check_file, check_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
REPORT = check_file(DOCS / "examples" / "ground_truth.jsonl")


def test_every_pattern_has_an_example_without_a_finding() -> None:
    assert REPORT.findings == ()
    patterns = ["simple", "multi-step", "coordination", "recovery", "parallel", "conditional"]
    assert [truth.key for truth in REPORT.truths] == patterns


def test_they_are_sound_in_the_other_reading_and_come_back_the_same() -> None:
    for truth in REPORT.truths:
        there = to_multi_mcp(truth, ASSETOPS, qualified=True)
        assert check_text(there.model_dump_json()).findings == ()
        assert to_multi_agent(there, ASSETOPS) == truth


def test_the_picture_is_drawn_from_its_example() -> None:
    (parallel,) = [truth for truth in REPORT.truths if truth.key == "parallel"]
    assert (DOCS / "images" / "step-graph.svg").read_text() == step_graph_svg(parallel, standalone=True)
