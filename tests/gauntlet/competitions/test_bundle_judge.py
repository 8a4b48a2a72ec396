"""A task's judge in a bundle: what is stored, what is said of a wrong one, and that no model judges itself."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from gauntlet.competitions.bundle.check import checked_bundle
from gauntlet.competitions.services import import_bundle
from gauntlet.metering.configuration import Provider, read_prices
from gauntlet.metering.selectors import judge_spec, wanted_providers
from gauntlet_runtime.judge import judge_environment

RIGHT = """\
    judge:
      model: wise
      provider: ours
      cost_budget: 1.50
      token_budget: 900000
      runs: 3
      temperature: 0.2
      concurrency: 2
"""
LLM = """\
    llm:
      models: [small, {model}]
      per_episode: {{tokens: 20000}}
"""


@pytest.fixture(autouse=True)
def offered(settings: Any) -> None:
    settings.MODEL_PROVIDERS = {"ours": Provider(url="https://example.org/v1", key=SecretStr("k"))}
    settings.MODEL_PRICES = read_prices({"small": {"in": "0.15"}, "wise": {"in": 2, "out": 8}})


def write(bundle: Any, judge: str = RIGHT, llm: str = "") -> None:
    bundle.replace("    limits:\n", f"{judge}    limits:\n")
    bundle.replace("    visibility: scores\n", f"    visibility: scores\n{llm}")


def findings(bundle: Any) -> list[Any]:
    with checked_bundle(bundle.root) as checked:
        return checked.findings


@pytest.mark.django_db
def test_what_a_task_says_is_stored_and_reaches_the_score_job(bundle: Any, make_user: Any) -> None:
    write(bundle)
    assert findings(bundle) == []
    (task,) = import_bundle(bundle.root, organizer=make_user(), publish=True).tasks.all()
    assert task.judge == {
        "model": "wise",
        "provider": "ours",
        "runs": 3,
        "temperature": 0.2,
        "concurrency": 2,
        "cost_budget": "1.5",
        "token_budget": 900000,
    }
    spec = judge_spec(task.judge)
    assert (spec.model, spec.runs, spec.temperature, spec.models.cache) == ("wise", 3, 0.2, True)
    assert (spec.models.per_evaluation.cost, spec.models.per_evaluation.tokens) == (Decimal("1.5"), 900000)
    assert (spec.models.models[0].price_in, spec.models.models[0].price_out) == (2, 8)


@pytest.mark.django_db
def test_the_papers_five_runs_at_temperature_0_3_need_not_be_said(bundle: Any, make_user: Any) -> None:
    write(bundle, "    judge: {model: wise, cost_budget: 1}\n")
    assert findings(bundle) == []
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    task = competition.tasks.get()
    assert task.judge is not None
    assert (task.judge["provider"], task.judge["runs"], task.judge["temperature"]) == ("ours", 5, 0.3)
    assert wanted_providers(competition) == []


@pytest.mark.django_db
def test_the_rubric_may_stay_with_the_checks(bundle: Any, make_user: Any) -> None:
    write(bundle, "    judge: {model: wise, cost_budget: 1, rubric: checks}\n")
    assert findings(bundle) == []
    task = import_bundle(bundle.root, organizer=make_user(), publish=True).tasks.get()
    assert judge_environment(judge_spec(task.judge or {}))["GAUNTLET_JUDGE"] == "checks"


@pytest.mark.django_db
def test_without_the_key_no_model_judges(bundle: Any, make_user: Any) -> None:
    assert import_bundle(bundle.root, organizer=make_user(), publish=True).tasks.get().judge is None


@pytest.mark.django_db
def test_a_judges_provider_that_nobody_has_set_is_wanted(bundle: Any, make_user: Any) -> None:
    write(bundle, RIGHT.replace("provider: ours", "provider: mine"))
    assert [(each.level, each.field) for each in findings(bundle)] == [("warning", "tasks[0].judge.provider")]
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    assert wanted_providers(competition) == ["mine"]


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("      model: wise\n", "", "model", "is missing"),
        ("model: wise", "model: ''", "model", "must name a model"),
        ("model: wise", "model: wize", "model", "Did you mean 'wise'?"),  # it has no price
        ("cost_budget: 1.50", "cost_budget: much", "cost_budget", "amount of money"),
        ("cost_budget: 1.50", "cost_budget: 0", "cost_budget", "above 0"),
        ("token_budget: 900000", "token_budget: 0", "token_budget", "from 1"),
        ("runs: 3", "runs: 0", "runs", "from 1"),
        ("runs: 3", "runs: 26", "runs", "25"),
        ("temperature: 0.2", "temperature: 3", "temperature", "is 3"),
        ("concurrency: 2", "concurrency: 99", "concurrency", "32"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(bundle: Any, old: str, new: str, field: str, words: str) -> None:
    write(bundle, RIGHT.replace(old, new))
    (finding,) = findings(bundle)
    assert finding.level == "error"
    assert finding.field.startswith(f"tasks[0].judge.{field}")
    assert words in f"{finding.message} {finding.allowed}"


def test_a_judge_needs_a_budget(bundle: Any) -> None:
    write(bundle, "    judge: {model: wise}\n")
    (finding,) = findings(bundle)
    assert (finding.level, "cost_budget" in finding.message) == ("error", True)


def test_an_unknown_key_is_told(bundle: Any) -> None:
    write(bundle, RIGHT.replace("runs: 3", "run: 3"))
    (finding,) = findings(bundle)
    assert (finding.level, "'runs'" in finding.message) == ("warning", True)


@pytest.mark.parametrize("model", ["wise", "WISE", "wise-2026-01-31", "ours/wise-latest"])
def test_a_phase_may_not_offer_its_judge_to_agents(bundle: Any, model: str, settings: Any) -> None:
    write(bundle, llm=LLM.format(model=model))
    (finding,) = [finding for finding in findings(bundle) if finding.level == "error"]
    assert finding.field == "phases[0].llm"
    assert "may not judge its own work" in finding.message


def test_another_size_of_the_judges_model_is_another_model(bundle: Any) -> None:
    write(bundle, llm=LLM.format(model="wise-mini"))
    assert findings(bundle) == []


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("      - scoring\n", "      - scoring\n      - failure_modes\n", "failure_modes"),
        ('        version: "1"\n', '        version: "1"\n        settings: {judge: llm}\n', "rubric"),
    ],
)
def test_a_program_that_asks_a_model_needs_a_judge(bundle: Any, old: str, new: str, key: str) -> None:
    bundle.replace(old, new)
    (finding,) = findings(bundle)
    assert (finding.level, finding.field) == ("error", "tasks[0].judge")
    assert f"'{key}' asks a language model" in finding.message
    write(bundle)
    assert findings(bundle) == []
