"""What a hostile worker of an own queue may send: it gets a refusal that says why, and nothing has happened."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import RequestFactory
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gauntlet.evaluation import remote_api, remote_bodies, remote_records
from gauntlet.evaluation.models import Episode, Evaluation, Job, Report, ScenarioScore, Score, SentRecord
from gauntlet.storage.models import Artifact
from gauntlet_runtime.jobs import Claim, ProgramScores, ScoreResult
from gauntlet_runtime.program_contract import ProgramFault, read_outputs
from gauntlet_runtime.remote.messages import Finished, FinishedScore

pytestmark = pytest.mark.django_db


def untouched(claim: Claim) -> bool:
    """Whether nothing came of what was sent: the job is held, and no row is new."""
    job = Job.objects.get(pk=claim.job)
    made = (Score, ScenarioScore, Report)
    same = not any(model.objects.exists() for model in made) and not Episode.objects.exclude(attempts=0).exists()
    return same and (job.state, str(job.token)) == ("leased", claim.token)


def changed(message: Any, path: str, value: Any) -> bytes:
    """A message as JSON with something else in one place; NaN and its like as Python writes them."""
    content = json.loads(message.model_dump_json())
    *way, last = path.split("/")
    place = content
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(content).encode()


@pytest.fixture
def running(remote: Any, own_phase: Any, start: Callable[..., Evaluation]) -> Claim:
    start(own_phase())
    claim: Claim = remote.must_claim()
    return claim


@pytest.fixture
def scoring(remote: Any, running: Claim) -> Claim:
    """A score job, and no sign of its run job's results in the tables that `untouched` looks at."""
    remote.finish(running)
    Episode.objects.update(attempts=0)
    claim: Claim = remote.must_claim()
    return claim


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("result/episodes/0/seconds", NAN, "JSON"),
        ("result/episodes/0/seconds", INFINITE, "JSON"),
        ("result/episodes/0/seconds", -1.0, "result.episodes.0.seconds"),
        ("result/episodes/0/seconds", 1e300, "result.episodes.0.seconds"),
        ("result/episodes/0/steps", -1, "result.episodes.0.steps"),
        ("result/episodes/0/steps", 2**31, "result.episodes.0.steps"),
        ("result/episodes/0/tokens", 2**63, "result.episodes.0.tokens"),
        ("result/episodes/0/cost", "NaN", "result.episodes.0.cost"),
        ("result/episodes/0/cost", "-1", "result.episodes.0.cost"),
        ("result/episodes/0/cost", "1e12", "result.episodes.0.cost"),
        ("result/episodes/0/cost", "1e-20000", "cannot be stored"),
        ("result/episodes/0/message", "x" * 2001, "result.episodes.0.message"),
        ("result/episodes/0/message", "\0", "result.episodes.0.message"),
        ("result/episodes/0/message", "\ud800", "JSON"),
        ("result/episodes/0/trajectory", "/etc/passwd", "result.episodes.0.trajectory"),
        ("result/episodes/0/outcome", "failed", "result.episodes.0.failure"),
        ("result/episodes/0/failure", "agent_error", "result.episodes.0.failure"),
        ("result/episodes/0/episode", "no uuid", "result.episodes.0"),
        ("result/episodes", [], "result.episodes"),
        ("result/failure", {"code": "agent_error", "message": "x" * 2001}, "message"),
        ("result/agent_seconds", -0.1, "seconds"),
        ("result/log", "x" * (5 << 20), "log"),
        ("result/log", "a\0b", "result.log"),
        ("result/provenance", {"sandbox": "x" * (70 << 10)}, "result.provenance"),
        ("result/provenance", {"a\0": "x"}, "result.provenance"),
        ("result/surprise", 1, "result.surprise"),
        ("kind", "score", "result"),
        ("kind", "walk", "walk"),
    ],
)
def test_a_run_jobs_result_that_cannot_be(path: str, value: Any, named: str, remote: Any, running: Claim) -> None:
    message = remote.finished(running, records=False)
    answer = remote.about(running, "POST", "finish", changed(message, path, value))
    assert 400 <= answer.status_code < 500
    assert named in json.dumps(answer.json())
    assert untouched(running)
    assert remote.about(running, "POST", "finish", message).status_code == 204


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("result/programs/0/key", "other", "result.programs.0"),
        ("result/programs", [], "result.programs"),
        ("result/programs/0/scores/score", NAN, "JSON"),
        ("result/programs/0/scores", {"score": 10**400}, "too large a number"),
        ("result/programs/0/scores", {"a\0": 1}, "NUL"),
        ("result/programs/0/scores", {"": 1}, "result.programs.0.scores"),
        ("result/programs/0/scores", {f"s{number}": 1 for number in range(1001)}, "result.programs.0.scores"),
        ("result/programs/0/scenarios/0/trial", 0, "result.programs.0.scenarios.0.trial"),
        ("result/programs/0/scenarios/0", {}, "result.programs.0.scenarios.0.scenario"),
        ("result/programs/0/scenarios/0/scores/score", INFINITE, "JSON"),
        ("result/programs/0/scenarios/0/detail", {"why": NAN}, "JSON"),
        ("result/programs/0/scenarios/0/detail", {"why": ["\0"]}, "detail.why.0"),
        ("result/programs/0/scenarios/0/detail", {"why": 10**4000}, "too large a number"),
        ("result/programs/0/scenarios/0/surprise", 1, "result.programs.0.scenarios.0.surprise"),
        ("result/programs/0/detailed_results", "x" * (9 << 20), "result.programs.0.detailed_results"),
        ("result/programs/0/log", "x" * (5 << 20), "result.programs.0.log"),
        ("result/programs/0/provenance", {"x": "y" * (70 << 10)}, "result.programs.0.provenance"),
        ("result/scorer_seconds", NAN, "JSON"),
        ("kind", "run", "result"),
    ],
)
def test_a_score_jobs_result_that_cannot_be(path: str, value: Any, named: str, remote: Any, scoring: Claim) -> None:
    message = remote.finished(scoring)
    answer = remote.about(scoring, "POST", "finish", changed(message, path, value))
    assert 400 <= answer.status_code < 500
    assert named in json.dumps(answer.json())
    assert untouched(scoring)
    assert remote.about(scoring, "POST", "finish", message).status_code == 204


def test_scores_of_a_scenario_that_is_another_evaluations_are_the_organizers_fault(remote: Any, scoring: Claim) -> None:
    message = remote.finished(scoring)
    body = changed(message, "result/programs/0/scenarios/0/scenario", "key-of-another")
    assert remote.about(scoring, "POST", "finish", body).status_code == 204
    assert not Score.objects.exists()
    assert Job.objects.get(pk=scoring.job).state == "ready"


def test_a_result_names_its_own_jobs_episodes_and_no_others(
    remote: Any, own_phase: Any, start: Any, settings: Any
) -> None:
    settings.RUN_SLICE = 1
    first = start(own_phase())
    second = start(own_phase())
    one, two = remote.must_claim(), remote.must_claim()
    assert {one.evaluation, two.evaluation} == {str(first.pk), str(second.pk)}
    same_evaluation = Episode.objects.filter(evaluation=one.evaluation, job=None).first()
    message = remote.finished(one, records=False)
    for other in (two.spec.episodes[0].episode, str(same_evaluation.pk), str(uuid4())):
        answer = remote.about(one, "POST", "finish", changed(message, "result/episodes/0/episode", other))
        assert (answer.status_code, answer.json()["code"]) == (422, "result_refused")
        detail = {"event": "episode_ended", "detail": {"episode": other}}
        assert remote.about(one, "POST", "report", detail).status_code == 422
    twice = json.loads(message.model_dump_json())["result"]["episodes"] * 2
    answer = remote.about(one, "POST", "finish", changed(message, "result/episodes", twice))
    assert "twice" in answer.json()["message"]
    assert not Episode.objects.exclude(attempts=0).exists()
    assert not Episode.objects.filter(ended_at__isnull=False).exists()
    assert Evaluation.objects.filter(episodes_done=0).count() == 2


@pytest.mark.parametrize("detail", [{}, {"episode": None}, {"episode": ["x"]}, {"episode": {"a": 1}}, {"episode": "x"}])
def test_a_report_of_no_episode_is_refused(detail: Any, remote: Any, running: Claim) -> None:
    answer = remote.about(running, "POST", "report", {"event": "episode_started", "detail": detail})
    assert (answer.status_code, answer.json()["code"]) == (422, "report_refused")


def test_a_result_names_records_that_were_sent_for_it(
    remote: Any, running: Claim, make_artifact: Any, own_phase: Any, start: Any
) -> None:
    episode, other = (one.episode for one in running.spec.episodes[:2])
    message = remote.finished(running)
    stored = make_artifact(b"somebody's secret", form="zip")
    start(own_phase())
    second = remote.must_claim()
    elsewhere = remote.record(second.spec.episodes[0].episode)
    assert remote.send(second, elsewhere).status_code == 204
    named = message.trajectories
    for episodes in (
        {episode: {"digest": stored.digest, "size": stored.size}},
        {episode: {"digest": f"sha256:{hashlib.sha256(elsewhere).hexdigest()}", "size": 1}},
        {episode: named[other].model_dump()},
        {second.spec.episodes[0].episode: named[episode].model_dump()},
        {"../../x": named[episode].model_dump()},
    ):
        answer = remote.about(running, "POST", "finish", changed(message, "trajectories", episodes))
        assert (answer.status_code, answer.json()["code"]) == (422, "result_refused")
    assert untouched(running)
    assert remote.about(running, "POST", "finish", message).status_code == 204
    assert Episode.objects.get(pk=episode).trajectory_id == named[episode].digest


def test_records_of_an_earlier_lease_are_nobodys(remote: Any, running: Claim) -> None:
    message = remote.finished(running)
    assert remote.about(running, "POST", "hand-back").status_code == 204
    again = remote.must_claim()
    assert remote.about(again, "POST", "finish", message).status_code == 422
    assert remote.about(again, "POST", "finish", remote.finished(again)).status_code == 204


def test_what_the_platform_wrote_into_the_record_stays_its_own(remote: Any, running: Claim) -> None:
    before = Evaluation.objects.get().record
    said = {"platform": "9", "agent": "x", "workers": "nobody", "scoring": "x", "limits": "none", "sandbox": "docker"}
    body = changed(remote.finished(running, records=False), "result/provenance", said)
    assert remote.about(running, "POST", "finish", body).status_code == 204
    after = Evaluation.objects.get().record
    assert after == {**before, "sandbox": "docker", "workers": after["workers"]}
    assert after["workers"]["gpu-lab"]["hosts"] == ["box"]


# Files


def zipped(files: dict[str, bytes], **how: Any) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, **how)
    return made.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_lines(content: bytes, change: Callable[[list[dict[str, Any]]], Any]) -> bytes:
    """The same record with its lines changed."""
    files = unzipped(content)
    lines = [json.loads(line) for line in files["trajectory.jsonl"].splitlines()]
    change(lines)
    files["trajectory.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return zipped(files)


def bomb(content: bytes) -> bytes:
    files = unzipped(content)
    zeros = b"0" * (200 << 20)
    return zipped({**files, f"blobs/{hashlib.sha256(zeros).hexdigest()}": zeros})


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda content: b"",
    "no zip": lambda content: b"PK\x03\x04 and no more",
    "cut off": lambda content: content[:-40],
    "damaged": lambda content: content[:200] + b"\xff" * 50 + content[250:],
    "another name": lambda content: zipped({**unzipped(content), "../../secret": b"x"}),
    "a folder": lambda content: zipped({**unzipped(content), "blobs/": b""}),
    "no record": lambda content: zipped({"blobs/" + "0" * 64: b"x"}),
    "a blob of another digest": lambda content: zipped({**unzipped(content), "blobs/" + "0" * 64: b"x"}),
    "a blob that is missing": lambda content: zipped({"trajectory.jsonl": unzipped(content)["trajectory.jsonl"]}),
    "too much": bomb,
    "another compression": lambda content: zipped(unzipped(content), compress_type=zipfile.ZIP_BZIP2),
    "an empty record": lambda content: zipped({"trajectory.jsonl": b""}),
    "no JSON": lambda content: zipped({"trajectory.jsonl": b"{\n"}),
    "deep JSON": lambda content: zipped({"trajectory.jsonl": b"[" * 100_000}),
    "an endless line": lambda content: zipped({"trajectory.jsonl": b" " * (33 << 20)}),
    "an unknown field": lambda content: with_lines(content, lambda lines: lines[1].update(surprise=1)),
    "an unknown kind": lambda content: with_lines(content, lambda lines: lines[1].update(kind="surprise")),
    "not from its beginning": lambda content: with_lines(content, lambda lines: lines.pop(0)),
    "a hole": lambda content: with_lines(content, lambda lines: lines.pop(2)),
    "more after the end": lambda content: with_lines(
        content, lambda lines: lines.append({**lines[1], "seq": len(lines)})
    ),
    "two episodes": lambda content: with_lines(content, lambda lines: lines[1].update(episode=str(uuid4()))),
    "times of no zone": lambda content: with_lines(content, lambda lines: lines[1].update(at="2026-01-01T00:00:00")),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_record_that_no_page_could_read_is_not_kept(how: str, remote: Any, running: Claim) -> None:
    stored = Artifact.objects.count()
    content = BROKEN[how](remote.record(running.spec.episodes[0].episode))
    answer = remote.send(running, content)
    assert (answer.status_code, answer.json()["code"]) == (422, "record_refused"), answer.json()
    assert not SentRecord.objects.exists()
    assert Artifact.objects.count() == stored


def test_a_record_of_another_jobs_episode_is_not_kept(remote: Any, running: Claim, own_phase: Any, start: Any) -> None:
    start(own_phase())
    other = remote.must_claim()
    for episode in (other.spec.episodes[0].episode, str(uuid4()), "x"):
        answer = remote.send(running, remote.record(episode))
        assert (answer.status_code, answer.json()["code"]) == (422, "record_refused")
    assert not SentRecord.objects.exists()


def test_the_bytes_must_be_those_that_the_address_names(remote: Any, running: Claim) -> None:
    content = remote.record(running.spec.episodes[0].episode)
    digest = hashlib.sha256(content).hexdigest()
    for wrong in ("sha256:" + "0" * 64, digest, digest.upper(), "..", "x" * 300):
        answer = remote.about(running, "PUT", f"files/{wrong}", content)
        assert answer.status_code in (400, 404)
    assert not SentRecord.objects.exists()
    for _ in range(2):  # the same bytes again are no error
        assert remote.send(running, content).status_code == 204
    assert SentRecord.objects.get().times == 1


@given(
    detail=st.recursive(
        st.none() | st.booleans() | st.integers() | st.integers(10**290, 10**310) | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    nested=st.integers(0, 250),
    report=st.binary(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(detail=float("nan"), nested=99, report=b"a\0b")
@example(detail=10**300, nested=0, report=b"")
@example(detail=1, nested=190, report=b"")
def test_what_a_scoring_program_wrote_is_its_own_fault_or_can_be_sent(
    tmp_path: Path, detail: Any, nested: int, report: bytes
) -> None:
    """Never a result that its worker takes and the site does not: that would be told as a fault of the platform's."""
    row = json.dumps({"scenario": "1", "trial": 1, "scores": {"a": 1}, "detail": {"x": "HERE"}})
    row = row.replace('"HERE"', "[" * nested + json.dumps(detail) + "]" * nested)
    for name, content in (("scores.json", b'{"a": 1}'), ("scenarios.jsonl", row.encode()), ("x.html", report)):
        (tmp_path / name).write_bytes(content)
    try:
        found = vars(read_outputs(tmp_path))
    except ProgramFault:
        return
    message = FinishedScore(result=ScoreResult(programs=[ProgramScores(key="rubric", **found)])).model_dump_json()
    request = RequestFactory().post("/", message.encode(), content_type="application/json")
    assert remote_bodies.read_message(request, TypeAdapter(Finished)).kind == "score"


def test_a_score_job_takes_no_records(remote: Any, scoring: Claim) -> None:
    assert remote.send(scoring, b"x").status_code == 413


def test_too_large_a_body_is_refused_by_its_length_and_else_when_it_has_come(
    remote: Any, running: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_api, "most_bytes", lambda held: 100)
    monkeypatch.setattr(remote_api, "FINISH_BYTES", 100)
    monkeypatch.setattr(remote_api, "ANSWER_BYTES", 100)
    big = b" " * 101
    for method, path in (("PUT", f"files/sha256:{'0' * 64}"), ("POST", "finish")):
        for headers in ({}, {"Content-Length": "0"}, {"Content-Length": "-1"}):
            answer = remote.about(running, method, path, big, **headers)
            assert answer.status_code in (400, 413), (path, headers)
    answer = remote.about(running, "POST", "report", b" " * (remote_bodies.MESSAGE_BYTES + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert untouched(running)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"\xff", b"{}", b'"x"', b"[" * 100_000, b'{"a":' * 1000 + b"1" + b"}" * 1000),
        b'{"event": "agent_started", "detail": {"x": ' + b"[" * 500 + b"]" * 500 + b"}}",
        b'{"event": "agent_started", "detail": {"x": NaN}}',
        b'{"event": "agent_started", "detail": {"x": 1e999}}',
        b'{"event": "agent_started", "detail": {"x": "\\u0000"}}',
        b'{"event": "agent_started", "detail": {"x": "\\ud800"}}',
        b'{"event": "agent_started", "surprise": 1}',
    ],
)
def test_a_message_that_is_none_is_refused_with_its_fields(body: bytes, remote: Any, running: Claim) -> None:
    for path in ("report", "give-back", "finish"):
        answer = remote.about(running, "POST", path, body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert answer.json()["message"]
    for path in ("heartbeat", "claims"):
        assert remote.ask("POST", path, body).status_code == 400
    assert untouched(running)


def test_one_episodes_record_is_replaced_only_so_often(
    remote: Any, running: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_records, "_MOST_TIMES", 3)
    episode = running.spec.episodes[0].episode
    answers = [remote.send(running, remote.record(episode)) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [204, 204, 204, 409]
    assert SentRecord.objects.count() == 1


@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_record_whose_lease_is_lost_while_it_comes_is_not_kept_nor_takes_anothers_place(
    claimed_again: bool, remote: Any, running: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = running.spec.episodes[0].episode
    store, newer = remote_records.store, []

    def store_late(*given: Any, **more: Any) -> Artifact:
        monkeypatch.setattr(remote_records, "store", store)
        assert remote.about(running, "POST", "hand-back").status_code == 204
        if claimed_again:
            newer.append(remote.must_claim())
            assert remote.send(newer[0], remote.record(episode)).status_code == 204
        return store(*given, **more)

    monkeypatch.setattr(remote_records, "store", store_late)
    answer = remote.send(running, remote.record(episode))
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")
    assert list(SentRecord.objects.values_list("lease", "times")) == [(UUID(one.token), 1) for one in newer]


def test_nothing_is_taken_that_would_fill_the_disk(remote: Any, running: Claim, settings: Any) -> None:
    settings.MIN_FREE_BYTES = 1 << 60
    answer = remote.send(running, remote.record(running.spec.episodes[0].episode))
    assert (answer.status_code, answer.json()["code"]) == (507, "no_room")
    assert "Retry-After" in answer
