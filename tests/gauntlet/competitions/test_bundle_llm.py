"""A phase's language models in a bundle: what is stored, and what is said of a wrong one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from gauntlet.competitions.bundle.check import checked_bundle
from gauntlet.competitions.services import import_bundle
from gauntlet.metering.configuration import Provider, read_prices
from gauntlet.metering.selectors import model_spec

RIGHT = """\
    llm:
      models: [small, large]
      provider: ours
      per_episode: {tokens: 20000}
      per_evaluation: {tokens: 1000000, cost: 2.50}
      rate: 120
      concurrency: 4
      cache: true
      max_tokens: 1000
"""


@pytest.fixture(autouse=True)
def offered(settings: Any) -> None:
    settings.MODEL_PROVIDERS = {"ours": Provider(url="https://example.org/v1", key=SecretStr("k"))}
    settings.MODEL_PRICES = read_prices({"small": {"in": "0.15", "out": "0.6"}, "large": {"in": 2, "out": 8}})


def write(bundle: Any, llm: str = RIGHT) -> None:
    bundle.replace("    visibility: scores\n", f"    visibility: scores\n{llm}")


def findings(bundle: Any) -> list[Any]:
    with checked_bundle(bundle.root) as checked:
        return checked.findings


@pytest.mark.django_db
def test_what_a_phase_says_is_stored_and_reaches_the_run(bundle: Any, make_user: Any) -> None:
    write(bundle)
    assert findings(bundle) == []
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    with_models, without = competition.phases.all()
    assert without.llm is None
    assert with_models.llm == {
        "provider": "ours",
        "models": ["small", "large"],
        "per_episode": {"tokens": 20000},
        "per_evaluation": {"tokens": 1000000, "cost": "2.5"},
        "cache": True,
        "rate": 120,
        "concurrency": 4,
        "max_tokens": 1000,
    }
    spec = model_spec(with_models.llm)
    assert [str(offer.price_out) for offer in spec.models] == ["0.6", "8"]
    assert (str(spec.per_evaluation.cost), spec.max_tokens, spec.calls_per_minute) == ("2.5", 1000, 120)


@pytest.mark.django_db
def test_models_that_make_embeddings_are_named_by_themselves(bundle: Any, make_user: Any, settings: Any) -> None:
    write(bundle, RIGHT.replace("models: [small, large]", "models: [small]\n      embeddings: [vectors, small]"))
    assert [(found.field, found.message.split(",")[0]) for found in findings(bundle)] == [
        ("phases[0].llm.embeddings[0]", "a budget of cost needs the price of 'vectors'"),
        ("phases[0].llm.embeddings[1]", "names the model 'small' twice."),
    ]
    settings.MODEL_PRICES = read_prices({"small": {"in": "0.15", "out": "0.6"}, "vectors": {"in": 1, "out": 0}})
    bundle.replace("vectors, small", "vectors")
    phase = import_bundle(bundle.root, organizer=make_user(), publish=True).phases.first()
    assert phase is not None
    assert phase.llm is not None
    assert [(one.name, one.embeds) for one in model_spec(phase.llm).models] == [("small", False), ("vectors", True)]


@pytest.mark.django_db
def test_a_budget_of_the_submission_is_shared_by_its_tasks(bundle: Any, make_user: Any) -> None:
    write(bundle, RIGHT.replace("per_evaluation: {tokens: 1000000, cost: 2.50}", "per_submission: {cost: 7}"))
    assert findings(bundle) == []
    phase = import_bundle(bundle.root, organizer=make_user(), publish=True).phases.first()
    assert phase is not None
    spec = model_spec(phase.llm or {})
    assert (str(spec.per_submission.cost), spec.per_evaluation.cost) == ("7", None)


def test_the_only_provider_need_not_be_named(bundle: Any) -> None:
    write(bundle, RIGHT.replace("      provider: ours\n", ""))
    assert findings(bundle) == []


@pytest.mark.parametrize(
    ("old", "new", "level", "field", "words"),
    [
        ("[small, large]", "[]", "error", "models", "at least one"),
        ("[small, large]", "small", "error", "models", "must be a list"),
        ("[small, large]", "[small, small]", "error", "models[1]", "twice"),
        ("      models: [small, large]\n", "", "error", "models", "is missing"),
        ("[small, large]", "[small, smal]", "error", "models[1]", "Did you mean 'small'?"),
        ("provider: ours", "provider: our", "warning", "provider", "Did you mean 'ours'?"),
        ("tokens: 20000", "tokens: 0", "error", "per_episode.tokens", "from 1"),
        ("tokens: 20000", "tokens: many", "error", "per_episode.tokens", "whole number"),
        ("cost: 2.50", "cost: free", "error", "per_evaluation.cost", "such as 0.50"),
        ("cost: 2.50", "cost: -1", "error", "per_evaluation.cost", "above 0"),
        ("cost: 2.50", "cost: .inf", "error", "per_evaluation.cost", "above 0"),
        ("cost: 2.50", "costs: 2.50", "warning", "per_evaluation.costs", "Did you mean 'cost'?"),
        ("rate: 120", "rate: 0", "error", "rate", "from 1"),
        ("concurrency: 4", "concurrency: 33", "error", "concurrency", "to 32"),
        ("max_tokens: 1000", "max_tokens: 5000", "error", "max_tokens", "to 4096"),
        ("cache: true", "cache: perhaps", "error", "cache", "true or false"),
        ("rate: 120", "speed: 120", "warning", "speed", "unknown"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_field(
    old: str, new: str, level: str, field: str, words: str, bundle: Any
) -> None:
    write(bundle, RIGHT.replace(old, new, 1))
    (found,) = findings(bundle)
    assert (found.level, found.field, found.file) == (level, f"phases[0].llm.{field}", "competition.yaml")
    assert words in f"{found.message} {', '.join(found.allowed)}"
    assert bundle.line_of("llm:") <= found.line <= bundle.line_of("max_tokens:")


def test_models_without_a_budget_are_refused(bundle: Any) -> None:
    write(bundle, "    llm: {models: [small], provider: ours}\n")
    (found,) = findings(bundle)
    assert (found.level, found.field) == ("error", "phases[0].llm.per_episode")
    assert "`tokens`, `cost` or both" in found.message


def test_two_providers_have_to_be_told_apart(bundle: Any, settings: Any) -> None:
    settings.MODEL_PROVIDERS = {**settings.MODEL_PROVIDERS, "theirs": settings.MODEL_PROVIDERS["ours"]}
    write(bundle, RIGHT.replace("      provider: ours\n", "").replace(", large", ""))
    (found,) = findings(bundle)
    assert (found.level, found.field, list(found.allowed)) == ("error", "phases[0].llm.provider", ["ours", "theirs"])
