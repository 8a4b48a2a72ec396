"""Cancel while the agent runs: its sandbox is gone at once, and nothing brings the submission back."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.chaos


@pytest.mark.parametrize(("phase", "kind"), [(0, "run"), (1, "score")])
def test_a_cancelled_submission_loses_its_sandbox_at_once_and_stays_cancelled(
    platform, competition, slow_agent, workshop, phase, kind, remains, wait_until
):
    from gauntlet.evaluation.models import Job, Score

    # A lease as long as in production: the sandbox must not live until somebody has to renew it.
    platform.configure(LEASE_SECONDS="60")
    platform.start()
    ada = platform.person("ada")
    quick = workshop.agent('return "done", {"value": episode.call("look_up")["value"]}')
    submission = ada.submit(competition, phase, slow_agent if kind == "run" else quick)
    job = platform.wait_for_job(submission, kind=kind, done=2)
    wait_until(remains.found)

    assert ada.api.post(f"/api/v1/submissions/{submission}/cancel").status_code == 200
    asked = time.monotonic()
    wait_until(lambda: not remains.found())
    # "At once" is about a second on a quiet machine; a third of the lease is what it took before workers asked sooner.
    assert time.monotonic() - asked < 10
    job.refresh_from_db()
    assert job.state == "failed"

    # The platform goes on, so whatever could have brought it back has had its chance when the next one is finished.
    other = ada.submit(competition, 0, quick)
    assert platform.wait_for_end(other).state == "finished"
    evaluation = platform.evaluation(submission)
    assert evaluation.state == "cancelled"
    assert not Score.objects.filter(evaluation=evaluation).exists()
    assert not Job.objects.filter(evaluation=evaluation, state__in=["ready", "leased", "lost"]).exists()
    assert ada.api.get(f"/api/v1/submissions/{submission}").json()["status"] == "cancelled"
