"""Language models through the whole platform: an upload with the official client, its use on the board, and the key."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from model_server import KEY

PLAIN_AGENT = """
import json, os, urllib.request
value = episode.call("look_up")["value"]
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": f"Is it {value}?"}]}).encode()
request = urllib.request.Request(os.environ["GAUNTLET_LLM_URL"] + "/chat/completions", data=body)
request.add_header("Content-Type", "application/json")
said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
return f"{value}: {said}", {"value": value}
"""


def model_results(evaluation: Any, read_record: Any) -> dict[str, list[Any]]:
    """What the models said in each episode, by scenario."""
    return {
        episode.scenario.key: [event for event in read_record(episode) if event.kind == "model_result"]
        for episode in evaluation.episodes.select_related("scenario")
    }


def test_from_an_upload_with_the_official_client_to_the_board_and_again(
    platform: Any, workshop: Any, metered: Any, provider: Any, openai_agent: Any, read_record: Any, tmp_path: Path
) -> None:
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.leaderboards.models import ColumnValue
    from gauntlet.metering.models import Account
    from gauntlet.submissions.models import Submission

    platform.configure(LEASE_SECONDS="60")
    platform.start()
    competition = metered(3)
    ada = platform.person("ada")
    submission = ada.submit(competition, 0, workshop.zip(openai_agent))
    first = platform.wait_for_end(submission)
    assert (first.state, first.failure_message) == ("finished", "")
    assert len(provider.seen) == 6
    said = model_results(first, read_record)
    assert all(len(results) == 2 and not any(one.cached for one in results) for results in said.values())
    tokens = {one.tokens for one in first.episodes.all()}
    cost = sum((one.cost for one in first.episodes.all()), Decimal(0))
    assert tokens == {3 + 6 + 3 + 6}
    account = Account.objects.get(pk=first.pk)
    assert (account.tokens, account.cost, account.paid) == (54, cost, cost)
    assert cost > 0
    values = dict(ColumnValue.objects.filter(submission=submission).values_list("column__key", "value"))
    assert (values["score"], values["tokens"]) == (1.0, 18.0)
    assert Decimal(values["cost"]).quantize(cost) == cost

    start_evaluations(Submission.objects.get(pk=submission))  # a rerun: in another order, with another seed
    again = platform.wait_for_end(submission)
    assert (again.number, again.state) == (2, "finished")
    assert len(provider.seen) == 6
    repeated = model_results(again, read_record)
    assert {key: [one.response for one in results] for key, results in repeated.items()} == {
        key: [one.response for one in results] for key, results in said.items()
    }
    assert all(one.cached for results in repeated.values() for one in results)
    account = Account.objects.get(pk=again.pk)
    assert (account.tokens, account.cost, account.paid) == (54, cost, 0)

    found = [where for where, content in everything(platform, submission, competition) if KEY.encode() in content]
    assert found == []


def everything(platform: Any, submission: str, competition: Any) -> Iterator[tuple[str, bytes]]:
    """Whatever the platform has written or shows: its rows, its files, its logs, and what people and workers see."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')  # noqa: S608  # the database's own names
            yield f"table {table}", "\n".join(row[0] for row in cursor.fetchall()).encode()
    files = [path for root in (platform.installation.var, platform.processes.logs) for path in root.rglob("*")]
    assert {path.name for path in files} >= {"worker0.log", "web.log"}
    for path in files:
        with contextlib.suppress(OSError):  # what is removed meanwhile, sockets
            if path.is_file():
                yield str(path), path.read_bytes()
    slug = competition.slug
    for person in platform.people:
        for address in (
            f"/submissions/{submission}/",
            f"/competitions/{slug}/",
            f"/competitions/{slug}/leaderboard/",
            f"/api/v1/submissions/{submission}",
            f"/api/v1/submissions/{submission}/log",
            f"/api/v1/competitions/{slug}",
        ):
            yield f"{person.name} {address}", person.api.get(address).content


def test_a_provider_that_stays_away_is_retried_and_costs_no_attempt(
    platform: Any, workshop: Any, metered: Any, provider: Any
) -> None:
    from gauntlet.metering.models import Account
    from gauntlet.submissions.models import Submission

    platform.configure(LEASE_SECONDS="60")
    platform.start()
    provider.always = "500"
    submission = platform.person("ada").submit(metered(1), 0, workshop.agent(PLAIN_AGENT))
    evaluation = platform.wait_for_end(submission)
    assert (evaluation.state, evaluation.failure_code) == ("failed", "infrastructure")
    assert "3 attempts, and not by the agent's fault" in evaluation.failure_message
    assert len(provider.seen) == 6  # twice in each of three attempts
    assert Submission.objects.get(pk=submission).counts_as == "nothing"
    account = Account.objects.get(pk=evaluation.pk)
    assert (account.tokens, account.cost, account.paid) == (0, 0, 0)


def test_agents_on_two_workers_wait_for_each_other_and_none_is_blamed(
    platform: Any, workshop: Any, metered: Any, provider: Any, monkeypatch: Any
) -> None:
    """The agent makes one call at a time and takes no 429: it cannot know of the other sandboxes of its submission."""
    monkeypatch.setenv("RUN_SLICE", "1")
    provider.says = lambda body, number: "no" if provider.released.wait(2.0) else "yes"
    platform.configure(LEASE_SECONDS="60")
    platform.start(workers=2)
    submission = platform.person("ada").submit(
        metered(5, pace="      concurrency: 1\n"), 0, workshop.agent(PLAIN_AGENT)
    )
    evaluation = platform.wait_for_end(submission)
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert [episode.outcome for episode in evaluation.episodes.all()] == ["answered"] * 5
    assert len({job.worker for job in evaluation.jobs.filter(kind="run")}) == 2
    assert (len(provider.seen), provider.most_under_way) == (5, 1)


def test_a_worker_killed_in_a_model_call_leaves_it_paid_and_the_run_goes_on(
    platform: Any, workshop: Any, metered: Any, provider: Any, wait_until: Any
) -> None:
    from gauntlet.metering.models import Account, Reservation

    platform.configure(LEASE_SECONDS="6")
    platform.start(workers=2)
    provider.faults.append("hold")
    submission = platform.person("ada").submit(metered(1), 0, workshop.agent(PLAIN_AGENT))
    wait_until(lambda: provider.under_way == 1)
    (held,) = Reservation.objects.all()
    job = platform.wait_for_job(submission)
    platform.kill(next(name for name in ("worker0", "worker1") if worker_of(job, platform.processes.running[name].pid)))
    evaluation = platform.wait_for_end(submission)
    assert evaluation.state == "finished"
    assert not Reservation.objects.filter(settled_at=None).exists()
    (episode,) = evaluation.episodes.all()
    account = Account.objects.get(pk=evaluation.pk)
    assert account.tokens == episode.tokens  # what was lost is not the agent's
    assert account.paid == held.cost + episode.cost  # and may have been paid for
    assert (episode.model_calls, len(provider.seen)) == (1, 2)


def worker_of(job: Any, pid: int) -> bool:
    """Whether a job is held by a process of this worker; its name ends in the process's id."""
    import psutil

    holder = int(job.worker.rpartition(":")[2])
    return holder in {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
