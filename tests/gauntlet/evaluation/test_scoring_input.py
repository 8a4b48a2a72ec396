"""What a finished evaluation was scored from, given to its organizers and to nobody else, and scored again from it."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from gauntlet_scoring.command.app import app
from gauntlet_scoring.rescoring import rescore, unpack_evaluation

if TYPE_CHECKING:
    from gauntlet.evaluation.models import Evaluation

# Counts the words of what the agents answered, and how many reference rows there are: all inputs play their part.
PROGRAM = """\
import json, os, pathlib
root = pathlib.Path(os.environ.get("GAUNTLET_SCORING_ROOT", "/app"))
res = root / "input" / "res"
rows = [json.loads(line) for line in (res / "episodes.jsonl").read_text().splitlines()]
words = 0
for row in rows:
    for line in (res / row["trajectory"]).read_text().splitlines():
        event = json.loads(line)
        words += len(event.get("text", "").split()) if event["kind"] == "answer" else 0
blobs = len(list((res / "trajectories" / "blobs").iterdir()))
references = len((root / "input" / "ref" / "ground_truth.jsonl").read_text().splitlines())
(root / "output" / "scores.json").write_text(json.dumps({"score": words / 100, "blobs": blobs, "rows": references}))
"""


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return out.getvalue()


def _with_record(episode: Any, folder: Path) -> Any:
    path = folder / f"{episode.episode}.zip"
    record = json.dumps({"kind": "answer", "text": "three words here"}) + "\n"
    path.write_bytes(zipped(trajectory_dot_jsonl=record, blobs__abc="large"))
    return episode.model_copy(update={"trajectory": path})


@pytest.fixture
def finished(
    worker: Any, start: Callable[..., Evaluation], make_phase: Any, make_artifact: Any, tmp_path: Path
) -> Evaluation:
    """An evaluation of two episodes whose stored scores are those that the program gives."""
    from gauntlet_runtime.jobs import ProgramScores, ScoreResult

    phase = make_phase(scenarios=2)
    task = phase.tasks.get()
    task.reference_data = make_artifact(zipped(ground_truth_dot_jsonl="{}\n{}\n"), form="zip")
    task.save()
    program = task.scoring_programs.get()
    program.program = make_artifact(
        zipped(metadata_dot_yaml="command: python score.py\n", score_dot_py=PROGRAM), form="zip"
    )
    program.save()
    evaluation = start(phase)
    while (claim := worker.must_claim()).spec.kind == "run":
        result = worker.run(claim)
        recorded = [_with_record(episode, tmp_path) for episode in result.episodes]
        worker.source.finish(claim, result.model_copy(update={"episodes": recorded}))
    scores = {"score": 0.06, "blobs": 1.0, "rows": 2.0}
    worker.source.finish(claim, ScoreResult(programs=[ProgramScores(key="rubric", scores=scores)]))
    evaluation.refresh_from_db()
    assert evaluation.state == "finished"
    return evaluation


def address(evaluation: Any) -> str:
    return f"/api/v1/evaluations/{evaluation.pk}/scoring-input"


def downloaded(client: Any, evaluation: Any) -> bytes:
    answer = client.get(address(evaluation))
    assert answer.status_code == 200, answer.content
    content = b"".join(answer.streaming_content) if not answer.is_async else _collected(answer)
    assert int(answer["Content-Length"]) == len(content)
    assert f"evaluation-{evaluation.pk}.zip" in answer["Content-Disposition"]
    return content


def _collected(answer: Any) -> bytes:
    from asgiref.sync import async_to_sync

    async def collect() -> bytes:
        return b"".join([chunk async for chunk in answer.streaming_content])

    return async_to_sync(collect)()


@pytest.fixture
def organizers_archive(client: Any, finished: Any) -> bytes:
    client.force_login(finished.submission.phase.competition.organizer)
    return downloaded(client, finished)


def test_an_organizer_gets_what_the_scores_were_made_from(organizers_archive: bytes, finished: Any) -> None:
    with zipfile.ZipFile(io.BytesIO(organizers_archive)) as archive:
        names = set(archive.namelist())
        facts = json.loads(archive.read("evaluation.json"))
        rows = [json.loads(line) for line in archive.read("input/res/episodes.jsonl").splitlines()]
    assert {"programs/rubric/score.py", "input/ref/ground_truth.jsonl", "input/res/trajectories/blobs/abc"} <= names
    assert [row["scenario"] for row in rows] == [
        episode.scenario.key for episode in finished.episodes.order_by("position")
    ]
    assert all(f"input/res/{row['trajectory']}" in names for row in rows)
    assert facts["scores"] == {"rubric": {"score": 0.06, "blobs": 1.0, "rows": 2.0}}


def test_it_is_scored_again_with_the_same_scores(organizers_archive: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "evaluation.zip"
    archive.write_bytes(organizers_archive)
    unpack_evaluation(archive, tmp_path / "evaluation")
    found = rescore(tmp_path / "evaluation", work=tmp_path / "work")
    assert found.same
    assert [(one.key, one.stored, one.new) for one in found.comparisons] == [
        ("blobs", 1.0, 1.0),
        ("rows", 2.0, 2.0),
        ("score", 0.06, 0.06),
    ]


@pytest.mark.parametrize(
    ("who", "status"), [("nobody", 401), ("outsider", 404), ("the participant", 404), ("a collaborator", 200)]
)
def test_only_organizers_get_it(client: Any, finished: Any, make_user: Any, who: str, status: int) -> None:
    competition = finished.submission.phase.competition
    if who == "the participant":
        client.force_login(finished.submission.participant)
    elif who != "nobody":
        user = make_user()
        client.force_login(user)
        if who == "a collaborator":
            competition.collaborators.add(user)
    assert client.get(address(finished)).status_code == status


def test_an_unknown_evaluation_and_one_of_others_are_answered_alike(client: Any, finished: Any, make_user: Any) -> None:
    from uuid import uuid4

    client.force_login(make_user())
    known = client.get(address(finished))
    unknown = client.get(f"/api/v1/evaluations/{uuid4()}/scoring-input")
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json())


def test_before_the_end_there_is_nothing_to_score_again(client: Any, start: Callable[..., Evaluation]) -> None:
    evaluation = start()
    client.force_login(evaluation.submission.phase.competition.organizer)
    answer = client.get(address(evaluation))
    assert (answer.status_code, answer.json()["code"]) == (409, "not_finished")


@pytest.fixture
def site(organizers_archive: bytes, finished: Any) -> Any:
    """A server that gives the platform's answer to who brings the right token, and its refusal to others."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            right = self.headers["Authorization"] == "Bearer right" and self.path == address(finished)
            body = organizers_archive if right else b'{"code": "not_found", "message": "No evaluation."}'
            self.send_response(200 if right else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_command_fetches_with_a_token_and_compares(site: str, finished: Any) -> None:
    run = CliRunner().invoke
    found = run(app, ["rescore", f"{site}/evaluations/{finished.pk}/", "--token", "right", "--format", "json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["same"] is True
    refused = run(app, ["rescore", f"{site}/evaluations/{finished.pk}", "--token", "wrong"])
    assert (refused.exit_code, "No evaluation." in refused.output) == (2, True)
    for arguments, words in (
        (["rescore", f"{site}/evaluations/{finished.pk}"], "needs --token"),
        (["rescore", f"{site}/", "--token", "right"], "names no evaluation"),
        (["rescore", f"http://example.org/evaluations/{finished.pk}", "--token", "right"], "only sent over https"),
    ):
        told = run(app, arguments, env={"GAUNTLET_TOKEN": ""})
        assert (told.exit_code, words in told.output) == (2, True), told.output
