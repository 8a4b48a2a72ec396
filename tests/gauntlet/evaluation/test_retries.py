"""How often something is tried: exactly three times where nobody's program failed, however its workers were lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from django.db.models.functions import Now

from gauntlet.accounts.models import Event
from gauntlet.competitions.models import Phase
from gauntlet.evaluation import claims
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.submissions.quotas import allowance
from gauntlet_runtime.jobs import Claim, EpisodeResult, Failure, JobEvent, LeaseLost, RunResult, RunSpec, ScoreResult
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

if TYPE_CHECKING:
    from tests.gauntlet.evaluation.conftest import FakeWorker

pytestmark = pytest.mark.django_db

PLATFORM = Failure(code=FailureCode.INFRASTRUCTURE, message="The sandbox could not be started.")
SCORING = Failure(code=FailureCode.SCORING_ERROR, message="rubric ended with exit code 1.")
TIMES = 3


def die(worker: FakeWorker, claim: Claim) -> None:
    """The worker is silent, and whoever comes next notices."""
    Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now())
    assert claims.take_from_dead_workers() == 1
    assert claims.sweep() == 0


def give_back(worker: FakeWorker, claim: Claim) -> None:
    worker.source.give_back(claim, PLATFORM)
    with pytest.raises(LeaseLost):  # again, since the answer was lost
        worker.source.give_back(claim, PLATFORM)


def fail(worker: FakeWorker, claim: Claim) -> None:
    made = RunResult if isinstance(claim.spec, RunSpec) else ScoreResult
    failure = PLATFORM if isinstance(claim.spec, RunSpec) else SCORING
    result: Any = made(episodes=[], failure=failure) if made is RunResult else made(programs=[], failure=failure)
    worker.source.finish(claim, result)
    with pytest.raises(LeaseLost):
        worker.source.finish(claim, result)


LOSSES = {"dies": die, "gives back": give_back, "fails": fail}


def hand_back(worker: FakeWorker, claim: Claim) -> None:
    """The worker is told to end: that is no attempt."""
    worker.source.hand_back(claim)


def next_claim(worker: FakeWorker) -> Claim | None:
    Job.objects.filter(state="ready").update(available_at=Now(), avoided_until=None)
    return worker.claim()


@pytest.mark.parametrize("kind", ["run", "score"])
@pytest.mark.parametrize("how", list(product(LOSSES, repeat=TIMES)), ids=", ".join)
def test_a_job_is_tried_three_times_however_it_was_lost(
    how: tuple[str, ...], kind: str, start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    evaluation = start()
    if kind == "score":
        worker.source.finish(claim := worker.must_claim(), worker.run(claim))
    attempts = []
    for loss in how:
        claim = next_claim(worker)
        assert claim is not None
        hand_back(worker, claim)
        claim = next_claim(worker)
        assert claim is not None
        attempts.append(claim.attempt)
        LOSSES[loss](worker, claim)
    assert attempts == [1, 2, 3]
    assert next_claim(worker) is None
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.submission.counts_as) == ("failed", "nothing")
    assert Event.objects.filter(name="submission.refunded").count() == 1
    job = evaluation.jobs.get(kind=kind)
    assert (job.state, job.attempt, job.max_attempts) == ("failed", TIMES, TIMES)


@pytest.mark.parametrize("lost", range(TIMES))
def test_whatever_was_lost_before_a_job_that_is_done_in_the_end_counts_once(
    lost: int, start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    evaluation = start()
    for done in ("run", "score"):
        for _ in range(lost):
            claim = next_claim(worker)
            assert claim is not None
            die(worker, claim)
        claim = next_claim(worker)
        assert claim is not None
        assert (claim.spec.kind, claim.attempt) == (done, lost + 1)
        worker.source.finish(claim, worker.run(claim) if isinstance(claim.spec, RunSpec) else worker.scores(claim))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.in_force) == ("finished", True)
    assert evaluation.scores.count() == 1
    assert set(evaluation.episodes.values_list("attempts", flat=True)) == {1}
    assert evaluation.submission.counts_as == "attempt"


def broken_by_its_environment(claim: Claim) -> RunResult:
    assert isinstance(claim.spec, RunSpec)
    return RunResult(
        episodes=[
            EpisodeResult(
                episode=one.episode,
                outcome=Outcome.FAILED,
                failure=FailureCode.ENVIRONMENT_ERROR,
                message="The environment ended twice.",
                seconds=1.0,
            )
            for one in claim.spec.episodes
        ]
    )


def test_an_episode_is_tried_three_times_though_its_workers_die_in_between(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: FakeWorker
) -> None:
    """What a dead worker had of it was never told, so it is no attempt of the episode."""
    evaluation = start(make_phase(scenarios=1, max_submissions_per_day=1))
    tried = 0
    while claim := next_claim(worker):
        assert claim.spec.kind == "run"
        die(worker, claim)
        claim = next_claim(worker)
        assert claim is not None
        worker.source.finish(claim, broken_by_its_environment(claim))
        tried += 1
    evaluation.refresh_from_db()
    assert (tried, evaluation.state, evaluation.failure_code) == (TIMES, "failed", "environment_error")
    assert evaluation.episodes.get().attempts == TIMES
    submission = evaluation.submission
    assert (submission.counts_as, submission.given_back_for) == ("nothing", "organizer")
    assert allowance(phase=submission.phase, participant=submission.participant).left_today == 1


@pytest.mark.parametrize("broken", range(TIMES))
def test_an_episode_that_succeeds_in_the_end_is_scored_and_nothing_is_given_back(
    broken: int, start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: FakeWorker
) -> None:
    evaluation = start(make_phase(scenarios=1))
    for _ in range(broken):
        claim = next_claim(worker)
        assert claim is not None
        worker.source.finish(claim, broken_by_its_environment(claim))
    worker.finish_all()
    evaluation.refresh_from_db()
    episode = evaluation.episodes.get()
    assert (evaluation.state, episode.attempts, episode.failure_code) == ("finished", broken + 1, "")
    assert evaluation.submission.counts_as == "attempt"


# What is told of episodes


@pytest.fixture
def sliced(start: Callable[..., Evaluation], make_phase: Callable[..., Phase], settings: Any) -> Evaluation:
    """Six episodes, two in a job."""
    settings.RUN_SLICE = 2
    return start(make_phase(scenarios=6))


def test_results_in_another_order_are_the_same_results(sliced: Evaluation, worker: FakeWorker) -> None:
    while (claim := worker.must_claim()) and isinstance(claim.spec, RunSpec):
        result = worker.run(claim)
        worker.source.finish(claim, result.model_copy(update={"episodes": list(reversed(result.episodes))}))
    positions = [one.key for one in claim.spec.episodes]  # type: ignore[union-attr]
    assert positions == list(sliced.episodes.order_by("position").values_list("scenario__key", flat=True))
    worker.source.finish(claim, worker.scores(claim))
    sliced.refresh_from_db()
    assert (sliced.state, sliced.episodes_done) == ("finished", 6)


@pytest.mark.django_db(transaction=True)
def test_of_signs_of_a_start_that_come_at_once_the_others_are_queued_once(
    sliced: Evaluation, worker: FakeWorker, at_once: Any
) -> None:
    claim = worker.must_claim()
    at_once(4, lambda: worker.source.report(claim, JobEvent.AGENT_STARTED, {}))
    assert sorted(sliced.jobs.values_list("index", flat=True)) == [0, 1, 2]
    assert not sliced.episodes.filter(job=None).exists()


@pytest.mark.django_db(transaction=True)
def test_of_jobs_that_end_at_once_the_last_queues_the_scoring_and_only_it(
    sliced: Evaluation, worker: FakeWorker, at_once: Any
) -> None:
    first = worker.must_claim()
    worker.source.report(first, JobEvent.AGENT_STARTED, {})
    ends = [first, worker.must_claim(), worker.must_claim()]
    left = list(ends)

    def finish() -> None:
        claim = left.pop()
        worker.source.finish(claim, worker.run(claim))

    at_once(3, finish)
    sliced.refresh_from_db()
    assert (sliced.state, sliced.episodes_done) == ("scoring", 6)
    assert sliced.jobs.filter(kind="score").count() == 1
    assert sliced.agent_seconds == 2.0 * len(ends)


@pytest.mark.parametrize("how", ["another evaluation's", "unknown"])
def test_a_result_of_an_episode_that_is_not_its_evaluations_is_stored_neither_there_nor_here(
    how: str, sliced: Evaluation, start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    other = start()
    foreign = str(other.episodes.first().pk if how == "another evaluation's" else UUID(int=0))
    claim = worker.must_claim()
    assert claim.evaluation == str(sliced.pk)
    result = worker.run(claim)
    wrong = result.episodes[0].model_copy(update={"episode": foreign})
    with pytest.raises(KeyError):  # by which the platform's own worker gives the job back
        worker.source.finish(claim, result.model_copy(update={"episodes": [*result.episodes, wrong]}))
    assert not other.episodes.exclude(outcome="").exists()
    assert not sliced.episodes.exclude(outcome="").exists()
    worker.source.report(claim, JobEvent.EPISODE_ENDED, {"episode": foreign})
    sliced.refresh_from_db()
    other.refresh_from_db()
    assert (sliced.episodes_done, other.episodes_done) == (0, 0)
    worker.source.finish(claim, result)


@pytest.mark.django_db(transaction=True)
def test_a_result_that_is_stored_while_its_lease_runs_out_is_stored_and_not_tried_again(
    sliced: Evaluation, worker: FakeWorker, overlapping: Any
) -> None:
    claim = worker.must_claim()

    def finish_at_the_last_moment() -> None:
        Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now())
        worker.source.finish(claim, worker.run(claim))

    assert overlapping(finish_at_the_last_moment, claims.take_from_dead_workers) == 0
    job = Job.objects.get(pk=claim.job)
    assert (job.state, job.attempt) == ("done", 1)


@pytest.mark.django_db(transaction=True)
def test_a_result_that_comes_while_its_job_is_taken_away_is_refused_wholly(
    sliced: Evaluation, worker: FakeWorker, overlapping: Any
) -> None:
    claim = worker.must_claim()
    Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now())
    late = overlapping(claims.take_from_dead_workers, lambda: worker.source.finish(claim, worker.run(claim)))
    assert isinstance(late, LeaseLost)
    assert not sliced.episodes.exclude(outcome="").exists()
    job = Job.objects.get(pk=claim.job)
    assert (job.state, job.attempt) == ("ready", 1)


@pytest.mark.django_db(transaction=True)
def test_of_many_who_notice_one_dead_worker_one_counts_it(sliced: Evaluation, worker: FakeWorker, at_once: Any) -> None:
    claim = worker.must_claim()
    Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now())
    assert sum(at_once(4, claims.take_from_dead_workers)) == 1
    assert Event.objects.filter(name="job.lost").count() == 1
    again = next_claim(worker)
    assert again is not None
    assert again.attempt == 2
