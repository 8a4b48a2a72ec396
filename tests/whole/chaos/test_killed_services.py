"""kill -9 of everything else: database, broker, beat, web, gateway, environment. Work goes on or begins again, once."""

from __future__ import annotations

import contextlib

import psutil
import pytest
from doomed_plans import attempts, submit, work_off
from leftovers import finished_once

from gauntlet_runtime import services

pytestmark = pytest.mark.chaos


def test_a_killed_database_comes_back_and_the_submission_is_finished_once(
    platform, competition, slow_agent, assert_finished_once, wait_until, kill_now
):
    platform.start()
    ada = platform.person("ada")
    submission = ada.submit(competition, 0, slow_agent)
    platform.wait_for_job(submission, done=2)
    var = platform.installation.var
    before = services.status(var)
    kill_now(before.postgres)

    wait_until(lambda: services.status(var).postgres not in (None, before.postgres))
    assert_finished_once(submission)
    wait_until(lambda: ada.api.get(f"/api/v1/submissions/{submission}").status_code == 200)
    platform.processes.check()


def test_a_result_is_stored_once_though_the_database_dies_before_and_after_its_commit(
    platform, competition, workshop, tmp_path
):
    """Both kinds of result: the first commit does not come about, the answer of the second is lost."""
    from django.db import connection

    from gauntlet.competitions.services import join
    from gauntlet.submissions.models import Submission

    ada = platform.person("ada").user
    join(competition, user=ada, terms_accepted=True)
    quick = workshop.agent('return "done", {"value": episode.call("look_up")["value"]}')
    name = str(submit(competition.phases.first(), ada, quick).pk)
    connection.close()
    before = services.status(platform.installation.var)
    told, living = work_off(
        platform.installation, tmp_path, [{"submission": name, "step": "every commit", "how": "database"}]
    )

    assert services.status(platform.installation.var).postgres not in (None, before.postgres)
    assert told == {name: {"deaths": 0, "late": None}}
    finished_once(name, scenarios=5)
    jobs = platform.evaluation(name).jobs.all()
    assert {events(job, "job.done") for job in jobs} == {1}
    assert set(attempts(Submission.objects.get(pk=name))) == {1}
    assert living == []


def test_a_killed_broker_and_beat_lose_no_work(
    platform, competition, slow_agent, assert_finished_once, wait_until, kill_now
):
    """The first submission runs meanwhile; the second is uploaded while nobody can be rung."""
    platform.start()
    ada = platform.person("ada")
    first = ada.submit(competition, 0, slow_agent)
    platform.wait_for_job(first, done=2)
    var = platform.installation.var
    before = services.status(var)
    platform.kill("beat")
    kill_now(before.valkey)
    second = ada.submit(competition, 0, slow_agent)

    wait_until(lambda: services.status(var).valkey not in (None, before.valkey))
    platform.processes.start_beat()
    assert_finished_once(first)
    assert platform.wait_for_end(second).state == "finished"
    platform.processes.check()


def test_the_beat_alone_brings_dead_services_back(platform, wait_until, kill_now):
    platform.processes.start_beat()
    wait_until(lambda: "is starting" in platform.log("beat"))
    var = platform.installation.var
    for name in ("postgres", "valkey"):
        dead = getattr(services.status(var), name)
        kill_now(dead)
        wait_until(lambda name=name, dead=dead: getattr(services.status(var), name) not in (None, dead))
    platform.processes.check()


def test_uploads_that_were_taken_survive_the_web_server(platform, competition, slow_agent, assert_finished_once):
    platform.start(workers=0)
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    platform.kill("web")

    platform.processes.start_worker("worker0", concurrency=1)
    assert_finished_once(submission)


def test_a_killed_gateway_is_the_platforms_fault_and_the_job_is_done_again(
    platform, competition, slow_agent, assert_finished_once, remains, wait_until, kill_now
):
    platform.configure(LEASE_SECONDS="60")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=2)
    kill_now(gateway_of(job).pid)

    assert_finished_once(submission)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    assert events(job, "job.lost") == 1
    wait_until(lambda: not remains.found())


def test_a_killed_environment_is_replaced_and_its_episode_begins_again(
    platform, competition, slow_agent, assert_finished_once, remains, wait_until, kill_now
):
    # A lease as long as in production: a machine with much else to do must not lose the job for another reason.
    platform.configure(LEASE_SECONDS="60")
    platform.start()
    submission = platform.person("ada").submit(competition, 0, slow_agent)
    job = platform.wait_for_job(submission, done=1)
    kill_now(wait_until(lambda: environment_of(job)).pid)

    assert_finished_once(submission)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 1)
    wait_until(lambda: not remains.found())


def environment_of(job):
    """The organizer's program that serves a job's episodes, as this host sees it; None where it is just being made."""
    worker = psutil.Process(int(job.worker.rpartition(":")[2]))
    for one in worker.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.cmdline()[-1:] == ["server.py"] and one.name().startswith("python"):  # and not what holds it
                return one
    return None


def gateway_of(job):
    """The process that serves a job's agent: forked from the worker's warm one."""
    worker = psutil.Process(int(job.worker.rpartition(":")[2]))
    (warm,) = [one for one in worker.children() if "gauntlet_runtime.gateway" in " ".join(one.cmdline())]
    (gateway,) = warm.children()
    return gateway


def events(row, name):
    from gauntlet.accounts.models import Event

    return Event.objects.filter(subject_id=str(row.pk), name=name).count()
