"""Scores, `finished` and the board's entry come together or not at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from gauntlet.accounts.models import Event
from gauntlet.evaluation.models import Evaluation, Job, Score
from gauntlet.evaluation.services import start_evaluations
from gauntlet.leaderboards.models import Entry
from gauntlet_runtime.jobs import Claim, Failure, ScoreResult, ScoreSpec


@pytest.fixture
def scoring(start: Callable[..., Evaluation], worker: Any) -> tuple[Evaluation, Claim]:
    """An evaluation whose episodes have ended, and the claim of its score job."""
    evaluation = start()
    while not isinstance((claim := worker.must_claim()).spec, ScoreSpec):
        worker.source.finish(claim, worker.run(claim))
    return evaluation, claim


def test_a_finished_evaluation_has_scores_per_scenario_details_and_a_place_on_the_board(
    scoring: tuple[Evaluation, Claim], worker: Any
) -> None:
    evaluation, claim = scoring
    worker.source.finish(claim, worker.scores(claim, 0.75))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.in_force) == ("finished", True)
    assert dict(evaluation.scores.values_list("key", "value")) == {"rubric.score": 0.75}
    episode = evaluation.episodes.first()
    assert episode is not None
    assert [(score.key, score.value) for score in episode.scores.all()] == [("rubric.score", 0.75)]
    assert [detail.detail for detail in episode.details.all()] == [{"why": "because"}]
    assert evaluation.record["scoring"] == {"rubric": {"judge": "checks"}}
    entry = Entry.objects.get()
    assert (entry.submission, entry.scenarios) == (evaluation.submission, 3)
    values = {value.column.key: value.value for value in evaluation.submission.column_values.all()}
    assert values == {"score": 0.75, "steps": 3.0}


def test_finished_is_never_seen_before_its_score(
    scoring: tuple[Evaluation, Claim], worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation, claim = scoring

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the board cannot be written")

    monkeypatch.setattr("gauntlet.evaluation.scores.record_result", fail)
    with pytest.raises(RuntimeError), transaction.atomic():
        worker.source.finish(claim, worker.scores(claim))
    evaluation.refresh_from_db()
    assert evaluation.state == "scoring"
    assert not Score.objects.exists()
    assert Job.objects.get(pk=claim.job).state == "leased"


def test_a_result_that_comes_twice_is_stored_once(scoring: tuple[Evaluation, Claim], worker: Any) -> None:
    from gauntlet_runtime.jobs import LeaseLost

    evaluation, claim = scoring
    worker.source.finish(claim, worker.scores(claim, 0.5))
    with pytest.raises(LeaseLost):
        worker.source.finish(claim, worker.scores(claim, 0.9))
    assert [score.value for score in evaluation.scores.all()] == [0.5]


def test_a_scoring_error_is_retried_then_fails_the_evaluation_and_refunds(
    scoring: tuple[Evaluation, Claim], worker: Any, scoring_failure: Failure
) -> None:
    evaluation, claim = scoring
    for _ in range(3):
        worker.source.finish(claim, ScoreResult(programs=[], failure=scoring_failure, log="KeyError: 'id'"))
        Job.objects.filter(state="ready").update(available_at="2020-01-01T00:00:00Z")
        claim = worker.claim()
    assert claim is None
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "scoring_error")
    assert evaluation.submission.counts_as == "nothing"
    assert evaluation.jobs.get(kind="score").log == "KeyError: 'id'"
    assert not Entry.objects.exists()


def test_scores_for_a_scenario_that_is_not_there_are_a_scoring_error(
    scoring: tuple[Evaluation, Claim], worker: Any
) -> None:
    evaluation, claim = scoring
    result = worker.scores(claim)
    result.programs[0].scenarios[0]["scenario"] = "invented"
    worker.source.finish(claim, result)
    job = Job.objects.get(pk=claim.job)
    assert (job.state, job.attempt) == ("ready", 1)
    assert not Score.objects.exists()
    assert evaluation.jobs.filter(kind="score").count() == 1


@pytest.mark.parametrize("where", ["scores", "scenarios", "twice"])
def test_scores_that_have_no_place_are_the_programs_fault(
    scoring: tuple[Evaluation, Claim], worker: Any, where: str
) -> None:
    _, claim = scoring
    result = worker.scores(claim)
    if where == "twice":
        result.programs[0].scenarios.append(result.programs[0].scenarios[0])
    else:
        scores = result.programs[0].scores if where == "scores" else result.programs[0].scenarios[0]["scores"]
        scores["x" * 74] = 1.0
    worker.source.finish(claim, result)
    lost = Event.objects.get(name="job.lost", subject_id=claim.job)
    assert lost.reason == "The scoring program rubric gave " + (
        "scores for one scenario and trial twice." if where == "twice" else "a score a name of more than 73 characters."
    )
    assert not Score.objects.exists()


def test_a_rerun_takes_the_place_of_the_earlier_result_and_a_failed_one_does_not(
    scoring: tuple[Evaluation, Claim], worker: Any, agent_failure: Failure
) -> None:
    from gauntlet_runtime.jobs import RunResult

    first, claim = scoring
    worker.source.finish(claim, worker.scores(claim, 0.5))
    (second,) = start_evaluations(first.submission)
    claim = worker.must_claim()
    worker.source.finish(claim, RunResult(episodes=[], failure=agent_failure))
    first.refresh_from_db()
    assert (second.number, first.in_force) == (2, True)
    (third,) = start_evaluations(first.submission)
    worker.finish_all(0.25)
    first.refresh_from_db()
    third.refresh_from_db()
    assert (first.in_force, third.in_force, third.state) == (False, True, "finished")
    assert first.submission.column_values.get(column__key="score").value == 0.25


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_the_database_itself_refuses_a_score_that_is_not_a_finite_number(
    scoring: tuple[Evaluation, Claim], value: float
) -> None:
    evaluation, _ = scoring
    with pytest.raises(IntegrityError), transaction.atomic():
        Score.objects.create(evaluation=evaluation, key="rubric.score", value=value)


@pytest.mark.django_db(transaction=True)
def test_two_runs_of_a_submission_that_finish_at_once_both_finish_and_one_is_in_force(
    scoring: tuple[Evaluation, Claim], worker: Any
) -> None:
    first, claim = scoring
    (second,) = start_evaluations(first.submission)
    while not isinstance((other := worker.must_claim()).spec, ScoreSpec):
        worker.source.finish(other, worker.run(other))
    together = Barrier(2)

    def finish(one: Claim) -> None:
        together.wait()
        try:
            worker.source.finish(one, worker.scores(one))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(finish, [claim, other]))
    states = Evaluation.objects.filter(pk__in=[first.pk, second.pk]).values_list("state", "in_force")
    assert sorted(states) == [("finished", False), ("finished", True)]
