"""kill -9 of a worker: another finishes what it had begun, once, and nothing of it stays on the host."""

from __future__ import annotations

import signal

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
