"""When a worker lets go of a job, or takes none: it is to end, the job hangs, the source is away, the host is sick."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time

import psutil
import pytest

from gauntlet_runtime import lease as leases
from gauntlet_runtime import worker as workers
from gauntlet_runtime.health import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Health
from gauntlet_runtime.jobs import Failure, RunResult, ScoreResult, SourceUnavailable
from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.worker import Worker
from gauntlet_scoring.failures import FailureCode

SLOW = "import time\nnext_episode()\ntime.sleep(1000)"
PLATFORM = Failure(code=FailureCode.INFRASTRUCTURE, message="The engine is dead.")
AGENT = RunResult(episodes=[], failure=Failure(code=FailureCode.AGENT_ERROR, message="It ended."))


@pytest.fixture
def make_worker(source, real_sandbox, gateways, tmp_path):
    made = []

    def make(**fields):
        made.append(Worker(source, real_sandbox, tmp_path / "worker", ["default"], "w1", gateways=gateways, **fields))
        return made[-1]

    yield make
    for worker in made:
        worker.close()


class Stop:
    """A worker's "be done by"."""

    def __init__(self):
        self.by = None

    def __call__(self):
        return self.by


def test_a_worker_that_is_to_end_hands_its_job_back_in_its_time_and_takes_no_other(room, source, make_worker):
    stop = Stop()
    source.report = lambda claim, event, detail: setattr(stop, "by", time.monotonic())  # its first episode is open
    source.add("slow", room.spec(SLOW))
    source.add("next", room.spec("answer(next_episode())"))
    assert make_worker(stop_by=stop).work_until_empty() == 1
    assert (source.handed_back, source.finished, source.given_back) == (["slow"], {}, {})
    assert [claim.job for claim in source.waiting] == ["next"]
    assert room.sandbox.reap(lambda owner: False) == []


def test_a_job_that_ends_before_the_worker_has_to_is_finished(room, source, make_worker):
    stop = Stop()
    source.report = lambda claim, event, detail: setattr(stop, "by", time.monotonic() + 60)
    source.add("quick", room.spec("answer(next_episode())"))
    assert make_worker(stop_by=stop).work_until_empty() == 1
    assert (source.handed_back, list(source.finished)) == ([], ["quick"])


def test_a_sandbox_that_is_ended_together_with_its_worker_is_nobodys_fault(room, source, make_worker):
    """What ends a service (systemd, by default) sends its signal to every process of it."""
    stop = Stop()

    def end_all(claim, event, detail):
        stop.by = time.monotonic() + 60
        for child in psutil.Process().children():
            if child.name() == "bwrap":
                child.terminate()

    source.report = end_all
    source.add("slow", room.spec(SLOW))
    worker = make_worker(stop_by=stop)
    assert worker.work_until_empty() == 1
    assert (source.handed_back, source.finished, source.given_back) == (["slow"], {}, {})


def test_a_job_that_takes_longer_than_all_its_limits_is_stopped_and_given_back(room, source, make_worker, monkeypatch):
    monkeypatch.setattr(leases, "longest_seconds", lambda claim: 1.0)
    source.add("hangs", room.spec(SLOW))
    assert make_worker().work_until_empty() == 1
    assert source.given_back["hangs"].code is FailureCode.INFRASTRUCTURE
    assert "longer than all its limits" in source.given_back["hangs"].message


def test_the_longest_time_of_a_job_is_more_than_its_limits_add_up_to(room, source):
    source.add("run", room.spec("pass", keys=["A", "B", "C"]))
    (claim,) = source.waiting
    limits = claim.spec.agent_limits.seconds, 3 * claim.spec.episode_limits.episode_seconds
    assert leases.longest_seconds(claim) > sum(limits) > 0


def test_a_main_thread_that_hangs_loses_its_lease_and_is_told_on(source, room, monkeypatch):
    """The thread that renews lives on when the one that works does not: it must not hold the job for ever."""
    monkeypatch.setattr(leases, "HANG_SECONDS", 0.1)
    source.lease_seconds = 0.3
    source.add("hangs", room.spec("pass"))
    hung = threading.Event()
    with leases.Lease(source, source.waiting[0], hung=hung.set, longest=0.5) as lease:
        assert hung.wait(60)
        assert (lease.over.is_set(), lease.ending) == (True, leases.Ending.OVERDUE)
        source.renewed.clear()
        assert not source.renewed.wait(1)  # three leases long


def test_a_result_waits_for_a_source_that_is_away(room, source, make_worker, monkeypatch):
    monkeypatch.setattr(workers, "_FIRST_WAIT", 0.01)
    finish, tries = source.finish, []

    def away(claim, result):
        tries.append(claim.job)
        if len(tries) < 4:
            raise SourceUnavailable("The database restarts.")
        finish(claim, result)

    monkeypatch.setattr(source, "finish", away)
    source.add("run", room.spec("answer(next_episode())"))
    assert make_worker().work_until_empty() == 1
    assert (len(tries), list(source.finished), source.given_back) == (4, ["run"], {})
    assert source.kept  # the trajectory was still there


def test_a_source_that_stays_away_gets_the_job_back(room, source, make_worker, monkeypatch):
    monkeypatch.setattr(workers, "FINISH_SECONDS", 0.1)

    def away(claim, result):
        raise SourceUnavailable("The database is gone.")

    monkeypatch.setattr(source, "finish", away)
    source.add("run", room.spec("answer(next_episode())"))
    assert make_worker().work_until_empty() == 1
    assert source.given_back["run"].code is FailureCode.INFRASTRUCTURE


def test_a_worker_whose_last_jobs_all_failed_by_the_platforms_fault_pauses_and_says_so(
    room, source, make_worker, capsys, caplog
):
    for name in ("one", "two", "three"):
        broken = room.spec(f"pass  # {name}: its bundle cannot be fetched")
        del room.artifacts.content[broken.agent.bundle.digest]
        source.add(name, broken)
    source.add("fine", room.spec("answer(next_episode())"))
    worker = make_worker()
    assert worker.work_until_empty() == 3
    assert sorted(source.given_back) == ["one", "three", "two"]
    assert [claim.job for claim in source.waiting] == ["fine"]
    unfit = worker.health.unfit()
    assert (unfit.state, "platform's fault" in unfit.reason) == ("paused", True)
    assert worker.work_until_empty() == 0
    assert (capsys.readouterr().out + caplog.text).count("worker_takes_no_jobs") == 1


def test_pauses_grow_and_one_good_job_ends_them(tmp_path):
    now = [0.0]
    health = Health(tmp_path, clock=lambda: now[0])
    for evaluation in "ab":
        health.note(PLATFORM, evaluation=evaluation)
    health.note(AGENT, evaluation="c")  # not the host's fault: it works
    for evaluation in "de":
        health.note(PLATFORM, evaluation=evaluation)
    assert health.unfit() is None
    pauses = []
    for evaluation in "fghijklm":
        health.note(PLATFORM, evaluation=evaluation)
        begun = now[0]
        while health.unfit() is not None:
            now[0] += PAUSE_SECONDS
        pauses.append(now[0] - begun)
    assert pauses[:3] == [PAUSE_SECONDS, 2 * PAUSE_SECONDS, 4 * PAUSE_SECONDS]
    assert pauses[-1] == LONGEST_PAUSE_SECONDS
    health.note(AGENT, evaluation="n")
    health.note(PLATFORM, evaluation="o")
    assert health.unfit() is None


def test_neither_one_bad_evaluation_nor_a_missing_image_nor_a_judge_that_is_away_makes_a_worker_pause(tmp_path):
    health = Health(tmp_path)
    for _ in range(10):
        health.note(PLATFORM, evaluation="poison")
    for evaluation in "abcdef":
        health.note(Failure(code=FailureCode.IMAGE_UNAVAILABLE, message="There is none."), evaluation=evaluation)
        health.note(ScoreResult(programs=[], failure=PLATFORM), evaluation=evaluation)
    assert health.unfit() is None


def test_a_worker_with_little_disk_left_takes_no_job_and_says_so(room, source, make_worker, tmp_path, capsys, caplog):
    source.add("fine", room.spec("answer(next_episode())"))
    worker = make_worker(min_free_bytes=1 << 60)
    assert worker.work_until_empty() == 0
    assert [claim.job for claim in source.waiting] == ["fine"]
    unfit = worker.health.unfit()
    assert (unfit.state, "MiB are free" in unfit.reason) == ("draining", True)
    assert "worker_takes_no_jobs" in capsys.readouterr().out + caplog.text
    assert make_worker(min_free_bytes=shutil.disk_usage(tmp_path).free // 2).work_until_empty() == 1


def test_a_worker_short_of_disk_drops_what_it_has_only_for_speed(room, source, make_worker, tmp_path):
    source.add("fine", room.spec("answer(next_episode())"))
    make_worker().work_until_empty()
    kept = tmp_path / "worker/artifacts"
    assert [path for path in kept.iterdir() if path.is_dir()]
    make_worker(min_free_bytes=1 << 60).work_until_empty()
    assert [path for path in kept.iterdir() if path.is_dir()] == []


def test_the_reaper_takes_what_the_dead_of_this_host_left_and_nothing_of_another_hosts(make_worker, tmp_path):
    worker = make_worker()
    jobs = tmp_path / "worker/jobs"
    pid, started, host = this_process().split(":")
    dead, foreign = jobs / f"{pid}-{int(started) - 1}-{host}", jobs / f"{pid}-1-another-host"
    for folder in (dead, foreign):
        (folder / "job-x").mkdir(parents=True)
    worker.reap()
    assert (dead.exists(), foreign.exists()) == (False, True)
    assert host == socket.gethostname()
    assert (jobs / f"{os.getpid()}-{started}-{host}").exists()
