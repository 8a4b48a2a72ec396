"""The place of one evaluation, computed without putting the queue in order, is the place that the order gives it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.services import start_evaluations
from gauntlet.evaluation.waiting import places_of

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
PEOPLE = 4


class Made(NamedTuple):
    """A job of a random queue: times are minutes after noon, few, so that many are equal."""

    evaluation: int
    kind: str
    state: str
    made: int
    begun: int | None


class Work(NamedTuple):
    """An evaluation of it: whose, in which queue, and its state."""

    person: int
    queue: str
    state: str


evaluations = st.lists(
    st.builds(
        Work,
        st.integers(0, PEOPLE - 1),
        st.sampled_from(["default", "default", "gpu"]),
        st.sampled_from(["queued", "queued", "running", "scoring", "finished"]),
    ),
    min_size=1,
    max_size=9,
)


@st.composite
def queues(draw: Any) -> tuple[list[Work], list[Made]]:
    """Evaluations and their jobs."""
    made = draw(evaluations)
    jobs = st.builds(
        Made,
        st.integers(0, len(made) - 1),
        st.sampled_from(["run", "run", "score"]),
        st.sampled_from(["ready", "ready", "ready", "leased", "done"]),
        st.integers(0, 3),
        st.none() | st.integers(0, 2),
    )
    return made, draw(st.lists(jobs, min_size=1, max_size=24))


@pytest.fixture
def fill(make_phase: Callable[..., Phase], make_submission: Callable[..., Any], make_user: Callable[..., Any]) -> Any:
    """Put a random queue into the database in the place of what is there; its evaluations and jobs."""
    phase, people = make_phase(), [make_user() for _ in range(PEOPLE)]
    submissions, task = [make_submission(phase, person) for person in people], phase.tasks.get()

    def made(work: list[Work], jobs: list[Made]) -> tuple[list[Evaluation], list[Job]]:
        Evaluation.objects.all().delete()
        rows = Evaluation.objects.bulk_create(
            Evaluation(
                submission=submissions[one.person], task=task, number=number, seed=0, state=one.state, queued_at=NOON
            )
            for number, one in enumerate(work)
        )
        waiting = Job.objects.bulk_create(
            Job(
                evaluation=rows[one.evaluation],
                participant=people[work[one.evaluation].person],
                kind=one.kind,
                index=index,
                queue=work[one.evaluation].queue,
                state=one.state,
                available_at=NOON,
                started_at=None if one.begun is None else NOON + timedelta(minutes=one.begun),
                token=uuid.uuid4() if one.state == "leased" else None,
                leased_until=timezone.now() if one.state == "leased" else None,
            )
            for index, one in enumerate(jobs)
        )
        for row, one in zip(waiting, jobs, strict=True):
            row.created_at = NOON + timedelta(minutes=one.made)
        Job.objects.bulk_update(waiting, ["created_at"])
        return rows, waiting

    return made


def in_order(jobs: list[Job]) -> dict[uuid.UUID, int]:
    """The places, as the order of the queue reads: everybody's jobs sorted, and counted."""
    going = ("queued", "running", "scoring")
    waiting = sorted(
        (one for one in jobs if one.state == "ready" and one.evaluation.state in going),
        key=lambda one: (one.created_at, one.pk),
    )
    busy: dict[int, int] = defaultdict(int)
    served: dict[int, datetime] = {}
    for one in jobs:
        busy[one.participant_id] += one.state == "leased"
        if one.started_at:
            served[one.participant_id] = max(one.started_at, served.get(one.participant_id, one.started_at))
    own: dict[tuple[str, int, bool], list[Job]] = defaultdict(list)
    ordered: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for one in waiting:
        last_step = one.kind == "score" and one.evaluation.state == "scoring"
        group = own[one.queue, one.participant_id, last_step]
        group.append(one)
        at = served.get(one.participant_id)
        turn = busy[one.participant_id] + len(group)
        place = (not last_step, turn, -busy[one.participant_id], at is not None, at or NOON, group[0].created_at)
        ordered[one.queue].append((*place, one.participant_id, one.evaluation_id))
    places: dict[uuid.UUID, int] = {}
    for rows in ordered.values():
        for number, row in enumerate(sorted(rows), start=1):
            places.setdefault(row[-1], number)
    return places


@pytest.mark.django_db
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=queues())
def test_a_place_is_that_of_the_order(fill: Any, made: tuple[list[Work], list[Made]]) -> None:
    with transaction.atomic():
        rows, jobs = fill(*made)
    wanted = in_order(jobs)
    assert places_of([one.pk for one in rows]) == wanted
    for one in rows:  # also of one alone
        assert places_of([one.pk]).get(one.pk) == wanted.get(one.pk)


def test_what_waits_in_another_queue_takes_no_turn_in_this_one(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], make_user: Callable[..., Any], worker: Any
) -> None:
    """A worker of one queue does not see the other's jobs."""
    plain, special = make_phase(scenarios=1), make_phase(scenarios=1, queue="gpu")
    both, other = make_user(), make_user()
    for _ in range(3):
        start(special, participant=both)
    told = [start(plain, participant=person).pk for person in (both, other, other)]
    places = places_of(told)
    claimed = []
    while claim := worker.claim():
        claimed.append(places[uuid.UUID(claim.evaluation)])
    assert claimed == [1, 2, 3]


def test_a_story_takes_the_same_statements_however_many_wait(
    make_submission: Any, make_phase: Callable[..., Phase], django_assert_num_queries: Any
) -> None:
    phase = make_phase(scenarios=1)
    phase.tasks.add(make_phase(competition=phase.competition, scenarios=1).tasks.get())
    submission = start_all(make_submission(phase))

    def tell() -> list[int | None]:
        story = submission_story(submission, audience=Audience.OWNER, now=timezone.now())
        return [one.position for one in story.evaluations]

    with CaptureQueriesContext(connection) as alone:
        assert sorted(tell()) == [1, 2]  # type: ignore[type-var]  # both wait
    for _ in range(5):
        start_all(make_submission(phase))
    with django_assert_num_queries(len(alone)):
        assert sorted(tell()) == [1, 7]  # type: ignore[type-var]


def start_all(submission: Any) -> Any:
    """Start its evaluations, one on each task."""
    start_evaluations(submission)
    return submission
