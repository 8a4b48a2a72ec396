"""What run jobs give back becomes episodes, further jobs, the scoring."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now

from gauntlet.competitions.models import Phase
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet_runtime.jobs import EpisodeResult, Failure, JobEvent, LeaseLost, RunResult, RunSpec, ScoreSpec
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome


@pytest.fixture
def in_slices(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], settings: Any
) -> Callable[[int], Any]:
    """An evaluation of five episodes in slices of this many."""

    def make(slice_size: int) -> Evaluation:
        settings.RUN_SLICE = slice_size
        return start(make_phase(scenarios=5))

    return make


@pytest.fixture
def evaluation(start: Callable[..., Evaluation], make_phase: Callable[..., Phase]) -> Evaluation:
    return start(make_phase(scenarios=5))


def slices(claims: list[Any]) -> list[list[str]]:
    return [[spec.episode for spec in claim.spec.episodes] for claim in claims]


def test_one_slice_runs_first_and_the_others_are_queued_when_the_agent_has_come_up(
    in_slices: Callable[[int], Evaluation], worker: Any
) -> None:
    evaluation = in_slices(2)
    first = worker.must_claim()
    assert isinstance(first.spec, RunSpec)
    assert first.spec.probe
    assert worker.claim() is None
    worker.source.report(first, JobEvent.AGENT_STARTED, {})
    worker.source.report(first, JobEvent.AGENT_PROVEN, {})
    rest = [worker.must_claim(), worker.must_claim()]
    assert worker.claim() is None
    assert not any(claim.spec.probe for claim in rest)
    assert [len(part) for part in slices([first, *rest])] == [2, 2, 1]
    assert len(set(itertools.chain.from_iterable(slices([first, *rest])))) == 5
    for claim in (rest[0], first, rest[1]):
        assert evaluation.jobs.filter(kind="score").count() == 0
        worker.source.finish(claim, worker.run(claim))
    assert worker.must_claim().spec.kind == "score"


def test_an_agent_that_fails_its_first_slice_fails_though_others_are_queued(
    in_slices: Callable[[int], Evaluation], worker: Any
) -> None:
    evaluation = in_slices(2)
    first = worker.must_claim()
    worker.source.report(first, JobEvent.AGENT_STARTED, {})
    second = worker.must_claim()
    broken = Failure(code=FailureCode.AGENT_ERROR, message="It crashed in both.")
    worker.source.finish(first, RunResult(episodes=[], failure=broken))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "agent_error")
    assert worker.claim() is None
    with pytest.raises(LeaseLost):
        worker.source.renew(second)
    with pytest.raises(LeaseLost):
        worker.source.finish(second, worker.run(second))


def test_slices_whose_queueing_was_never_reported_follow_when_the_first_is_done(
    in_slices: Callable[[int], Evaluation], worker: Any
) -> None:
    in_slices(3)
    first = worker.must_claim()
    worker.source.finish(first, worker.run(first))
    assert [len(part) for part in slices([first, worker.must_claim()])] == [3, 2]


def test_a_first_slice_that_is_run_again_queues_no_episode_twice(
    in_slices: Callable[[int], Evaluation], worker: Any, expire: Any
) -> None:
    in_slices(3)
    first = worker.must_claim()
    worker.source.report(first, JobEvent.AGENT_PROVEN, {})
    second = worker.must_claim()
    expire(first)
    assert worker.claim() is None  # takes it from the dead worker; it waits a moment
    Job.objects.filter(state="ready").update(available_at=Now())
    again = worker.must_claim()
    assert slices([again]) == slices([first])
    assert not again.spec.probe  # it has proven itself: what it loses now is episodes
    worker.source.report(again, JobEvent.AGENT_PROVEN, {})
    assert worker.claim() is None
    assert second.spec.episodes


def test_every_scenario_and_trial_is_an_episode_in_a_seeded_order(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase]
) -> None:
    evaluation = start(make_phase(scenarios=6, trials=2))
    pairs = list(evaluation.episodes.values_list("scenario__index", "trial"))
    assert sorted(pairs) == [(index, trial) for index in range(6) for trial in (1, 2)]
    assert pairs != sorted(pairs)
    assert evaluation.episodes_total == 12


def test_a_worker_gets_neither_ground_truth_nor_more_of_a_scenario_than_is_shown(
    evaluation: Evaluation, worker: Any
) -> None:
    task = evaluation.task
    spec = worker.must_claim().spec
    assert task.reference_data is not None
    assert task.reference_data.digest not in spec.model_dump_json()
    shown = spec.episodes[0]
    assert shown.scenario.startswith("opaque-")
    assert set(shown.model_dump()) == {"episode", "scenario", "key", "trial", "seed", "text", "show"}


def test_when_all_have_ended_the_scoring_is_queued(evaluation: Evaluation, worker: Any) -> None:
    first = worker.must_claim()
    worker.source.finish(first, worker.run(first, only=1))
    rest = worker.must_claim()
    worker.source.finish(rest, worker.run(rest, failures={"key-3": FailureCode.TIME_LIMIT}))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.episodes_done, evaluation.agent_seconds) == ("scoring", 5, 4.0)
    claim = worker.must_claim()
    assert isinstance(claim.spec, ScoreSpec)
    assert [episode.failure for episode in claim.spec.episodes if episode.failure] in (
        [FailureCode.TIME_LIMIT],
        [],  # key-3 was the first episode, which `run` was told to answer
    )
    assert len(claim.spec.episodes) == 5


def test_an_agent_that_cannot_start_fails_the_evaluation_and_uses_the_debugging_quota(
    evaluation: Evaluation, worker: Any, agent_failure: Failure, django_capture_on_commit_callbacks: Any
) -> None:
    claim = worker.must_claim()
    with django_capture_on_commit_callbacks(execute=True):
        worker.source.finish(claim, RunResult(episodes=[], failure=agent_failure, log="Traceback"))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "agent_error")
    assert evaluation.failure_message == agent_failure.message
    assert evaluation.submission.counts_as == "failed_start"
    assert evaluation.jobs.get().log == "Traceback"
    assert worker.claim() is None


def _broken_environment(claim: Any) -> RunResult:
    return RunResult(
        episodes=[
            EpisodeResult(
                episode=claim.spec.episodes[0].episode,
                outcome=Outcome.FAILED,
                failure=FailureCode.ENVIRONMENT_ERROR,
                message="The environment ended twice.",
                seconds=1.0,
            )
        ]
    )


def test_an_episode_that_the_environment_broke_is_repeated_and_scored_when_it_succeeds(
    evaluation: Evaluation, worker: Any
) -> None:
    claim = worker.must_claim()
    worker.source.finish(claim, _broken_environment(claim))
    again = worker.must_claim()
    assert claim.spec.episodes[0].episode in {spec.episode for spec in again.spec.episodes}
    worker.source.finish(again, worker.run(again))
    evaluation.refresh_from_db()
    assert evaluation.state == "scoring"
    assert not evaluation.episodes.exclude(failure_code="").exists()


def test_an_episode_that_the_environment_breaks_three_times_fails_the_evaluation_and_refunds(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    evaluation = start(make_phase(scenarios=1))
    for _ in range(3):
        Job.objects.filter(state="ready").update(available_at=Now())
        claim = worker.must_claim()
        worker.source.finish(claim, _broken_environment(claim))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "environment_error")
    assert evaluation.submission.counts_as == "nothing"
    assert not evaluation.jobs.filter(kind="score").exists()


def test_progress_that_is_reported_twice_counts_once_and_never_goes_back(evaluation: Evaluation, worker: Any) -> None:
    claim = worker.must_claim()
    episode = claim.spec.episodes[0].episode
    for event in (JobEvent.EPISODE_STARTED, JobEvent.EPISODE_ENDED, JobEvent.EPISODE_ENDED, JobEvent.EPISODE_STARTED):
        worker.source.report(claim, event, {"episode": episode})
    evaluation.refresh_from_db()
    assert evaluation.episodes_done == 1
    worker.source.finish(claim, worker.run(claim, only=1))
    evaluation.refresh_from_db()
    assert evaluation.episodes_done == 1
