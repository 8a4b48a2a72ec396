"""Whose job is next: participants take turns; and what those who wait are told is what happens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation import queue
from gauntlet.evaluation.models import Job, Worker, WorkerState
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.waiting import Pace, pace_of, places_of, waits_of
from gauntlet.evaluation.workers import report_worker

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.models import Evaluation


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase(scenarios=1)


@pytest.fixture
def people(make_user: Callable[..., Any]) -> dict[str, Any]:
    return {name: make_user(name) for name in ("busy", "single", "third")}


def owners(claims: list[Any]) -> list[str]:
    names = dict(Job.objects.values_list("pk", "participant__username"))
    return [names[UUID(claim.job)] for claim in claims]


def places_of_all() -> dict[str, int]:
    """The place of everything that waits."""
    told = places_of(list(Job.objects.values_list("evaluation", flat=True)))
    return {str(evaluation): place for evaluation, place in told.items()}


def test_anothers_single_submission_starts_before_the_next_of_fifty_with_one_worker(
    start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    for _ in range(50):
        start(phase, participant=people["busy"])
    first = worker.must_claim()
    start(phase, participant=people["single"])
    worker.source.finish(first, worker.run(first))
    worker.source.finish(worker.must_claim(), worker.scores(worker.claims[-1]))
    worker.must_claim()
    assert owners(worker.claims) == ["busy", "busy", "single"]
    assert [claim.spec.kind for claim in worker.claims] == ["run", "score", "run"]  # what is begun is ended first


def test_anothers_single_submission_starts_next_with_several_workers(
    start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    for _ in range(50):
        start(phase, participant=people["busy"])
    held = [worker.must_claim() for _ in range(4)]
    start(phase, participant=people["single"])
    worker.source.finish(held[0], worker.run(held[0]))
    score = worker.must_claim()
    worker.source.finish(score, worker.scores(score))
    worker.must_claim()
    assert owners(worker.claims[-1:]) == ["single"]


def test_nobody_waits_for_more_than_one_turn_of_each_other(
    start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    """However many of one arrive while the others wait: of three, each third turn is one's own."""
    for name in ("busy", "single", "third"):
        for _ in range(5 if name == "busy" else 3):
            start(phase, participant=people[name])
    turns = []
    for _ in range(9):
        start(phase, participant=people["busy"])
        claim = worker.must_claim()
        turns += owners([claim])
        worker.source.finish(claim, worker.run(claim))
        score = worker.must_claim()
        worker.source.finish(score, worker.scores(score))
    assert [Counter(turns[n : n + 3]) for n in (0, 3, 6)] == [Counter(list(people))] * 3


def test_a_job_that_waits_for_its_retry_keeps_no_other_waiting(
    start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    resting, ready = (start(phase, participant=people["busy"]) for _ in range(2))
    resting.jobs.update(available_at=Now() + timedelta(hours=1))
    assert worker.must_claim().evaluation == str(ready.pk)
    assert worker.claim() is None


@pytest.mark.parametrize("seed", range(3))
def test_the_places_that_are_told_are_the_order_in_which_one_worker_claims(
    seed: int, start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    generator = random.Random(seed)  # noqa: S311 - a test's order
    for _ in range(generator.randrange(4)):  # somebody had a turn before
        start(phase, participant=generator.choice(list(people.values())))
    worker.finish_all()
    waiting = [start(phase, participant=generator.choice(list(people.values()))) for _ in range(9)]
    places = places_of_all()
    assert sorted(places.values()) == list(range(1, len(waiting) + 1))
    order = []
    while claim := worker.claim():
        if claim.spec.kind == "run":
            order.append(places[claim.evaluation])
            worker.source.finish(claim, worker.run(claim))
        else:
            worker.source.finish(claim, worker.scores(claim))
    assert order == sorted(order)


@pytest.mark.parametrize("seed", range(3))
def test_and_in_which_several_workers_claim_while_others_are_at_work(
    seed: int, start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any
) -> None:
    generator = random.Random(seed)  # noqa: S311 - a test's order
    for _ in range(12):
        start(phase, participant=generator.choice(list(people.values())))
    for _ in range(generator.randrange(1, 5)):
        worker.must_claim()
    places = places_of_all()
    order = []
    while claim := worker.claim():
        order.append(places[claim.evaluation])
    assert order == list(range(1, len(places) + 1))


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_once_serve_everybody(
    start: Callable[..., Evaluation], phase: Phase, people: dict[str, Any], worker: Any, at_once: Any
) -> None:
    for name in ("busy", "busy", "busy", "busy", "single", "third"):
        start(phase, participant=people[name])
    assert Counter(owners(at_once(3, worker.must_claim))) == Counter(list(people))


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_on_claims_they_do_not(
    start: Callable[..., Evaluation],
    phase: Phase,
    people: dict[str, Any],
    worker: Any,
    monkeypatch: pytest.MonkeyPatch,
    at_once: Any,
) -> None:
    """The control: claims that do not see each other all go to whoever is first."""
    start(phase, participant=people["single"])
    worker.finish_all()  # so that the others' turn comes first
    for name in ("busy", "busy", "busy", "single"):
        start(phase, participant=people[name])
    monkeypatch.setattr(queue, "_LOCK", "SELECT 1")
    together = Barrier(3)

    def claim_slowly() -> str:
        with transaction.atomic():
            found = queue.lock_next(queues=["default"], host="host")
            together.wait(timeout=30)
            return Job.objects.get(pk=found).participant.username

    assert Counter(at_once(3, claim_slowly)) == {"busy": 3}


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_cut_off_in_a_claim_keeps_no_other_from_claiming(
    start: Callable[..., Evaluation], phase: Phase, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        start(phase)
    monkeypatch.setattr(queue, "_LOCK_SECONDS", 0.05)
    claimed, over = Event(), Event()
    held: list[str] = []

    def hang() -> None:
        with transaction.atomic():
            held.append(str(queue.lock_next(queues=["default"], host="cut off")))
            claimed.set()
            over.wait(60)

    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(lambda: (hang(), connection.close()))
        assert claimed.wait(60)
        mine = worker.must_claim()
        over.set()
        hanging.result()
    assert [mine.job] != held


def test_a_worker_takes_jobs_of_its_queues_only(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    plain, special = start(make_phase()), start(make_phase(queue="gpu"))
    claim = worker.source.claim(queues=["gpu", "cpu"], worker="w")
    assert claim.evaluation == str(special.pk)
    assert worker.source.claim(queues=["gpu", "cpu"], worker="w") is None
    assert worker.must_claim().evaluation == str(plain.pk)


def test_all_jobs_of_an_evaluation_wait_in_its_queue(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    monkeypatch.setattr("gauntlet.evaluation.collecting.ring", rung.append)
    evaluation = start(make_phase(queue="gpu"))
    claim = worker.source.claim(queues=["gpu"], worker="w")
    worker.source.finish(claim, worker.run(claim))
    assert set(evaluation.jobs.values_list("kind", "queue")) == {("run", "gpu"), ("score", "gpu")}
    assert rung == ["gpu", "gpu"]


def test_each_queue_has_places_and_an_estimate_of_its_own(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    slow = make_phase(queue="gpu")
    for _ in range(2):
        start()
        start(slow)
    assert sorted(places_of_all().values()) == [1, 1, 2, 2]
    worker.finish_all()
    Job.objects.filter(queue="default").update(started_at=Now() - timedelta(seconds=8), ended_at=Now())
    assert [pace_of([queue], workers=0).estimate_seconds(3) for queue in ("default", "gpu")] == [48, None]


@pytest.mark.parametrize(("runs", "scorings", "place"), [(1, 0, 8), (1, 1, 10), (4, 1, 8.5), (1, 48, 10), (0, 5, 2)])
def test_a_place_takes_a_run_and_its_share_of_a_scoring(
    runs: int, scorings: int, place: float, start: Callable[..., Evaluation], phase: Phase
) -> None:
    """Also where the last that ended were of one kind."""
    evaluation = start(phase)
    done = {"evaluation": evaluation, "participant": evaluation.submission.participant, "state": "done"}
    for kind, number, seconds in (("run", runs, 8), ("score", scorings, 2)):
        for index in range(1, number + 1):
            ended = timezone.now()
            times = {"available_at": ended, "started_at": ended - timedelta(seconds=seconds), "ended_at": ended}
            Job.objects.create(kind=kind, index=index, **times, **done)
    assert pace_of(["default"], workers=0).job_seconds == pytest.approx(place)


def test_an_estimate_counts_the_workers_that_serve_the_queue(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    start()
    worker.finish_all()
    Job.objects.update(started_at=Now() - timedelta(seconds=8), ended_at=Now())
    for number in range(3):
        start()
        worker.source.claim(queues=["default"], worker=f"host:{number}")
    assert pace_of(["default"], workers=0).estimate_seconds(6) == 32


def test_the_story_tells_place_and_estimate(start: Callable[..., Evaluation], worker: Any) -> None:
    start()
    worker.finish_all()
    Job.objects.update(started_at=Now() - timedelta(seconds=8), ended_at=Now())
    start()
    told = submission_story(start().submission, audience=Audience.OWNER, now=timezone.now()).evaluations[0]
    assert (told.position, told.estimate_seconds) == (2, 32)  # each before it is run and scored


def test_a_job_that_takes_much_longer_than_usual_is_waited_for(
    start: Callable[..., Evaluation], phase: Phase, worker: Any
) -> None:
    """Not "next, in two minutes" for as long as it goes on."""
    start(phase)
    worker.finish_all()
    Job.objects.update(started_at=Now() - timedelta(seconds=100), ended_at=Now())
    long, waiting = start(phase), [start(phase) for _ in range(2)]
    worker.must_claim()
    report_worker(name="worker", queues=["default"], state=WorkerState.BUSY)

    def told() -> list[int | None]:
        waits = waits_of([one.pk for one in waiting], queue="default").values()
        return [one.estimate_seconds for one in sorted(waits, key=lambda one: one.position)]

    assert told() == pytest.approx([200, 400], abs=30)
    long.jobs.update(started_at=Now() - timedelta(hours=10))
    assert told() == pytest.approx([36000, 36200], abs=30)
    report_worker(name="other:1", queues=["default"], state=WorkerState.IDLE)
    assert told() == pytest.approx([200, 300], abs=30)


def test_an_estimate_counts_what_else_its_workers_serve(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], people: dict[str, Any], worker: Any
) -> None:
    plain, special = make_phase(scenarios=1), make_phase(scenarios=1, queue="gpu")
    start(plain)
    worker.finish_all()
    Job.objects.update(started_at=Now() - timedelta(seconds=5), ended_at=Now())
    for person in ("busy", "busy", "busy", "third"):
        start(special, participant=people[person])
    mine = start(plain, participant=people["single"])

    def told() -> tuple[int, int | None]:
        wait = waits_of([mine.pk], queue="default")[mine.pk]
        return wait.position, wait.estimate_seconds

    report_worker(name="host:1", queues=["default"], state=WorkerState.IDLE)
    assert told() == (1, 10)
    report_worker(name="host:1", queues=["default", "gpu"], state=WorkerState.IDLE)
    assert told() == (1, 30)
    before = [worker.source.claim(queues=["default", "gpu"], worker="host:1").evaluation for _ in range(3)]
    assert before.index(str(mine.pk)) == 2  # the third of all
    mine.jobs.update(state="ready", token=None, leased_until=None)
    report_worker(name="host:2", queues=["default"], state=WorkerState.IDLE)
    assert told() == (1, 5)  # whoever of the two is free first


@given(
    job_seconds=st.floats(0, 1e6),
    in_work=st.lists(st.floats(0, 1e7), max_size=5),
    workers=st.integers(0, 5),
    place=st.integers(1, 10_000),
)
def test_an_estimate_is_never_negative_and_never_less_for_who_comes_later(
    job_seconds: float, in_work: list[float], workers: int, place: int
) -> None:
    pace = Pace(job_seconds=job_seconds, in_work=in_work, workers=workers)
    told = [pace.estimate_seconds(place + more) for more in range(3)]
    assert told == sorted(told)  # type: ignore[type-var]
    assert min(told) >= 0  # type: ignore[type-var]
    assert Pace(job_seconds=None, in_work=in_work, workers=workers).estimate_seconds(place) is None


def test_waiting_in_a_queue_that_no_worker_serves_is_told(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], client: Any
) -> None:
    submission = start(make_phase(queue="gpu")).submission
    client.force_login(submission.participant)

    def told() -> tuple[str, str]:
        story = submission_story(submission, audience=Audience.OWNER, now=timezone.now())
        return story.evaluations[0].unserved_queue, client.get(f"/submissions/{submission.pk}/").content.decode()

    report_worker(name="host:1", queues=["default"], state=WorkerState.IDLE)
    report_worker(name="host:2", queues=["gpu"], state=WorkerState.DRAINING, reason="Its disk is full.")
    queue_name, page = told()
    assert queue_name == "gpu"
    assert "which no worker serves at the moment" in page
    report_worker(name="host:2", queues=["cpu", "gpu"], state=WorkerState.BUSY)
    queue_name, page = told()
    assert queue_name == ""
    assert "It is next in the queue" in page
    Worker.objects.filter(name="host:2").update(seen_at=Now() - timedelta(hours=1))
    assert told()[0] == "gpu"


def test_the_bell_rings_and_sweeps_in_each_queue() -> None:
    from django.conf import settings

    from gauntlet.celery import SWEEP_TASK, WORK_TASK, app

    rung = {(entry["task"], entry["options"]["queue"]) for entry in app.conf.beat_schedule.values()}
    assert rung >= {(task, name) for task in (WORK_TASK, SWEEP_TASK) for name in settings.QUEUES}
