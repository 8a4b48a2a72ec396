"""kill -9 of a worker: another finishes what it had begun, once, and nothing of it stays on the host."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.chaos


def sandboxes_of(platform, job):
    """The sandboxes that run for a job."""
    runs = platform.installation.var / "sandbox" / "runs"
    return [path for path in runs.glob(f"job-{job.pk}*") if path.is_dir()]


def kill_at_work(platform, job, *, remains, wait_until):
    """Kill the only worker while a sandbox of its runs, and see that no process of it lives on."""
    wait_until(lambda: sandboxes_of(platform, job))
    session = platform.processes.running["worker0"].pid
    platform.kill("worker0")
    wait_until(lambda: not platform.members(session))
    assert remains.found(), "the test killed nothing that had begun"


def test_a_run_that_was_killed_half_way_is_finished_by_another_worker(
    platform, competition, slow_agent, assert_finished_once, remains, wait_until
):
    platform.configure(LEASE_SECONDS="6")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=2)
    kill_at_work(platform, job, remains=remains, wait_until=wait_until)

    platform.processes.start_worker("worker1", concurrency=1)
    assert_finished_once(submission)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    wait_until(lambda: not remains.found())


def test_a_worker_that_lost_only_its_child_goes_on(
    platform, competition, slow_agent, assert_finished_once, remains, wait_until, kill_now
):
    """The kernel's choice when memory is short: the child that runs the job."""
    platform.configure(LEASE_SECONDS="6")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=2)
    kill_now(int(job.worker.rpartition(":")[2]))

    assert_finished_once(submission)
    assert job.evaluation.jobs.get(pk=job.pk).attempt == 2
    wait_until(lambda: not remains.found())


def test_a_worker_that_is_told_to_end_hands_its_job_back_and_another_goes_on(
    platform, competition, slow_agent, assert_finished_once, remains, wait_until
):
    """It neither empties the queue first nor finishes a long job; and the attempt is not used."""
    from gauntlet.evaluation.models import Worker

    platform.configure(LEASE_SECONDS="60")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=1)
    process = platform.processes.running.pop("worker0")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert platform.evaluation(submission).state == "running"
    assert remains.found() == []
    assert Worker.objects.get(name=job.worker).state == "stopped"

    platform.processes.start_worker("worker1", concurrency=1)
    assert_finished_once(submission)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 1)


def test_a_rerun_whose_worker_was_killed_takes_the_first_results_place_once(
    platform, competition, workshop, remains, wait_until
):
    """It is killed while its scorer runs; until it is done again the first result stays in force."""
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.leaderboards.models import ColumnValue, Entry
    from gauntlet.submissions.models import Submission

    platform.configure(LEASE_SECONDS="6")
    platform.start()
    quick = workshop.agent('return "done", {"value": episode.call("look_up")["value"]}')
    name = platform.person("ada").submit(competition, 1, quick)
    assert platform.wait_for_end(name).state == "finished"

    def in_force():
        return list(Evaluation.objects.filter(submission=name, in_force=True).values_list("number", "state"))

    start_evaluations(Submission.objects.get(pk=name))
    job = platform.wait_for_job(name, kind="score")
    kill_at_work(platform, job, remains=remains, wait_until=wait_until)
    assert in_force() == [(1, "finished")]
    platform.processes.start_worker("worker1", concurrency=1)
    assert platform.wait_for_end(name).number == 2
    assert in_force() == [(2, "finished")]
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    assert Entry.objects.filter(submission=name).count() == 1
    assert ColumnValue.objects.filter(submission=name).count() == 1
    wait_until(lambda: not remains.found())


def test_children_end_with_a_main_process_that_was_killed(platform, wait_until, kill_now):
    platform.start()
    session = platform.processes.running["worker0"].pid
    wait_until(lambda: len(platform.members(session)) > 1)
    process = platform.processes.running.pop("worker0")
    kill_now(process.pid)
    process.wait()
    wait_until(lambda: not platform.members(session))


def test_a_check_that_was_killed_is_done_again(platform, competition, workshop, wait_until):
    from gauntlet.submissions.models import Submission

    platform.start()
    bundle = {"agent.yaml": "name: Agent\ncommand: [python, agent.py]\n", "agent.py": "import gauntlet_agent\n"}
    large = {f"data/{number}.txt": str(number) * 50 for number in range(15_000)}
    submission = platform.person("ada").submit(competition, 0, workshop.zip({**bundle, **large}))
    wait_until(Submission.objects.filter(pk=submission, state="checking").first)
    platform.kill("worker0")
    assert Submission.objects.get(pk=submission).state == "checking"

    platform.processes.start_worker("worker1", concurrency=1)
    wait_until(Submission.objects.filter(pk=submission, state="accepted").first)
    assert Submission.objects.get(pk=submission).check_attempts == 2
    assert platform.wait_for_end(submission).failure_code == "agent_error"
    checks = platform.installation.var / "uploads"
    wait_until(lambda: not list(checks.glob("check-*")))


@pytest.fixture
def idle_worker(in_database: None, settings: Any) -> Iterator[None]:
    """A worker in the test's own process, on the platform's host, which was there before anything died."""
    from gauntlet.evaluation import work

    settings.SANDBOX = "bubblewrap"
    work.sandbox.cache_clear()
    work.worker.cache_clear()
    work.worker(("default",))
    yield
    work.close()
    work._made.clear()
    work.sandbox.cache_clear()
    work.worker.cache_clear()


def test_what_a_dead_worker_left_is_removed_by_one_that_lives_on_its_timer(
    platform, competition, slow_agent, idle_worker, remains, wait_until
):
    """No worker starts meanwhile, and none takes the job."""
    from gauntlet.evaluation.heartbeat import Heartbeat

    platform.configure(LEASE_SECONDS="60")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=1)
    kill_at_work(platform, job, remains=remains, wait_until=wait_until)

    heartbeat = Heartbeat(["default"], seconds=0.1, reap_seconds=0.2).start()
    wait_until(lambda: not remains.found())
    heartbeat.stop()
    job.refresh_from_db()
    assert job.attempt == 1


def test_a_worker_without_room_on_its_disk_says_so_and_another_does_the_work(
    platform, competition, workshop, assert_finished_once, wait_until, capsys
):
    from django.core.management import call_command

    from gauntlet.evaluation.models import Job, Worker
    from gauntlet.submissions.models import Submission

    plain = platform.processes.environment
    platform.configure(MIN_FREE_BYTES=str(1 << 60))
    platform.start()
    full = wait_until(Worker.objects.filter(state="draining").first)
    quick = workshop.agent('return "done", {"value": episode.call("look_up")["value"]}')
    submission = platform.person("ada").submit(competition, 0, quick)
    wait_until(lambda: "worker_takes_no_jobs" in platform.log("worker0"))
    assert "MIN_FREE_BYTES" in full.reason
    call_command("workers")
    assert "draining" in capsys.readouterr().out
    assert Submission.objects.get(pk=submission).state == "received"

    platform.processes.environment = plain
    platform.processes.start_worker("worker1", concurrency=1)
    assert_finished_once(submission)
    assert full.name not in Job.objects.filter(evaluation__submission=submission).values_list("worker", flat=True)
