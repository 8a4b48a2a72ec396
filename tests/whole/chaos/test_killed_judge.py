"""The door of a judge is cut off by a kill while the model is at it: scored once, each answer paid once, and told."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from leftovers import finished_once
from model_server import KEY, ModelServer, model_server

pytestmark = pytest.mark.chaos

SCENARIOS, RUNS = 2, 2
PRICES = {"wise": {"in": "1", "out": "2"}}
JUDGE = f"    judge: {{model: wise, provider: mine, runs: {RUNS}, concurrency: 1, cost_budget: 5}}\n"
VERDICT = json.dumps(
    {"task_completion": True, "data_retrieval_accuracy": True, "generalized_result_verification": True}
)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[ModelServer]:
    """A judge that holds everything for right."""
    from gauntlet.metering.configuration import read_prices

    monkeypatch.setenv("MODEL_PRICES", json.dumps(PRICES))
    settings.MODEL_PRICES = read_prices(PRICES)
    with model_server() as server:
        server.says = lambda body, number: VERDICT
        yield server


@pytest.fixture
def judged(platform: Any, workshop: Any, small_task: Any, provider: ModelServer) -> Any:
    """A competition whose judge's key is set as an operator sets it."""
    from django.core.management import call_command

    texts = {f"scenario-{number}": f"What is the value of {number}?" for number in range(SCENARIOS)}
    bundle = workshop.written([small_task(texts)], [(0, "full")])
    manifest = bundle / "competition.yaml"
    text, line = manifest.read_text(), "    limits: {episode_seconds: 60}\n"
    assert line in text
    manifest.write_text(text.replace(line, line + JUDGE))
    competition = workshop.imported(bundle, platform.person("organizer").user)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
        call_command("set_model_provider", "mine", competition=competition.slug, url=provider.url, verbosity=0)
    return competition


def kill_door(platform: Any, job: Any, kill_now: Any) -> None:
    """The process that holds the key and makes the call."""
    worker = psutil.Process(int(job.worker.rpartition(":")[2]))
    (warm,) = [one for one in worker.children() if "gauntlet_runtime.gateway" in " ".join(one.cmdline())]
    (door,) = [one for one in warm.children() if one.status() != psutil.STATUS_ZOMBIE]
    kill_now(door.pid)


def kill_worker(platform: Any, job: Any, kill_now: Any) -> None:
    """The whole worker; another takes its place."""
    platform.kill("worker0")
    platform.processes.start_worker("worker1", concurrency=1)


@pytest.mark.parametrize(("kill", "lease"), [(kill_door, "60"), (kill_worker, "6")])
def test_a_question_that_was_cut_off_is_asked_again_and_no_other_is(
    platform: Any,
    workshop: Any,
    judged: Any,
    provider: ModelServer,
    wait_until: Callable[..., Any],
    kill_now: Any,
    kill: Callable[..., None],
    lease: str,
) -> None:
    from gauntlet.accounts.models import Event
    from gauntlet.evaluation.job_models import judge_account
    from gauntlet.metering.models import Account, Reservation
    from gauntlet.submissions.models import Submission

    platform.configure(LEASE_SECONDS=lease)
    platform.start()
    provider.faults.extend([None, "hold"])  # the second question is never answered
    quick = workshop.agent('return "done", {"value": episode.call("look_up")["value"]}')
    submission = platform.person("ada").submit(judged, 0, quick)
    job = platform.wait_for_job(submission, kind="score")
    wait_until(lambda: provider.under_way == 1 and len(provider.seen) == 2)
    account = judge_account(job.evaluation_id)
    held = Reservation.objects.get(account_id=account, settled_at=None)

    kill(platform, job, kill_now)
    platform.wait_for_end(submission)
    provider.released.set()
    finished_once(submission, scenarios=SCENARIOS)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    # The participant's attempt is one, and what went wrong meanwhile can be read by whoever asks.
    assert Submission.objects.get(pk=submission).counts_as == "attempt"
    assert Event.objects.filter(subject_id=str(job.pk), name="job.lost").exclude(reason="").count() == 1

    # Every question was answered once; the one that was cut off, which may have been paid, counts as its most, once.
    assert len(provider.seen) == SCENARIOS * RUNS + 1
    assert provider.seen[2] == provider.seen[1]
    answered = [*provider.seen[:1], *provider.seen[2:]]
    words = sum(len(str(message["content"]).split()) for body in answered for message in body["messages"])
    used = words + len(answered) * len(VERDICT.split(" "))
    found = Account.objects.get(pk=account)
    assert (found.tokens, found.paid) == (held.tokens + used, found.cost)
    assert Reservation.objects.filter(account_id=account, settled_at=None).count() == 0
