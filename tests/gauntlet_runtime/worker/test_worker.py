"""A worker against a source in memory that keeps the fence: real sandboxes, real gateway."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from gauntlet_runtime.jobs import ScoreSpec, ScoringProgramSpec
from gauntlet_runtime.sandbox import is_alive, this_process
from gauntlet_runtime.worker import Worker
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome


def test_it_works_until_nothing_is_left(room, source, worker, tmp_path):
    source.add("run", room.spec("while (e := next_episode()): answer(e)", keys=["A", "B"]))
    program = room.artifacts.folder(
        {"metadata": "command: python score.py", "score.py": "open('/app/output/scores.json', 'w').write('{\"a\": 1}')"}
    )
    source.add(
        "score",
        ScoreSpec(
            programs=[ScoringProgramSpec(key="p", program=program)],
            reference=room.artifacts.folder({"r": ""}),
            episodes=[],
            image="gauntlet/agent",
        ),
    )
    assert worker.work_until_empty() == 2
    assert [e.outcome for e in source.finished["run"].episodes] == [Outcome.ANSWERED] * 2
    assert sorted(source.kept) == ["e0", "e1"]
    assert source.finished["score"].programs[0].scores == {"a": 1.0}
    assert source.given_back == {}
    assert source.reported == [
        ("run", "episode_started", "e0"),
        ("run", "episode_ended", "e0"),
        ("run", "episode_started", "e1"),
        ("run", "episode_ended", "e1"),
    ]
    assert list((tmp_path / "worker/jobs").glob("*/*")) == []


def test_what_cannot_be_tidied_up_after_a_job_keeps_nobody_from_the_next(room, source, worker, monkeypatch):
    def fail(self):
        raise PermissionError("a file of somebody else's")

    for name in ("first", "second"):
        source.add(name, room.spec("answer(next_episode())"))
    with monkeypatch.context() as damaged:
        damaged.setattr("gauntlet_runtime.folders.ArtifactFolders.release", fail)
        assert worker.work_until_empty() == 2
    assert set(source.finished) == {"first", "second"}


def test_a_job_that_was_lost_is_neither_finished_nor_given_back(room, source, worker):
    source.add("gone", room.spec("answer(next_episode())"))
    source.lost.add("gone")
    assert worker.work_until_empty() == 1
    assert (source.finished, source.given_back) == ({}, {})


def test_a_lease_that_is_lost_while_the_agent_runs_ends_it(room, source, worker):
    source.lease_seconds = 0.6
    source.lose_at_renewal = True
    source.add("gone", room.spec("import time\nnext_episode()\ntime.sleep(1000)"))
    assert worker.work_until_empty() == 1
    assert (source.finished, source.given_back) == ({}, {})
    assert room.sandbox.reap(lambda owner: False) == []


def test_the_lease_is_renewed_while_a_job_runs(room, source, worker):
    source.lease_seconds = 0.3
    source.add("long", room.spec("e = next_episode()\ntool(e, 'slow', seconds=1)\nanswer(e)"))
    worker.work_until_empty()
    assert source.renewed.is_set()
    assert "long" in source.finished


def test_a_fault_of_the_platform_gives_the_job_back_with_its_code(room, source, worker, capsys, caplog):
    broken = room.spec("pass  # whose bundle cannot be fetched")
    del room.artifacts.content[broken.agent.bundle.digest]
    source.add("broken", broken)
    image = room.spec("pass")
    source.add("image", image.model_copy(update={"agent": image.agent.model_copy(update={"image": "no/such"})}))
    source.add("fine", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 3
    assert source.given_back["broken"].code is FailureCode.INFRASTRUCTURE
    assert source.given_back["image"].code is FailureCode.IMAGE_UNAVAILABLE
    printed = capsys.readouterr().out + caplog.text  # the latter where the platform's settings have set up the log
    assert "job_failed_on_the_platform" in printed
    assert "token-broken" not in printed
    assert "KEY-0" not in printed
    assert "no/such" in source.given_back["image"].message
    assert list(source.finished) == ["fine"]


def test_a_result_that_cannot_be_stored_gives_the_job_back(room, source, worker, monkeypatch):
    monkeypatch.setattr(source, "finish", lambda claim, result: 1 / 0)
    source.add("unstorable", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 1
    failure = source.given_back["unstorable"]
    assert failure.code is FailureCode.INFRASTRUCTURE
    # It is read after the last attempt, so that it promises no other.
    assert failure.message == "The platform could not store this result (ZeroDivisionError)."


def test_a_job_that_no_folder_can_be_made_for_is_given_back_and_one_that_was_removed_is_made(
    room, source, worker, tmp_path
):
    jobs = tmp_path / "worker/jobs"
    shutil.rmtree(jobs)  # a cleaner of temporary files, say
    source.add("fine", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 1
    shutil.rmtree(jobs)
    jobs.touch()
    source.add("broken", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 1
    assert (list(source.finished), list(source.given_back)) == (["fine"], ["broken"])
    assert source.given_back["broken"].code is FailureCode.INFRASTRUCTURE


def test_progress_that_cannot_be_reported_does_not_cost_the_job(room, source, worker, monkeypatch):
    monkeypatch.setattr(source, "report", lambda claim, event, detail: 1 / 0)
    source.add("quiet", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 1
    assert (list(source.finished), source.given_back) == (["quiet"], {})


def test_a_new_worker_removes_what_a_dead_one_left(source, real_sandbox, gateways, tmp_path):
    jobs = tmp_path / "worker/jobs"
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    (jobs / f"{dead.stdout.strip()}-1/job-x").mkdir(parents=True)
    living = jobs / this_process().replace(":", "-") / "job-y"
    living.mkdir(parents=True)
    with Worker(source, real_sandbox, tmp_path / "worker", ["default"], "w1", gateways=gateways):
        assert [path.name for path in jobs.iterdir()] == [this_process().replace(":", "-")]
        assert living.exists()


def test_an_owner_is_a_process_and_not_just_its_number():
    assert is_alive(this_process())
    assert not is_alive(f"{os.getpid()}:1")


def test_the_scorings_that_follow_each_other_are_told_of_and_what_they_left_ready_is_dropped_in_the_end(
    room, source, worker, monkeypatch
):
    told = []
    monkeypatch.setattr(room.sandbox, "expect_another", lambda spec: told.append(spec.label))
    monkeypatch.setattr(room.sandbox, "drop_spares", lambda: told.append("dropped"))
    program = room.artifacts.folder(
        {"metadata": "command: python score.py", "score.py": "open('/app/output/scores.json', 'w').write('{\"a\": 1}')"}
    )
    for name in ("one", "two"):
        results = room.artifacts.folder({"said": name})
        programs = [ScoringProgramSpec(key="p", program=program)]
        spec = ScoreSpec(programs=programs, reference=None, results=results, episodes=[], image="gauntlet/agent")
        source.add(name, spec)
    source.add("run", room.spec("answer(next_episode())"))
    assert worker.work_until_empty() == 3
    assert sorted(source.finished) == ["one", "run", "two"]
    assert told == ["job-one-score-p", "job-two-score-p", "dropped", "dropped"]
    worker.close()
    assert told[4:] == ["dropped"]
