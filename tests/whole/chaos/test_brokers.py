"""A broker that keeps its data, loses it, is away, hangs, is full, or holds what others left: work is done, and once.

The embedded broker keeps nothing; this one has an append-only file.
"""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_broker import KeptBroker, kept_broker
from leftovers import finished_once

from gauntlet_runtime.services import binaries, home

pytestmark = pytest.mark.chaos

QUICK = 'value = episode.call("look_up")["value"]\nreturn f"It is {value}.", {"value": value}'
SCENARIOS = 5
HOUR = "3600"


@pytest.fixture
def broker(platform: Any, tmp_path: Path) -> Iterator[KeptBroker]:
    """A broker that keeps its data, which the platform's processes are started with."""
    place = home.find(platform.installation.var)
    assert place is not None
    (tmp_path / "broker").mkdir()
    with kept_broker(binaries.valkey_server(place), tmp_path / "broker") as broker:
        platform.configure(BROKER_URL=broker.url)
        yield broker
        broker.send(signal.SIGCONT)


@pytest.fixture
def quick_agent(workshop: Any) -> bytes:
    """The bundle of an agent that is right at once."""
    return workshop.agent(QUICK)


def rings(broker: KeptBroker) -> list[bytes]:
    """What waits to be heard, the next one last."""
    return broker.client().lrange("default", 0, -1)


def seen(submission: str) -> tuple[Any, ...]:
    """Everything of a submission that must not change any more."""
    from gauntlet.accounts.models import Event
    from gauntlet.evaluation.models import Evaluation

    evaluation = Evaluation.objects.filter(submission=submission).first()
    if evaluation is None:
        return ("none",)
    jobs = sorted(evaluation.jobs.values_list("pk", "state", "attempt"))
    events = Event.objects.filter(subject_id__in=[str(evaluation.pk), *(str(pk) for pk, *_ in jobs)]).count()
    return evaluation.state, jobs, events, sorted(evaluation.scores.values_list("key", "value"))


def test_what_a_killed_broker_kept_is_heard_and_old_and_doubled_rings_change_nothing(
    platform, competition, quick_agent, slow_agent, broker, wait_until
):
    """No beat: what is done is done because of what was kept. Rings do not expire within the test."""
    platform.configure(BELL_SECONDS=HOUR, LEASE_SECONDS="60")
    web = platform.start_web()
    ada, ben, cleo, dora = (web.person(name) for name in ("ada", "ben", "cleo", "dora"))  # a board keeps one of each
    first = ada.submit(competition, 0, quick_agent)
    unwanted = ben.submit(competition, 0, quick_agent)
    assert ben.api.post(f"/api/v1/submissions/{unwanted}/cancel").status_code == 200
    kept = rings(broker)
    assert len(kept) >= 2
    broker.kill()
    broker.start()
    assert rings(broker) == kept

    broker.client().lpush("default", *kept, *kept)
    platform.processes.start_worker("worker0", concurrency=2)
    platform.wait_for_end(first)
    slow = cleo.submit(competition, 0, slow_agent)
    platform.wait_for_job(slow, done=1)
    broker.kill()  # while both processes are at work, and are rung again for all that is over
    broker.start()
    broker.client().lpush("default", *kept, *kept)
    platform.wait_for_end(slow)
    over = {submission: seen(submission) for submission in (first, unwanted, slow)}
    broker.client().lpush("default", *kept, *kept)
    last = dora.submit(competition, 0, quick_agent)
    platform.wait_for_end(last)
    wait_until(lambda: not rings(broker))

    for submission in (slow, last):
        finished_once(submission, scenarios=SCENARIOS)
    assert {submission: seen(submission) for submission in over} == over
    assert ben.api.get(f"/api/v1/submissions/{unwanted}").json()["status"] == "cancelled"
    platform.processes.check()


def test_a_broker_that_lost_its_data_loses_no_work(platform, competition, quick_agent, slow_agent, broker):
    platform.start()
    running = platform.person("ada").submit(competition, 0, slow_agent)
    platform.wait_for_job(running, done=1)
    waiting = platform.person("ben").submit(competition, 0, quick_agent)
    broker.client().set("kept", 1)
    broker.kill()
    broker.wipe()
    broker.start()
    assert not broker.client().exists("kept")

    finished = [platform.wait_for_end(submission).state for submission in (running, waiting)]
    assert finished == ["finished"] * 2
    for submission in (running, waiting):
        finished_once(submission, scenarios=SCENARIOS)
    platform.processes.check()


def die(broker: KeptBroker) -> Callable[[], None]:
    """It is away, and comes back."""
    broker.kill()
    return broker.start


def hang(broker: KeptBroker) -> Callable[[], None]:
    """It takes connections and answers nothing, and goes on."""
    broker.send(signal.SIGSTOP)
    return lambda: broker.send(signal.SIGCONT)


def fill(broker: KeptBroker) -> Callable[[], None]:
    """It has no room for a single word more, and gets some."""
    broker.client().config_set("maxmemory", "1kb")
    return lambda: broker.client().config_set("maxmemory", "0")


@pytest.mark.parametrize("spoil", [die, hang, fill])
def test_uploads_are_taken_while_the_broker_is_of_no_use_and_run_once_it_is(
    platform, competition, quick_agent, broker, spoil, wait_until
):
    platform.start()
    people = [platform.person(name) for name in ("ada", "ben", "cleo")]
    heal = spoil(broker)
    submissions = [person.submit(competition, 0, quick_agent) for person in people]  # each is answered with 201
    if spoil is die:  # longer than whoever rings tries, and than a worker's first tries to connect
        wait_until(lambda: platform.log("worker0").count("Trying again in") >= 2)
    heal()
    for submission in submissions:
        platform.wait_for_end(submission)
        finished_once(submission, scenarios=SCENARIOS)
    platform.processes.check()


def test_what_others_left_in_the_broker_stops_no_worker(platform, competition, quick_agent, broker, wait_until):
    platform.start()
    worker = platform.processes.running["worker0"].pid
    ada = platform.person("ada")
    assert platform.wait_for_end(ada.submit(competition, 0, quick_agent)).state == "finished"
    broker.client().lpush("default", *not_even_messages(), *broken_messages())
    wait_until(lambda: not rings(broker))

    assert platform.wait_for_end(ada.submit(competition, 0, quick_agent)).state == "finished"
    platform.processes.check()
    assert platform.processes.running["worker0"].pid == worker
    assert "doorbell.foreign_message" in platform.log("worker0")
    process = platform.processes.running.pop("worker0")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert all(b"gauntlet" in one for one in rings(broker)), "it put back what it could not read"


RING_ID = "57cdc81f-8a16-444f-bae0-fc4f7dda5258"
RING = {
    "body": base64.b64encode(b'[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]').decode(),
    "content-encoding": "utf-8",
    "content-type": "application/json",
    "headers": {
        "lang": "py",
        "task": "gauntlet.work",
        "id": RING_ID,
        "root_id": RING_ID,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{}",
    },
    "properties": {
        "correlation_id": RING_ID,
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": "default"},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": "a",
    },
}
ODD = (3, [], "2020-13-45")
BODIES = (b"", b"[]", b"[1, 2]", b"\xff", b"[null, null, null]", b'[["argument"], {}, {}]', b'[[], {}, {"chord": 3}]')


def not_even_messages() -> list[bytes]:
    """Words that are no JSON, or another's JSON."""
    no_message = (b"", b"garbage", b"\xff\xfe", b"3", b"null", b"[]", b"{}", b"[" * 100_000)
    odd_objects = b'{"__type__": "uuid", "__value__": {"hex": 3}}', b'{"__type__": "datetime", "__value__": []}'
    return [*no_message, *odd_objects, b'{"body": 3}', b'{"body": "", "properties": {}}']


def broken_messages() -> Iterator[bytes]:
    """A ring with each of its parts missing, or odd; a task that is not ours; bodies that are none."""
    yield from (json.dumps(one).encode() for one in changed(RING))
    yield json.dumps(RING | {"headers": RING["headers"] | {"task": "somebody.elses"}}).encode()
    yield json.dumps(RING | {"body": "!!!"}).encode()
    for body in BODIES:
        yield json.dumps(RING | {"body": base64.b64encode(body).decode()}).encode()


def changed(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A nested mapping with one of its values changed or left out, each in turn."""
    for name, value in whole.items():
        yield {key: kept for key, kept in whole.items() if key != name}
        yield from (whole | {name: odd} for odd in ODD)
        if isinstance(value, dict):
            yield from (whole | {name: inner} for inner in changed(value))
