"""A phase of several trials, from its jobs to the board and the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from gauntlet.competitions.models import Column, Phase
from gauntlet.evaluation.models import Evaluation
from gauntlet.leaderboards.models import ColumnValue
from gauntlet_runtime.jobs import ProgramScores, ScoreResult


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    """Three scenarios, twice each; a column is the share of scenarios that passed both times."""
    phase = make_phase(scenarios=3, trials=2, isolation="scenario", visibility="full", public=True)
    board = phase.competition.leaderboards.get()
    source = {"leaderboard": board, "source": "rubric.score"}
    Column.objects.create(index=2, key="both", title="Both", over="pass^2", pass_at=1.0, **source)
    Column.objects.create(index=3, key="spread", title="Spread", over="std", **source)
    Column.objects.create(
        index=4, key="sure", title="Sure", over="pass^2", pass_at=1.0, unverified="exclude", min_verified=0.5, **source
    )
    board.columns.filter(key="score").update(worst=0.0)
    return phase


def judged(claim: Any, values: dict[tuple[str, int], float | None]) -> ScoreResult:
    """The scorer's word on each scenario and trial; where it has none, the trial could not be verified."""
    rows = [
        {"scenario": e.key, "trial": e.trial, "scores": {} if value is None else {"score": value}}
        for e in claim.spec.episodes
        for value in [values[e.key, e.trial]]
    ]
    return ScoreResult(programs=[ProgramScores(key="rubric", scores={"score": 0.5}, scenarios=rows)])


def verdicts(html: str) -> list[str]:
    return [re.sub("<[^>]+>", "", cell).strip() for cell in re.findall(r'data-l="Verdict"[^>]*>(.*?)</td>', html)]


def test_trials_reach_the_board_and_the_page_with_their_verdicts(
    start: Callable[..., Evaluation], phase: Phase, worker: Any
) -> None:
    evaluation = start(phase)
    run = worker.must_claim()
    assert run.spec.isolation == "scenario"
    assert sorted((e.key, e.trial) for e in run.spec.episodes) == [(f"key-{n}", t) for n in range(3) for t in (1, 2)]
    worker.source.finish(run, worker.run(run))
    values = {
        ("key-0", 1): 1.0,
        ("key-0", 2): 1.0,
        ("key-1", 1): 1.0,
        ("key-1", 2): 0.5,
        ("key-2", 1): None,
        ("key-2", 2): 1.0,
    }
    score = worker.must_claim()
    worker.source.finish(score, judged(score, values))
    evaluation.refresh_from_db()
    assert evaluation.state == "finished"
    board = dict(ColumnValue.objects.filter(submission=evaluation.submission).values_list("column__key", "value"))
    assert board["score"] == 4.5 / 6  # what nobody could verify counts as failed
    assert board["both"] == 1 / 3
    assert board["sure"] == 0.5  # of the two scenarios of which both trials were verified, one passed twice
    assert board["spread"] == pytest.approx((1.0 - 0.75) / 2**0.5)  # of the same two

    client = Client()
    client.force_login(evaluation.submission.participant)
    html = client.get(f"/submissions/{evaluation.submission_id}/").content.decode()
    assert verdicts(html) == ["Passed", "Passed", "Passed", "Failed", "Not verified", "Passed"]
    assert "1 not verified: it counts as failed, with the worst value." in html
    assert "1 not verified: it is left out; below 50% verified there is no value." in html
    rows = client.get(f"/competitions/{phase.competition.slug}/leaderboard/").content.decode()
    assert '0.750 <small class="muted">(1 not verified)</small>' in rows
    assert "Score: it counts as failed, with the worst value." in rows
    assert "Sure: it is left out; below 50% verified there is no value." in rows
    found = client.get(reverse("api-leaderboard", args=[phase.competition.slug, phase.index])).json()
    assert found["rows"][0]["scores"]["score"] | {"low": None, "high": None} == {
        "value": 0.75,
        "low": None,
        "high": None,
        "unverified": 1,
    }
    assert [column["unverified"] for column in found["columns"]] == ["fail", "fail", "fail", "fail", "exclude"]


@pytest.mark.parametrize(("alone", "expected"), [(False, ["Passed"] * 6), (True, [])])
def test_a_column_over_trials_of_another_program_gives_no_verdicts(
    start: Callable[..., Evaluation], phase: Phase, worker: Any, alone: bool, expected: list[str]
) -> None:
    """Such as one for another phase's tasks: nothing of this evaluation was to be verified by it."""
    board = phase.competition.leaderboards.get()
    board.columns.filter(over="pass^2").update(index=9, over="mean" if alone else "pass^2")
    Column.objects.create(
        leaderboard=board, index=2, key="other", title="Other", source="other.score", over="pass^1", pass_at=1.0
    )
    evaluation = start(phase)
    worker.finish_all(value=1.0)
    client = Client()
    client.force_login(evaluation.submission.participant)
    html = client.get(f"/submissions/{evaluation.submission_id}/").content.decode()
    assert verdicts(html) == expected


def test_a_page_without_a_column_over_trials_gives_no_verdicts(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    evaluation = start(make_phase(visibility="full", public=True))
    worker.finish_all()
    client = Client()
    client.force_login(evaluation.submission.participant)
    assert 'data-l="Verdict"' not in client.get(f"/submissions/{evaluation.submission_id}/").content.decode()


def test_a_sandbox_for_each_scenario_has_the_time_of_one_episode(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    start(make_phase(scenarios=3))
    together = worker.must_claim().spec
    worker.claims.clear()
    start(make_phase(scenarios=3, isolation="scenario"))
    alone = worker.must_claim().spec
    seconds = together.episode_limits.episode_seconds
    assert together.agent_limits.seconds - alone.agent_limits.seconds == 2 * seconds


def test_an_agent_that_works_on_one_episode_at_a_time_has_time_for_all_where_it_may_work_on_several(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: Any
) -> None:
    start(make_phase(scenarios=4, max_parallel_episodes=2))
    spec = worker.must_claim().spec
    assert spec.max_parallel_episodes == 2
    assert spec.agent_limits.seconds >= 4 * spec.episode_limits.episode_seconds
