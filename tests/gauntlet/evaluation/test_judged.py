"""Scored by a language model, whole path: the real rubric in the scorer's image, its door, the accounts, the page."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from model_server import KEY, ModelServer, model_server
from pydantic import SecretStr

from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.job_models import judge_account
from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.services import start_evaluations
from gauntlet.metering.configuration import Provider, read_prices
from gauntlet.metering.models import Account
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact, store, store_folder
from gauntlet.submissions.models import FileFaults, Submission
from gauntlet.web import story_page
from gauntlet_runtime.jobs import EpisodeResult, RunResult, RunSpec
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.worker import Worker
from gauntlet_scoring.failure_modes import MODES
from gauntlet_scoring.trajectory import Outcome

VERDICT = {"task_completion": True, "data_retrieval_accuracy": True, "generalized_result_verification": False}
JUDGE = {
    "model": "wise",
    "provider": "ours",
    "runs": 3,
    "temperature": 0.3,
    "concurrency": 4,
    "cost_budget": "1",
}


def truth(number: int) -> dict[str, Any]:
    return {
        "id": f"key-{number}",
        "text": f"question {number}",
        "type": "IoT",
        "category": "Data Query",
        "deterministic": False,
        "characteristic_form": "some number",
        "planning_steps": [{"agent": "A", "instruction": "look"}],
        "execution_steps": [{"name": "a", "action": "look", "agent": "A"}],
        "execution_links": [],
    }


def zipped(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def stored(files: dict[str, str]) -> Artifact:
    return store(io.BytesIO(zipped(files)), form="zip")


def built_in(name: str) -> Artifact:
    return store_folder(Path(django_settings.SCORING_PROGRAMS) / name)


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with model_server() as server:
        server.says = lambda body, number: json.dumps(VERDICT)
        yield server


@pytest.fixture
def judged(
    transactional_db: None, settings: Any, provider: ModelServer, make_phase: Callable[..., Any], make_submission: Any
) -> Submission:
    """A submission whose task has a judge and the built-in rubric."""
    settings.MODEL_PROVIDERS = {"ours": Provider(url=provider.url, key=SecretStr(KEY))}
    settings.MODEL_PRICES = read_prices({"wise": {"in": 1, "out": 2}})
    settings.MODEL_TRIES, settings.MODEL_BACKOFF_SECONDS = 2, 0.01
    phase = make_phase(scenarios=2)
    lines = "".join(json.dumps(truth(number)) + "\n" for number in range(2))
    phase.tasks.update(judge=JUDGE, reference_data=stored({"ground_truth.jsonl": lines}))
    phase.tasks.get().scoring_programs.update(program=built_in("rubric"))
    submission: Submission = make_submission(phase)
    return submission


@pytest.fixture
def real_worker(tmp_path: Path) -> Iterator[Worker]:
    tmp_path.chmod(0o711)
    sandbox = open_sandbox("bubblewrap", state=tmp_path / "state", images=django_settings.SANDBOX_IMAGES)
    with Worker(DatabaseJobSource(), sandbox, tmp_path / "work", ["default"], "real") as worker:
        yield worker


def answer_all(submission: Submission, folder: Path) -> Evaluation:
    """Start the submission's evaluation, and hand back a run in which every episode was answered the same way."""
    (evaluation,) = start_evaluations(submission)
    source = DatabaseJobSource()
    claim = source.claim(queues=["default"], worker="host:1")
    assert claim is not None
    assert isinstance(claim.spec, RunSpec)
    results = []
    for spec in claim.spec.episodes:
        events = [
            {"kind": "scenario", "scenario": spec.scenario, "trial": 1, "seed": 1, "text": spec.text},
            {"kind": "answer", "text": f"an answer to {spec.key}", "data": None},
            {"kind": "end", "outcome": "answered", "seconds": 1.0},
        ]
        common = {"at": "2026-01-01T00:00:00Z", "episode": spec.episode, "turn": 0}
        lines = "".join(json.dumps({"seq": seq, **common, **event}) + "\n" for seq, event in enumerate(events))
        path = folder / f"{spec.episode}.zip"
        path.write_bytes(zipped({"trajectory.jsonl": lines, "blobs/": ""}))
        results.append(EpisodeResult(episode=spec.episode, outcome=Outcome.ANSWERED, seconds=1.0, trajectory=path))
    source.finish(claim, RunResult(episodes=results))
    return evaluation


def score(evaluation: Evaluation, worker: Worker) -> Evaluation:
    """Let the worker score, without waiting before its retries."""
    evaluation.refresh_from_db()
    while evaluation.state not in ("finished", "failed"):
        evaluation.jobs.update(available_at="2024-01-01T00:00:00Z", avoided_until="2024-01-01T00:00:00Z")
        assert worker.work_once()
        evaluation.refresh_from_db()
    return evaluation


def scores(evaluation: Evaluation) -> dict[str, float]:
    return dict(evaluation.scores.values_list("key", "value"))


def summary(submission: Submission, audience: Audience) -> str:
    story = submission_story(submission, audience=audience, now=timezone.now())
    (table,) = story_page.tables(story, {})
    return table.summary


def test_an_evaluation_is_judged_metered_and_told(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path
) -> None:
    evaluation = score(answer_all(judged, tmp_path), real_worker)
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    found = scores(evaluation)
    assert found["rubric.score"] == pytest.approx(2 / 3)
    assert (found["rubric.result_verification"], found["rubric.agreement"], found["rubric.verified"]) == (0, 1, 1)
    assert len(provider.seen) == 6
    made_by = evaluation.record["scoring"]["rubric"]
    assert (made_by["judge.model"], made_by["judge_runs"], made_by["unverified"]) == ("wise", "3", "0")
    account = Account.objects.get(pk=judge_account(evaluation.pk))
    assert account.cost == account.paid > 0
    told = summary(judged, Audience.ORGANIZER)
    assert f"The judge wise used {account.tokens:,} tokens at a cost of " in told
    assert told.endswith("of a budget of 1.")
    assert "judge" not in summary(judged, Audience.OWNER)
    assert KEY not in json.dumps(evaluation.record)

    again = score(answer_all(judged, tmp_path), real_worker)
    assert scores(again) == found
    assert len(provider.seen) == 6  # every answer was kept
    assert not Account.objects.filter(pk=judge_account(again.pk)).exists()


def test_what_the_judge_could_not_verify_is_told_and_is_no_zero(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path
) -> None:
    provider.says = lambda body, _: "hm" if "to key-1" in body["messages"][1]["content"] else json.dumps(VERDICT)
    evaluation = score(answer_all(judged, tmp_path), real_worker)
    assert evaluation.state == "finished"
    assert scores(evaluation)["rubric.score"] == pytest.approx(2 / 3)
    assert scores(evaluation)["rubric.verified"] == 0.5
    rows = {
        episode.scenario.key: {score.key for score in episode.scores.all()} for episode in evaluation.episodes.all()
    }
    assert rows["key-1"] == {"rubric.verified", "rubric.answered"}
    assert "rubric.score" in rows["key-0"]
    assert "One could not be verified: its judge gave no verdict" in summary(judged, Audience.OWNER)
    detail = evaluation.episodes.get(scenario__key="key-1").details.get().detail
    assert "3 of 3 runs of the judge gave no verdict" in detail["unverified"]


def test_a_judge_that_is_away_costs_nobody_a_score(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path
) -> None:
    provider.always = "500"
    evaluation = answer_all(judged, tmp_path)
    assert real_worker.work_once()
    evaluation.refresh_from_db()
    assert (evaluation.state, scores(evaluation)) == ("scoring", {})
    job = evaluation.jobs.get(kind="score")
    assert (job.state, job.attempt) == ("ready", 1)
    assert job.available_at - timezone.now() > timedelta(seconds=django_settings.RETRY_SECONDS / 2)
    provider.always = None
    assert score(evaluation, real_worker).state == "finished"
    assert scores(evaluation)["rubric.score"] == pytest.approx(2 / 3)


def test_a_judge_that_stays_away_parks_nobodys_file(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path
) -> None:
    """What was sent is not why: it must not be kept out of this and other competitions."""
    provider.always = "500"
    evaluation = score(answer_all(judged, tmp_path), real_worker)
    assert (evaluation.state, evaluation.failure_code) == ("failed", "infrastructure")
    assert not FileFaults.objects.exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ({"always": "401"}, "refused the key that the operator"),
        ({"cost_budget": "0.000001"}, "budget of 0.000001 for an evaluation is exhausted"),
    ],
)
def test_what_the_organizer_has_to_set_right_is_said_and_the_attempt_given_back(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path, spoil: dict[str, str], said: str
) -> None:
    provider.always = spoil.get("always")
    judged.phase.tasks.update(judge={**JUDGE, **{key: each for key, each in spoil.items() if key != "always"}})
    evaluation = score(answer_all(judged, tmp_path), real_worker)
    assert (evaluation.state, evaluation.failure_code) == ("failed", "scoring_error")
    assert said in evaluation.failure_message
    assert evaluation.jobs.get(kind="score").attempt == 3
    judged.refresh_from_db()
    assert judged.counts_as == "nothing"
    assert scores(evaluation) == {}


def test_failure_modes_are_found_clustered_and_reported_to_the_organizer(
    judged: Submission, real_worker: Worker, provider: ModelServer, tmp_path: Path
) -> None:
    """In the scorer's own image, with the model that compares titles."""
    titles = (
        ["Overstated task completion", "Messy output format"],
        ["False claim of completion", "Unclear formatting"],
    )
    judged.phase.tasks.get().scoring_programs.update(key="failure_modes", program=built_in("failure_modes"))

    def says(body: dict[str, Any], _: int) -> str:
        asked = 0 if "to key-0" in body["messages"][1]["content"] else 1
        new = [{"title": title, "description": "So it was."} for title in titles[asked]]
        return json.dumps({"modes": {code: code == "3.1" for code in MODES}, "new_modes": new})

    provider.says = says
    evaluation = score(answer_all(judged, tmp_path), real_worker)
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert scores(evaluation)["failure_modes.mode_3_1"] == 1.0
    report = evaluation.reports.get().html
    assert report is not None
    with open_artifact(report) as stream:
        page = stream.read().decode()
    assert "2 clusters of titles" in page
    story = {
        audience: submission_story(judged, audience=audience, now=timezone.now()).evaluations[0].reports
        for audience in (Audience.ORGANIZER, Audience.OWNER)
    }
    assert (story[Audience.ORGANIZER], story[Audience.OWNER]) == (["failure_modes"], [])
