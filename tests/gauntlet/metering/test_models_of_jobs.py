"""A run job's models through the platform's own source: what its spec says, one budget for all jobs, and the fence."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from gauntlet.evaluation.claims import take_from_dead_workers
from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.services import start_evaluations
from gauntlet.metering.models import Account, Reservation
from gauntlet_runtime.jobs import Claim, EpisodeResult, JobEvent, LeaseLost, RunResult, RunSpec, ScoreResult, ScoreSpec
from gauntlet_runtime.metering import Settlement, Shortage
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

SOURCE = DatabaseJobSource()


def claim() -> Claim:
    claimed = SOURCE.claim(queues=["default"], worker="host:1")
    assert claimed is not None
    return claimed


@pytest.fixture
def start(llm_phase: Any, make_submission: Any) -> Callable[..., Any]:
    """Queue an evaluation whose phase has models."""

    def start(llm: dict[str, Any] | None = None, **fields: Any) -> Any:
        (evaluation,) = start_evaluations(make_submission(llm_phase(llm, **fields)))
        return evaluation

    return start


def finish(claimed: Claim, **used: Any) -> None:
    """Hand a run job back in which every episode was answered after so much use of models."""
    assert isinstance(claimed.spec, RunSpec)
    episodes = [
        EpisodeResult(episode=one.episode, outcome=Outcome.ANSWERED, seconds=1.0, **used)
        for one in claimed.spec.episodes
    ]
    SOURCE.finish(claimed, RunResult(episodes=episodes))


@pytest.mark.django_db
def test_the_spec_says_what_may_be_used_and_holds_no_key(start: Callable[..., Any]) -> None:
    start({"rate": 30, "concurrency": 4, "max_tokens": 500})
    claimed = claim()
    assert isinstance(claimed.spec, RunSpec)
    llm = claimed.spec.llm
    assert llm is not None
    assert (llm.provider, llm.calls_per_minute, llm.concurrency, llm.max_tokens, llm.cache) == (
        "ours",
        30,
        4,
        500,
        True,
    )
    assert (llm.per_episode.tokens, llm.per_evaluation.cost) == (1000, Decimal("0.5"))
    assert [(offer.name, offer.price_in, offer.price_out) for offer in llm.models] == [
        ("small", Decimal("0.15"), Decimal("0.6"))
    ]
    access = SOURCE.models(claimed).access()
    assert access is not None
    assert access.key.get_secret_value() == "sk-operators-key"
    for shown in (claimed.model_dump_json(), repr(claimed), repr(access), access.model_dump_json()):
        assert "sk-operators-key" not in shown


@pytest.mark.django_db
def test_a_phase_without_models_has_none(make_phase: Any, make_submission: Any) -> None:
    start_evaluations(make_submission(make_phase()))
    claimed = claim()
    assert isinstance(claimed.spec, RunSpec)
    assert claimed.spec.llm is None
    assert SOURCE.models(claimed).access() is None


@pytest.mark.django_db
def test_all_jobs_of_an_evaluation_draw_on_one_budget(start: Callable[..., Any], settings: Any, wanted: Any) -> None:
    settings.RUN_SLICE = 1
    evaluation = start({"per_evaluation": {"tokens": 1000}})
    first = claim()
    SOURCE.report(first, JobEvent.AGENT_PROVEN, {})
    second = claim()
    assert second.evaluation == first.evaluation == str(evaluation.pk)
    one = wanted(700)
    assert SOURCE.models(first).reserve(one) is None
    refused = SOURCE.models(second).reserve(wanted(400))
    assert refused is not None
    assert (refused.shortage, refused.limit, refused.used) == (Shortage.TOKENS, "1000", "700")
    SOURCE.models(first).settle(Settlement(id=one.id, tokens=100, cost=Decimal(0), paid=True))
    assert SOURCE.models(second).reserve(wanted(400)) is None
    (other,) = start_evaluations(evaluation.submission)  # a rerun has a budget of its own
    assert not Account.objects.filter(pk=other.pk).exists()


@pytest.mark.django_db
def test_a_dead_workers_calls_count_for_nothing_and_its_late_words_are_refused(
    start: Callable[..., Any], wanted: Any, tmp_path: Path
) -> None:
    evaluation = start()
    dead, ended, one = claim(), wanted(90), wanted(800)
    models = SOURCE.models(dead)
    assert models.reserve(ended) is None
    models.settle(Settlement(id=ended.id, tokens=70, cost=ended.cost, paid=True))
    assert models.reserve(one) is None
    account = Account.objects.get(pk=evaluation.pk)
    assert (account.tokens, account.paid) == (870, ended.cost)
    Job.objects.filter(pk=UUID(dead.job)).update(leased_until=Now() - timedelta(seconds=1))
    assert take_from_dead_workers() == 1
    assert not Reservation.objects.filter(settled_at=None).exists()
    late = Settlement(id=one.id, tokens=1, cost=Decimal(0), paid=True)
    answer = tmp_path / "answer.json"
    answer.write_text("[]")
    for late_word in (
        lambda: models.reserve(wanted(1)),
        lambda: models.settle(late),
        lambda: models.find_answer("k", tmp_path / "found"),
        lambda: models.keep_answer("k", answer),
    ):
        with pytest.raises(LeaseLost):
            late_word()
    for account in Account.objects.all():  # the submission's too: all is run again, and what was paid stays paid
        assert (account.tokens, account.cost, account.paid) == (0, 0, ended.cost + one.cost), account.what
    assert Reservation.objects.count() == Account.objects.count() == 2
    Job.objects.update(available_at=Now())
    again, third = claim(), wanted(300)
    models = SOURCE.models(again)
    assert (again.job, models.reserve(third)) == (dead.job, None)
    models.settle(Settlement(id=third.id, tokens=200, cost=Decimal(0), paid=True))
    finish(again, tokens=200)
    assert {account.tokens for account in Account.objects.all()} == {200}


@pytest.mark.django_db(transaction=True)
def test_a_call_that_is_reserved_while_its_job_is_taken_away_stays_open_for_nobody(
    start: Callable[..., Any], wanted: Any, until_somebody_waits: Callable[[], None]
) -> None:
    evaluation = start()
    dead = claim()
    models = SOURCE.models(dead)
    one = wanted(1)
    assert models.reserve(one) is None
    models.settle(Settlement(id=one.id, tokens=1, cost=Decimal(0), paid=True))
    Job.objects.filter(pk=UUID(dead.job)).update(leased_until=Now() - timedelta(seconds=1))

    def reserve() -> None:
        try:
            models.reserve(wanted(800))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Account.objects.select_for_update().get(pk=evaluation.pk)  # another job's call is being reserved
            late = pool.submit(reserve)
            until_somebody_waits()
            take_from_dead_workers()
        late.exception(timeout=60)
    take_from_dead_workers()
    assert Job.objects.get(pk=UUID(dead.job)).state == "ready"
    assert not Reservation.objects.filter(settled_at=None).exists()


@pytest.mark.django_db
def test_answers_are_kept_for_the_submission_and_no_other(start: Callable[..., Any], tmp_path: Path) -> None:
    evaluation = start()
    models = SOURCE.models(claim())
    for number in (1, 2):
        answer = tmp_path / f"answer-{number}"
        answer.write_text(f"answer {number}")
        models.keep_answer("k" * 64, answer)
    found = tmp_path / "found"
    assert models.find_answer("k" * 64, found)
    assert found.read_text() == "answer 1"
    assert not models.find_answer("l" * 64, tmp_path / "none")
    start_evaluations(evaluation.submission)
    assert SOURCE.models(claim()).find_answer("k" * 64, tmp_path / "in a rerun")
    start()
    others = claim()
    assert others.submission != str(evaluation.submission_id)
    assert not SOURCE.models(others).find_answer("k" * 64, tmp_path / "of another")


@pytest.mark.django_db
def test_tokens_and_cost_are_columns(start: Callable[..., Any], wanted: Any) -> None:
    from gauntlet.competitions.models import Column
    from gauntlet.evaluation.scores import task_scores

    evaluation = start(scenarios=2)
    board = evaluation.submission.phase.competition.leaderboards.get()
    for index, name in enumerate(("tokens", "cost", "total_tokens", "total_cost", "model_calls"), start=10):
        Column.objects.create(leaderboard=board, index=index, key=name, title=name, source=f"episodes.{name}")
    run = claim()
    assert SOURCE.models(run).reserve(wanted(900)) is None
    finish(run, tokens=300, cost=Decimal("0.0125"), model_calls=3)
    scoring = claim()
    assert isinstance(scoring.spec, ScoreSpec)
    SOURCE.finish(scoring, ScoreResult(programs=[]))
    evaluation.refresh_from_db()
    assert evaluation.state == "finished"
    assert [(e.tokens, e.cost, e.model_calls) for e in evaluation.episodes.all()] == [(300, Decimal("0.0125"), 3)] * 2
    values = {value.column.key: value.value for value in evaluation.submission.column_values.all()}
    told = {name: values[name] for name in ("tokens", "cost", "total_tokens", "total_cost", "model_calls")}
    expected = {"tokens": 300.0, "cost": 0.0125, "total_tokens": 600.0, "total_cost": 0.025, "model_calls": 3.0}
    assert told == pytest.approx(expected)
    assert [row.value for row in task_scores(evaluation).scenarios["episodes.steps"]] == [0.0, 0.0]
    # What the run left open when it ended counts against the budget, and not in the columns.
    assert Account.objects.get(pk=evaluation.pk).tokens == 900


@pytest.mark.django_db
def test_an_episode_that_is_run_again_counts_once(start: Callable[..., Any], wanted: Any) -> None:
    """Else the budget would be short by what was used until the provider failed, and the agent be blamed."""
    evaluation = start(scenarios=2)
    run = claim()
    assert isinstance(run.spec, RunSpec)
    for one in (wanted(300), wanted(400)):
        assert SOURCE.models(run).reserve(one) is None
        SOURCE.models(run).settle(Settlement(id=one.id, tokens=one.tokens, cost=one.cost, paid=True))
    first, second = run.spec.episodes
    cost = Account.objects.get(pk=evaluation.pk).cost / 7
    failed = {"outcome": Outcome.FAILED, "failure": FailureCode.INFRASTRUCTURE, "message": "The provider was away."}
    results = [
        EpisodeResult(episode=first.episode, seconds=1.0, tokens=300, cost=3 * cost, **failed),
        EpisodeResult(episode=second.episode, seconds=1.0, tokens=400, cost=4 * cost, outcome=Outcome.ANSWERED),
    ]
    SOURCE.finish(run, RunResult(episodes=results))
    for account in Account.objects.all():
        assert (account.tokens, account.cost, account.paid) == (400, 4 * cost, 7 * cost), account.what
    again = claim()
    assert isinstance(again.spec, RunSpec)
    assert [one.episode for one in again.spec.episodes] == [first.episode]
    finish(again, tokens=100)
    assert sorted(episode.tokens for episode in evaluation.episodes.all()) == [100, 400]
