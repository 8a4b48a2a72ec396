"""A score job's judge through the platform's own source: spec, account, kept answers; and tasks that share a budget."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now

from gauntlet.evaluation.claims import take_from_dead_workers
from gauntlet.evaluation.job_models import judge_account, submission_account
from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.services import start_evaluations
from gauntlet.metering.models import Account, Reservation
from gauntlet_runtime.jobs import Claim, EpisodeResult, RunResult, RunSpec, ScoreResult, ScoreSpec
from gauntlet_runtime.metering import Settlement, Shortage
from gauntlet_scoring.trajectory import Outcome

SOURCE = DatabaseJobSource()
JUDGE = {
    "model": "small",
    "provider": "ours",
    "runs": 5,
    "temperature": 0.3,
    "concurrency": 2,
    "cost_budget": "0.01",
}


def claim() -> Claim:
    claimed = SOURCE.claim(queues=["default"], worker="host:1")
    assert claimed is not None
    return claimed


def finish_run(claimed: Claim) -> None:
    assert isinstance(claimed.spec, RunSpec)
    episodes = [
        EpisodeResult(episode=one.episode, outcome=Outcome.ANSWERED, seconds=1.0) for one in claimed.spec.episodes
    ]
    SOURCE.finish(claimed, RunResult(episodes=episodes))


@pytest.fixture
def scoring(make_phase: Any, make_submission: Any) -> Any:
    """The claim of a score job whose task has a judge, and its evaluation."""
    phase = make_phase()
    phase.tasks.update(judge=JUDGE)
    (evaluation,) = start_evaluations(make_submission(phase))
    run = claim()
    assert SOURCE.models(run).access() is None  # the agent has no way to the judge
    finish_run(run)
    return claim(), evaluation


@pytest.mark.django_db
def test_the_spec_names_the_judge_and_holds_no_key(scoring: Any) -> None:
    claimed, evaluation = scoring
    assert isinstance(claimed.spec, ScoreSpec)
    judge = claimed.spec.judge
    assert judge is not None
    assert (judge.model, judge.runs, judge.temperature, judge.models.concurrency) == ("small", 5, 0.3, 2)
    assert judge.models.per_evaluation.cost == Decimal("0.01")
    access = SOURCE.models(claimed).access()
    assert access is not None
    assert access.key.get_secret_value() == "sk-operators-key"
    assert "sk-operators-key" not in claimed.model_dump_json()
    limit = evaluation.submission.phase.execution_time_limit
    assert claimed.spec.limits.seconds > limit  # waiting for the judge is none of the program's doing


@pytest.mark.django_db
def test_a_task_without_a_judge_has_none(make_phase: Any, make_submission: Any) -> None:
    start_evaluations(make_submission(make_phase()))
    finish_run(claim())
    claimed = claim()
    assert isinstance(claimed.spec, ScoreSpec)
    assert claimed.spec.judge is None
    assert SOURCE.models(claimed).access() is None


@pytest.mark.django_db
def test_the_judge_has_a_budget_of_its_own_for_each_evaluation(scoring: Any, wanted: Any) -> None:
    claimed, evaluation = scoring
    models = SOURCE.models(claimed)
    one = wanted(100, "0.009")
    assert models.reserve(one) is None
    refused = models.reserve(wanted(100, "0.002"))
    assert refused is not None
    assert (refused.shortage, refused.limit, refused.used) == (Shortage.COST, "0.01", "0.009")
    models.settle(Settlement(id=one.id, tokens=40, cost=Decimal("0.004"), paid=True))
    account = Account.objects.get()
    assert (account.pk, account.what) == (judge_account(evaluation.pk), "judge")
    assert (account.tokens, account.cost, account.paid) == (40, Decimal("0.004"), Decimal("0.004"))
    SOURCE.finish(claimed, ScoreResult(programs=[]))
    (rerun,) = start_evaluations(evaluation.submission)
    assert not Account.objects.filter(pk=judge_account(rerun.pk)).exists()


@pytest.mark.django_db
def test_calls_that_a_dead_scorer_left_open_keep_no_place_of_its_next_attempt(scoring: Any, wanted: Any) -> None:
    claimed, _ = scoring
    for _ in range(2):  # as many as its judge may be asked at once
        assert SOURCE.models(claimed).reserve(wanted(10)) is None
    Job.objects.filter(pk=UUID(claimed.job)).update(leased_until=Now() - timedelta(seconds=1))
    assert take_from_dead_workers() == 1
    assert not Reservation.objects.filter(settled_at=None).exists()
    Job.objects.filter(pk=UUID(claimed.job)).update(available_at=Now())
    again = claim()
    assert again.job == claimed.job
    assert SOURCE.models(again).reserve(wanted(10)) is None


@pytest.mark.django_db
def test_the_judges_answers_are_kept_for_a_rescore(scoring: Any, tmp_path: Path) -> None:
    claimed, evaluation = scoring
    answer = tmp_path / "answer"
    answer.write_text("a verdict")
    SOURCE.models(claimed).keep_answer("k" * 64, answer)
    SOURCE.finish(claimed, ScoreResult(programs=[]))
    start_evaluations(evaluation.submission)
    finish_run(claim())
    assert SOURCE.models(claim()).find_answer("k" * 64, tmp_path / "again")


@pytest.mark.django_db
def test_the_agents_of_all_tasks_of_a_submission_draw_on_one_budget(
    llm_phase: Any, make_phase: Any, make_submission: Any, wanted: Any
) -> None:
    phase = llm_phase({"per_submission": {"tokens": 1000}, "concurrency": 8})
    other = make_phase(competition=phase.competition)
    phase.tasks.add(*other.tasks.all())
    submission = make_submission(phase)
    first, second = start_evaluations(submission)
    claims = [claim(), claim()]
    assert {one.evaluation for one in claims} == {str(first.pk), str(second.pk)}
    assert SOURCE.models(claims[0]).reserve(wanted(800)) is None
    refused = SOURCE.models(claims[1]).reserve(wanted(300))
    assert refused is not None
    assert (refused.shortage, refused.limit, refused.whose) == (Shortage.TOKENS, "1000", "submission")
    assert SOURCE.models(claims[1]).reserve(wanted(200)) is None
    assert Account.objects.get(pk=submission_account(submission.pk, number=1)).tokens == 1000
