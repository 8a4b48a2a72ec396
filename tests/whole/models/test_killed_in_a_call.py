"""The model call of an agent is cut off by a kill while the provider is at it: paid once, and the next one counts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.chaos

AGENT = """
import json, os, urllib.request
value = episode.call("look_up")["value"]
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": f"Is it {value}?"}]}).encode()
request = urllib.request.Request(os.environ["GAUNTLET_LLM_URL"] + "/chat/completions", data=body)
request.add_header("Content-Type", "application/json")
said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
return f"{value}: {said}", {"value": value}
"""


def kill_gateway(platform: Any, job: Any, kill_now: Any) -> None:
    """The process that holds the key and makes the call."""
    worker = psutil.Process(int(job.worker.rpartition(":")[2]))
    (warm,) = [one for one in worker.children() if "gauntlet_runtime.gateway" in " ".join(one.cmdline())]
    (gateway,) = warm.children()
    kill_now(gateway.pid)


def kill_worker(platform: Any, job: Any, kill_now: Any) -> None:
    """The whole worker; another takes its place."""
    platform.kill("worker0")
    platform.processes.start_worker("worker1", concurrency=1)


@pytest.mark.parametrize(("kill", "lease"), [(kill_gateway, "60"), (kill_worker, "6")])
def test_a_call_that_was_cut_off_is_paid_once_and_only_that_of_the_next_attempt_counts(
    platform: Any, workshop: Any, metered: Any, provider: Any, wait_until: Any, kill_now: Any, kill: Any, lease: str
) -> None:
    from gauntlet.leaderboards.models import ColumnValue
    from gauntlet.metering.models import Account, Reservation

    platform.configure(LEASE_SECONDS=lease)
    platform.start()
    submission = platform.person("ada").submit(metered(1), 0, workshop.agent(AGENT))
    provider.faults.append("hold")
    job = platform.wait_for_job(submission)
    wait_until(lambda: provider.seen)
    evaluation = platform.evaluation(submission)
    held = Reservation.objects.get(account_id=evaluation.pk)
    assert held.settled_at is None

    kill(platform, job, kill_now)
    evaluation = platform.wait_for_end(submission)
    provider.released.set()
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)

    # The first may have been answered, and paid: as the most that it could have cost, once. Against the agent's budget
    # counts the attempt that was not cut off.
    episode = evaluation.episodes.get()
    assert len(provider.seen) == 2
    assert Reservation.objects.filter(account_id=evaluation.pk, settled_at__isnull=False).count() == 2
    account = Account.objects.get(pk=evaluation.pk)
    assert (account.tokens, account.cost) == (episode.tokens, episode.cost)
    assert account.paid == held.cost + episode.cost
    # The agent's own use, which the board shows, is that of the attempt that counts.
    assert (episode.model_calls, 0 < episode.tokens < held.tokens) == (1, True)
    cost = ColumnValue.objects.get(submission=submission, column__key="cost").value
    assert Decimal(cost).quantize(episode.cost) == episode.cost
