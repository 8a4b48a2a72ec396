"""What the gateway's recorder writes is what scoring reads: the two sides of the trajectory contract."""

from __future__ import annotations

import json
import math

from gauntlet_runtime.gateway.recorder import BLOB_BYTES, Recorder
from gauntlet_scoring.reading import read_episodes
from gauntlet_scoring.trajectory import Outcome, PlanStep


def test_a_recorded_episode_is_read_back(tmp_path):
    recorder = Recorder(tmp_path / "trajectories", episode="e", limit=1 << 20, on_full=lambda: None)
    recorder.scenario(scenario="opaque", trial=1, seed=7, text="how many?", show={}, tools=["rows", "broken"])
    recorder.plan([PlanStep(agent="A", instruction="get the rows")])
    recorder.note("thinking")
    large = {"rows": ["é" * BLOB_BYTES]}
    for tool, result in (
        ("rows", {"structuredContent": large, "content": [{"type": "text", "text": "many"}]}),
        ("broken", {"isError": True, "content": [{"type": "text", "text": "no"}]}),
    ):
        call = recorder.tool_call(tool, {"site": "MAIN\u2028"}, overlaps=False)
        recorder.tool_result(call, tool=tool, result=result, seconds=0.25)
    recorder.answer("33", {"count": 33, "odd": math.nan})
    recorder.end(Outcome.ANSWERED, failure=None, message="", seconds=1.5, state=None)
    (tmp_path / "trajectories/trajectory.jsonl").rename(tmp_path / "trajectories/e.jsonl")
    row = {"episode": "e", "scenario": "1", "trial": 1, "outcome": "answered", "trajectory": "trajectories/e.jsonl"}
    (tmp_path / "episodes.jsonl").write_text(json.dumps(row))

    [episode] = read_episodes(tmp_path)

    assert episode.answered
    assert [step.instruction for step in episode.plan] == ["get the rows"]
    assert [(each.call.tool, each.succeeded) for each in episode.calls] == [("rows", True), ("broken", False)]
    assert episode.calls[0].blob is not None  # it stands beside the record
    assert [each.content for each in episode.calls] == [large, "no"]
    assert episode.successful_calls == [("rows", {"site": "MAIN\u2028"})]
    assert episode.answer.data["count"] == 33
