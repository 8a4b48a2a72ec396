"""Scoring programs in real sandboxes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from gauntlet_runtime import programs
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.jobs import LeaseLost, SandboxLimits, ScoredEpisode, ScoreSpec, ScoringProgramSpec
from gauntlet_runtime.programs import run_score
from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.sandbox.interface import Enforcement
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

WRITES = """
import json, os, sys
from pathlib import Path
out = Path("/app/output")
"""
LISTS = (
    WRITES
    + """
def tree(root):
    return sorted(str(p.relative_to(root)) for p in Path(root).rglob("*"))
rows = [json.loads(line) for line in Path("/app/input/res/episodes.jsonl").read_text().splitlines()]
seen = {"ref": tree("/app/input/ref"), "res": tree("/app/input/res"), "cwd": os.getcwd(), "argv": sys.argv[1:]}
print(json.dumps(seen))
Path("note.txt").write_text("the program's folder is its own")
for forbidden in ("/app/input/ref/x", "/app/input/res/x"):
    try:
        Path(forbidden).write_text("x")
    except OSError:
        pass
    else:
        sys.exit(9)
(out / "scores.json").write_text(json.dumps({"answered": sum(r["outcome"] == "answered" for r in rows) / len(rows)}))
(out / "detailed_results.html").write_text("<b>report</b>")
lines = [{"scenario": r["scenario"], "trial": r["trial"], "scores": {"a": 1}} for r in rows]
(out / "scenarios.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
(out / "provenance.json").write_text(json.dumps({"judge": "none"}))
"""
)
FAILED = ScoredEpisode(episode="e", key="KEY", trial=1, outcome=Outcome.FAILED, failure=FailureCode.AGENT_ERROR)


class Scorer:
    def __init__(self, room):
        self.room = room
        self.cancelled = threading.Event()

    def program(self, key, script, *, command="python $program/score.py $input $output", name="metadata.yaml"):
        files = {name: f"command: {command}\n", "score.py": script}
        return ScoringProgramSpec(key=key, program=self.room.artifacts.folder(files))

    def run(self, *programs, episodes=(), **given):
        given = {"reference": self.room.artifacts.folder({"ground_truth.jsonl": '{"id": 1}\n'}), **given}
        spec = ScoreSpec(
            programs=list(programs),
            episodes=list(episodes),
            image="gauntlet/agent",
            **given,
        )
        folder = Path(self.room.folder) / f"score-{len(list(Path(self.room.folder).iterdir()))}"
        folder.mkdir()
        return run_score(
            spec,
            sandbox=self.room.sandbox,
            folder=folder,
            files=self.room.files,
            owner=this_process(),
            label="test-score",
            cancelled=self.cancelled,
        )


@pytest.fixture
def scorer(room):
    return Scorer(room)


def test_programs_read_the_recorded_episodes_and_give_scores(room, scorer):
    outcome = room.agent("e = next_episode()\ntool(e, 'large', bytes=100_000)\nanswer(e, '42')", keys=["KEY-0"])
    recorded = room.artifacts.keep(outcome.episodes[0].trajectory.read_bytes())
    episodes = [
        ScoredEpisode(episode="e0", key="KEY-0", trial=1, outcome=Outcome.ANSWERED, seconds=1.5, trajectory=recorded),
        ScoredEpisode(episode="e1", key="KEY-1", trial=1, outcome=Outcome.FAILED, failure=FailureCode.AGENT_ERROR),
    ]
    result = scorer.run(
        scorer.program("first", LISTS), scorer.program("second", LISTS, name="metadata"), episodes=episodes
    )
    assert result.failure is None
    assert [(p.key, p.scores) for p in result.programs] == [("first", {"answered": 0.5}), ("second", {"answered": 0.5})]
    program = result.programs[0]
    assert program.detailed_results == "<b>report</b>"
    assert [row["scenario"] for row in program.scenarios] == ["KEY-0", "KEY-1"]
    assert program.provenance["judge"] == "none"
    assert program.provenance["image.digest"].startswith("sha256:")
    assert "limits.best_effort" not in program.provenance
    seen = json.loads(next(line for line in program.log.splitlines() if line.startswith("{")))
    assert (seen["ref"], seen["cwd"]) == (["ground_truth.jsonl"], "/app/program")
    assert seen["argv"] == ["/app/input", "/app/output"]
    blobs = [name for name in seen["res"] if name.startswith("trajectories/blobs/")]
    assert sorted(set(seen["res"]) - set(blobs)) == [
        "episodes.jsonl",
        "trajectories",
        "trajectories/blobs",
        "trajectories/e0.jsonl",
    ]
    assert len(blobs) == 1
    assert result.scorer_seconds > 0


def test_what_a_host_does_not_enforce_is_named_in_what_made_the_scores(room, scorer, monkeypatch):
    weaker = {**room.sandbox.enforcement(), "memory": Enforcement.BEST_EFFORT, "uid": Enforcement.BEST_EFFORT}
    monkeypatch.setattr(room.sandbox, "enforcement", lambda: weaker)
    (program,) = scorer.run(scorer.program("first", LISTS), episodes=[FAILED]).programs
    assert program.provenance["limits.best_effort"] == "memory, uid"


def test_everything_is_fetched_by_the_jobs_own_thread_which_lets_go_of_its_connections(room, scorer, tmp_path):
    fetching = set()

    def fetch(artifact, into):
        fetching.add(threading.current_thread())
        room.artifacts.fetch(artifact, into)

    room.files = ArtifactFolders(tmp_path / "anew", fetch=fetch)
    programs = [scorer.program("first", LISTS), scorer.program("second", LISTS, name="metadata")]
    assert scorer.run(*programs, episodes=[FAILED]).failure is None
    assert fetching == {threading.current_thread()}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys; print('the reason'); sys.exit(4)", "ended with exit code 4"),
        (WRITES + "(out / 'scores.json').write_text('{\"a\": NaN}')", "a is not a finite number"),
        (WRITES + "(out / 'scores.json').write_text('{\"a\": \"x\"}')", "a is text, not a number"),
        ("print('nothing')", "wrote neither scores.json nor scores.txt"),
        (WRITES + "os.symlink('/app/input/ref/ground_truth.jsonl', out / 'scores.json')", "wrote neither"),
    ],
)
def test_a_program_that_fails_is_a_scoring_error_with_its_own_output_in_the_log(scorer, script, said):
    result = scorer.run(scorer.program("p", script))
    assert result.failure.code is FailureCode.SCORING_ERROR
    assert said in result.failure.message
    assert result.programs == []
    assert "the reason" not in result.failure.message
    assert ("the reason" in result.log) == ("the reason" in script)


@pytest.mark.parametrize(
    ("script", "limits", "said"),
    [
        ("import time; time.sleep(1000)", SandboxLimits(seconds=0.5), "seconds; 0 are allowed"),
        ("x = bytearray(400 << 20)", SandboxLimits(memory=64 << 20), "64 MiB of memory"),
        ("print('x' * (1 << 20)); import time; time.sleep(1000)", SandboxLimits(log=64 << 10), "64 KiB"),
        (WRITES + "(out / 'big').write_bytes(bytes(9 << 20))", SandboxLimits(output=4 << 20), "4 MiB of"),
    ],
)
def test_a_limit_that_ends_a_program_is_named(scorer, script, limits, said):
    result = scorer.run(scorer.program("p", script), limits=limits)
    assert result.failure.code is FailureCode.SCORING_ERROR
    assert said in result.failure.message


def test_results_that_no_source_takes_are_the_programs_fault(scorer, monkeypatch):
    """Whatever makes them so large: each file is within its own bound."""
    script = WRITES + "(out / 'scores.json').write_text('{\"a\": 1}'); (out / 'x.html').write_text('x' * 3000)"
    assert scorer.run(scorer.program("p", script)).failure is None
    monkeypatch.setattr(programs, "RESULT_BYTES", 5000)
    assert scorer.run(scorer.program("p", script)).failure is None
    result = scorer.run(scorer.program("p", script), scorer.program("q", script))
    assert (result.programs, result.failure.code) == ([], FailureCode.SCORING_ERROR)
    assert "Write less detail into scenarios.jsonl, or a smaller report." in result.failure.message


def test_a_program_without_metadata_is_a_scoring_error(room, scorer):
    program = ScoringProgramSpec(key="p", program=room.artifacts.folder({"score.py": "pass"}))
    result = scorer.run(program)
    assert (result.failure.code, result.programs) == (FailureCode.SCORING_ERROR, [])


def test_one_failing_program_does_not_hide_what_the_other_gave(scorer):
    good = scorer.program("good", WRITES + "(out / 'scores.txt').write_text('a: 1')")
    result = scorer.run(scorer.program("bad", "raise SystemExit(1)"), good)
    assert result.failure.code is FailureCode.SCORING_ERROR
    assert [program.key for program in result.programs] == ["good"]


def test_a_cancelled_score_job_ends_at_once(scorer):
    scorer.cancelled.set()
    with pytest.raises(LeaseLost):
        scorer.run(scorer.program("p", "import time; time.sleep(1000)"))
    assert scorer.room.sandbox.reap(lambda owner: False) == []


RESULTS = (
    WRITES
    + """
res = Path("/app/input/res")
seen = {str(p.relative_to(res)): p.read_text() for p in res.rglob("*") if p.is_file()}
assert seen == {"top/said.txt": "1 2 3"}, seen
(res / "top" / "said.txt").write_text("changed")
(res / "new.txt").write_text("x")
(out / "scores.json").write_text(json.dumps({"reference": Path("/app/input/ref").exists() and 1 or 0}))
"""
)


def test_submitted_results_are_a_private_copy_in_the_place_of_episodes(scorer):
    results = scorer.room.artifacts.folder({"top/said.txt": "1 2 3"})
    for _ in range(2):  # the second finds what was sent, and not what the first made of it
        outcome = scorer.run(scorer.program("own", RESULTS), results=results)
        assert (outcome.failure, outcome.programs[0].scores) == (None, {"reference": 1.0})


def test_results_may_be_scored_without_a_reference(scorer):
    results = scorer.room.artifacts.folder({"top/said.txt": "1 2 3"})
    outcome = scorer.run(scorer.program("own", RESULTS), results=results, reference=None)
    assert (outcome.failure, outcome.programs[0].scores) == (None, {"reference": 0.0})
    assert "reference.digest" not in outcome.programs[0].provenance
