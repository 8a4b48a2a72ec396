"""A bundle written for Codabench, unmodified: participants submit results, and its plain program scores them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile

from gauntlet.competitions.services import check_bundle, import_bundle, join
from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.services import cancel_submission, start_evaluations
from gauntlet.submissions.checks import check_next
from gauntlet.submissions.services import receive
from gauntlet_runtime.jobs import ProgramScores, ScoreResult
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.worker import Worker

MANIFEST = """\
version: 2
title: Iris, the old way
description: A bundle of another platform
image: logo.png
terms: terms.md
docker_image: codalab/codalab-legacy:py39
queue: 0b9b2ab6-3a0c-4b9c-8c55-6a8b6a8d2f5e
registration_auto_approve: true
enable_detailed_results: true
pages:
  - title: Overview
    file: overview.md
tasks:
  - index: 0
    name: Iris
    description: Three kinds
    scoring_program: scoring_program.zip
    reference_data: reference_data.zip
phases:
  - index: 0
    name: Development
    start: 2024-01-01
    tasks: [0]
    max_submissions_per_day: 50
    accepts_only_result_submissions: true
leaderboards:
  - title: Results
    key: main
    submission_rule: Force_Best
    columns:
      - {title: Accuracy, key: accuracy, index: 0, sorting: desc}
      - {title: Duration, key: duration, index: 1, sorting: asc}
"""
SCORE = """\
import json, os, sys
inputs, outputs = sys.argv[1:3]
truth = open(os.path.join(inputs, "ref", "truth.txt")).read().split()
said = open(os.path.join(inputs, "res", "predictions", "iris.txt")).read().split()
open(os.path.join(inputs, "res", "scratch.txt"), "w").write("a folder of its own, as on Codabench")
right = sum(a == b for a, b in zip(truth, said)) / len(truth)
with open(os.path.join(outputs, "scores.json"), "w") as file:
    json.dump({"accuracy": right, "duration": 1.5}, file)
with open(os.path.join(outputs, "detailed_results.html"), "w") as file:
    file.write("<h1>Report</h1>")
"""


def zip_of(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def codabench(tmp_path: Path) -> Path:
    """The bundle as a zip."""
    root = tmp_path / "codabench"
    root.mkdir()
    (root / "competition.yaml").write_text(MANIFEST)
    (root / "terms.md").write_text("Be fair.\n")
    (root / "overview.md").write_text("# Iris\n")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    metadata = "command: python3 $program/score.py $input $output\n"
    (root / "scoring_program.zip").write_bytes(zip_of({"metadata": metadata, "score.py": SCORE}))
    (root / "reference_data.zip").write_bytes(zip_of({"truth.txt": "a b c c"}))
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(root.iterdir()):
            archive.write(file, file.name)
    return path


@pytest.fixture
def phase(db: None, codabench: Path, make_user: Callable[..., Any]) -> Any:
    return import_bundle(codabench, organizer=make_user(), publish=True).phases.get()


@pytest.fixture
def submit(phase: Any, make_user: Callable[..., Any]) -> Callable[..., Any]:
    """Upload a zip and check it."""

    def submit(content: bytes, *, file_name: str = "results.zip") -> Any:
        user = make_user()
        join(phase.competition, user=user, terms_accepted=True)
        made = receive(phase=phase, participant=user, upload=ContentFile(content), file_name=file_name)
        assert check_next(sandbox=None, on_accept=start_evaluations)  # type: ignore[arg-type]  # nothing is run
        made.refresh_from_db()
        return made

    return submit


@pytest.fixture
def results() -> bytes:
    return zip_of({"predictions/iris.txt": "a b b c"})


@pytest.fixture
def real_worker(tmp_path: Path) -> Iterator[Worker]:
    tmp_path.chmod(0o711)
    sandbox = open_sandbox("bubblewrap", state=tmp_path / "state", images=settings.SANDBOX_IMAGES)
    with Worker(DatabaseJobSource(), sandbox, tmp_path / "work", ["default"], "real") as worker:
        yield worker


def test_the_bundle_is_taken_and_what_has_no_effect_is_told(db: None, codabench: Path) -> None:
    findings = check_bundle(codabench)
    assert [finding.field for finding in findings if finding.level == "error"] == []
    (queue,) = [finding for finding in findings if finding.field == "queue"]
    assert "no queue '0b9b2ab6-3a0c-4b9c-8c55-6a8b6a8d2f5e'; submissions wait in the queue 'default'" in queue.message


@pytest.mark.django_db(transaction=True)
def test_results_are_scored_by_its_program_and_stand_on_its_board(
    submit: Callable[..., Any], results: bytes, real_worker: Worker, phase: Any
) -> None:
    assert (phase.takes, phase.queue) == ("results", "default")
    submission = submit(results)
    assert (submission.state, submission.name) == ("accepted", "results")
    assert real_worker.work_until_empty() == 1
    (evaluation,) = submission.evaluations.all()
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    assert dict(evaluation.scores.values_list("key", "value")) == {
        "scoring_program.accuracy": 0.75,
        "scoring_program.duration": 1.5,
    }
    board = phase.competition.leaderboards.get()
    (entry,) = board.entries.all()
    assert (entry.submission, entry.primary_value) == (submission, 0.75)
    from django.utils import timezone

    from gauntlet.competitions.visibility import Audience

    story = submission_story(submission, audience=Audience.OWNER, now=timezone.now())
    assert [(step.name, step.state) for step in story.steps] == [
        ("received", "done"),
        ("checked", "done"),
        ("queued", "done"),
        ("scoring", "done"),
        ("finished", "done"),
    ]
    assert [(score.column, score.value) for score in story.scores] == [("accuracy", 0.75), ("duration", 1.5)]
    assert list(story.evaluations[0].reports) == ["scoring_program"]


@pytest.mark.django_db(transaction=True)
def test_results_that_the_program_cannot_read_are_a_failure_with_its_words_for_the_organizer(
    submit: Callable[..., Any], real_worker: Worker
) -> None:
    submission = submit(zip_of({"iris.txt": "a b b c"}))
    while submission.evaluations.get().state not in ("finished", "failed"):
        submission.evaluations.get().jobs.update(available_at="2024-01-01T00:00:00Z")  # no waiting for the retries
        real_worker.work_until_empty()
    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "scoring_error")
    assert evaluation.failure_message.endswith("laid out as the competition's pages ask.")
    submission.refresh_from_db()
    assert submission.counts_as == "failed_start"  # no attempt, and not free for ever either
    assert "No such file or directory: '/app/input/res/predictions/iris.txt'" in evaluation.jobs.get().log


def test_one_folder_around_the_results_stays(submit: Callable[..., Any], results: bytes) -> None:
    from gauntlet.storage.services import open_artifact

    with open_artifact(submit(results).agent_bundle) as file, zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["predictions/iris.txt"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n", "not a zip archive"),
        (zip_of({}), "file"),
        (zip_of({"../out.txt": "x"}), "leads out"),
        (zip_of({"__MACOSX/x": "x"}), "holds no file"),
    ],
    ids=["no zip", "empty", "traversal", "leftovers only"],
)
def test_what_is_no_safe_zip_is_rejected(submit: Callable[..., Any], content: bytes, said: str) -> None:
    submission = submit(content)
    assert (submission.state, submission.failure_code) == ("rejected", "invalid_bundle")
    assert said in submission.failure_message
    assert not submission.evaluations.exists()


def test_the_scoring_is_the_first_that_is_done_and_nothing_else(
    submit: Callable[..., Any], results: bytes, worker: Any
) -> None:
    submission = submit(results)
    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.episodes_total, evaluation.episodes.count()) == ("queued", 0, 0)
    claim = worker.must_claim()
    evaluation.refresh_from_db()
    assert (claim.spec.kind, claim.spec.episodes, evaluation.state) == ("score", [], "scoring")
    assert claim.spec.results.digest == submission.agent_bundle_id
    assert worker.claim() is None
    worker.source.finish(claim, ScoreResult(programs=[ProgramScores(key="scoring_program", scores={"accuracy": 1.0})]))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.in_force) == ("finished", True)


def test_cancelling_while_it_waits_and_while_it_is_scored(
    submit: Callable[..., Any], results: bytes, worker: Any
) -> None:
    from gauntlet_runtime.jobs import LeaseLost

    waiting, scored = submit(results), submit(results)
    assert cancel_submission(waiting, actor=waiting.participant) == 1
    claim = worker.must_claim()
    assert claim.submission == str(scored.pk)
    assert cancel_submission(scored, actor=scored.participant) == 1
    with pytest.raises(LeaseLost):
        worker.source.finish(claim, ScoreResult(programs=[]))
    assert [one.evaluations.get().state for one in (waiting, scored)] == ["cancelled", "cancelled"]


def test_what_programs_write_about_results_is_hidden_unless_the_bundle_opens_it(
    db: None, codabench: Path, make_user: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    with zipfile.ZipFile(codabench) as archive:
        archive.extractall(folder)
    manifest = folder / "competition.yaml"
    opened = import_bundle(folder, organizer=make_user(), publish=True, slug="opened")
    manifest.write_text(manifest.read_text().replace("enable_detailed_results: true", "enable_detailed_results: false"))
    closed = import_bundle(folder, organizer=make_user(), publish=True, slug="closed")
    told = [(one.tasks.get().hidden, one.phases.get().visibility) for one in (opened, closed)]
    assert told == [(False, "full"), (True, "scores")]


def test_a_board_of_results_has_no_measures_of_episodes(db: None, codabench: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with zipfile.ZipFile(codabench) as archive:
        archive.extractall(folder)
    manifest = folder / "competition.yaml"
    manifest.write_text(manifest.read_text().replace("key: duration,", "key: duration, from: episodes.steps,"))
    (found,) = [finding for finding in check_bundle(folder) if finding.level == "error"]
    assert "no scoring program gives 'episodes.steps'" in found.message


SPOILED = {
    "an ingestion program": ("    scoring_program:", "    ingestion_program: reference_data.zip\n    scoring_program:"),
    "scenarios": ("    scoring_program:", "    scenarios: overview.md\n    scoring_program:"),
}


@pytest.mark.parametrize("change", SPOILED.values(), ids=SPOILED)
def test_a_task_that_would_run_something_needs_its_environment(
    db: None, codabench: Path, change: tuple[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    with zipfile.ZipFile(codabench) as archive:
        archive.extractall(folder)
    manifest = folder / "competition.yaml"
    manifest.write_text(manifest.read_text().replace(*change))
    found = [finding for finding in check_bundle(folder) if finding.field == "tasks[0].environment"]
    assert [finding.level for finding in found] == ["error"]
    assert "it runs no ingestion" in found[0].message


def test_the_page_says_what_the_phase_takes(phase: Any, make_user: Callable[..., Any], client: Any) -> None:
    user = make_user()
    join(phase.competition, user=user, terms_accepted=True)
    client.force_login(user)
    page = client.get(f"/competitions/{phase.competition.slug}/submit/").content.decode()
    assert "<h2>Submit results</h2>" in page
    assert "agent.yaml</code>" not in page
    detail = json.loads(client.get(f"/api/v1/competitions/{phase.competition.slug}").content)
    assert [one["takes"] for one in detail["phases"]] == ["results"]
