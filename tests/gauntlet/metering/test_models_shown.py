"""What pages and API tell of language models: what may be used, and what was, where the phase lets it be seen."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.services import start_evaluations
from gauntlet_runtime.jobs import EpisodeResult, RunResult, RunSpec, ScoreResult
from gauntlet_scoring.trajectory import Outcome


@pytest.fixture
def scored(llm_phase: Any, make_submission: Any) -> Callable[..., tuple[Any, Client]]:
    """A finished submission whose episodes called models, and its owner's client."""

    def make(**fields: Any) -> tuple[Any, Client]:
        submission = make_submission(llm_phase(scenarios=2, **fields))
        start_evaluations(submission)
        source = DatabaseJobSource()
        while (claim := source.claim(queues=["default"], worker="host:1")) is not None:
            if not isinstance(claim.spec, RunSpec):
                source.finish(claim, ScoreResult(programs=[]))
                continue
            used = {"tokens": 1200, "cost": Decimal("0.0125"), "model_calls": 2}
            episodes = [
                EpisodeResult(episode=one.episode, outcome=Outcome.ANSWERED, seconds=1.0, **used)
                for one in claim.spec.episodes
            ]
            source.finish(claim, RunResult(episodes=episodes))
        client = Client()
        client.force_login(submission.participant)
        return submission, client

    return make


@pytest.mark.django_db
def test_the_owner_sees_tokens_and_cost(scored: Any) -> None:
    submission, client = scored()
    page = client.get(f"/submissions/{submission.pk}/").content.decode()
    assert "4 model calls with 2,400 tokens at a cost of 0.025." in page
    assert '<td data-l="Tokens" class="r">1,200</td><td data-l="Cost" class="r">0.0125</td>' in page
    story = client.get(f"/api/v1/submissions/{submission.pk}").json()
    (evaluation,) = story["evaluations"]
    told = [(episode["model_calls"], episode["tokens"], episode["cost"]) for episode in evaluation["episodes"]]
    assert told == [(2, 1200, "0.0125")] * 2


@pytest.mark.django_db
def test_where_scores_are_hidden_so_is_the_use_of_models(scored: Any) -> None:
    submission, client = scored(visibility="none")
    page = client.get(f"/submissions/{submission.pk}/").content.decode()
    story = client.get(f"/api/v1/submissions/{submission.pk}").json()
    assert "2,400" not in page
    assert "Tokens" not in page
    assert story["evaluations"][0]["episodes"] == []


@pytest.mark.django_db
def test_whoever_reads_a_competition_is_told_its_models_and_not_their_provider(llm_phase: Any) -> None:
    slug = llm_phase({"provider": "unseen"}).competition.slug
    page = Client().get(f"/competitions/{slug}/").content.decode()
    sentence = "At most 1,000 tokens for an episode; 5,000 tokens and a cost of 0.5 for a whole run."
    assert f"Language models: small. {sentence}" in page
    (competition,) = Client().get("/api/v1/competitions").json()["results"]
    assert competition["phases"][0]["llm"] == {
        "models": ["small"],
        "per_episode": {"tokens": 1000},
        "per_evaluation": {"tokens": 5000, "cost": "0.5"},
    }
    assert "unseen" not in page


@pytest.mark.django_db
def test_whoever_reads_a_competition_is_told_every_limit(llm_phase: Any) -> None:
    limits = {"per_submission": {"cost": "4"}, "rate": 1200, "concurrency": 4}
    slug = llm_phase({"per_episode": {}, "per_evaluation": {}, **limits}).competition.slug
    page = Client().get(f"/competitions/{slug}/").content.decode()
    told = "At most a cost of 4 for all tasks of a submission; 1,200 calls in a minute; 4 calls at once."
    assert f"Language models: small. {told}" in page
    (competition,) = Client().get("/api/v1/competitions").json()["results"]
    assert competition["phases"][0]["llm"] == {"models": ["small"], **limits}
