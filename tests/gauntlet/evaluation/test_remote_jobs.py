"""Jobs of own queues over HTTPS: from the claim to the scores, and who gets at nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from rest_framework.throttling import ScopedRateThrottle

from gauntlet.evaluation import remote_api, remote_jobs
from gauntlet.evaluation.claims import sweep
from gauntlet.evaluation.models import Episode, Job, Score, SentRecord, Worker
from gauntlet.evaluation.remote_records import forget_records
from gauntlet.evaluation.services import cancel_evaluation
from gauntlet.queues.services import revoke_token
from gauntlet.storage.services import open_artifact
from gauntlet_runtime.jobs import Artifact, Claim, Failure, RunSpec, ScoreSpec
from gauntlet_runtime.remote.messages import LEASE_HEADER, PROTOCOL_HEADER
from gauntlet_runtime.remote.serving import poll_seconds
from gauntlet_scoring.failures import FailureCode

pytestmark = pytest.mark.django_db

KEY = "0" * 64
DIGEST = f"sha256:{KEY}"
#: Every call about a job, with a body that is right in its form.
CALLS: dict[str, tuple[str, Any]] = {
    "renew": ("POST", None),
    "hand-back": ("POST", None),
    "report": ("POST", {"event": "agent_started"}),
    "give-back": ("POST", {"code": "infrastructure", "message": "The disk is full."}),
    f"artifacts/{DIGEST}": ("GET", None),
    f"files/{DIGEST}": ("PUT", b"zip"),
    "finish": ("POST", {"kind": "run", "result": {"episodes": []}}),
    "models/access": ("GET", None),
    "models/reserve": ("POST", {"id": str(uuid4()), "tokens": 1, "cost": "0"}),
    "models/settle": ("POST", {"id": str(uuid4()), "tokens": 1, "cost": "0", "paid": True}),
    f"models/answers/{KEY}": ("PUT", b"[{}]"),
}


def artifacts_of(value: Any) -> list[Artifact]:
    return remote_jobs._artifacts(value)


def told(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def unchanged(claim: Claim) -> bool:
    """Whether a job is held as it was claimed."""
    job = Job.objects.get(pk=claim.job)
    return (job.state, str(job.token), job.attempt) == ("leased", claim.token, claim.attempt)


def test_a_submission_is_run_and_scored_by_a_worker_of_an_own_queue(
    remote: Any, own_phase: Any, start: Callable[..., Any]
) -> None:
    evaluation = start(own_phase())
    claim = remote.must_claim()
    assert isinstance(claim.spec, RunSpec)
    named = artifacts_of(claim.spec)
    assert len({one.digest for one in named}) == 2
    for one in named:
        assert len(remote.got(claim, f"artifacts/{one.digest}")) == one.size
    assert remote.about(claim, "POST", "renew").status_code == 204
    first = claim.spec.episodes[0].episode
    for event in ("episode_started", "episode_ended"):
        assert remote.about(claim, "POST", "report", {"event": event, "detail": {"episode": first}}).status_code == 204
    assert Episode.objects.get(pk=first).started_at is not None
    remote.finish(claim)
    scoring = remote.must_claim()
    assert isinstance(scoring.spec, ScoreSpec)
    record = scoring.spec.episodes[0].trajectory
    assert record is not None
    assert (
        remote.got(scoring, f"artifacts/{record.digest}")
        == open_artifact(Episode.objects.get(pk=scoring.spec.episodes[0].episode).trajectory).read()
    )
    remote.finish(scoring)
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.in_force) == ("finished", True)
    assert Score.objects.get(evaluation=evaluation).value == 0.5
    assert evaluation.record["workers"] == {"gpu-lab": {"owner": remote.queue.owner.username, "hosts": ["box"]}}
    assert forget_records() == 3
    assert not SentRecord.objects.exists()


def test_an_own_queues_jobs_are_its_own_workers_and_nobody_elses(
    remote: Any, make_remote: Any, own_phase: Any, make_phase: Any, start: Any, worker: Any
) -> None:
    start(own_phase())
    other = make_remote("other-lab")
    assert other.claim() is None
    assert worker.source.claim(queues=["default", "gpu-lab"], worker="host:1") is None
    start(make_phase())
    assert other.claim() is None
    assert remote.must_claim().submission != worker.must_claim().submission
    assert remote.claim() is None


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.parametrize("who", ["another queue", "another token", "an old lease", "no job", "an ended evaluation"])
def test_every_call_about_a_job_is_fenced(
    path: str, who: str, remote: Any, make_remote: Any, own_phase: Any, start: Any, make_user: Any
) -> None:
    evaluation = start(own_phase())
    claim = remote.must_claim()
    method, body = CALLS[path]
    asks, job, lease = remote, claim.job, claim.token
    match who:
        case "another queue":
            asks = make_remote("other-lab")
        case "another token":
            asks = make_remote(queue=remote.queue)
        case "an old lease":
            lease = str(uuid4())
        case "no job":
            job = str(uuid4())
        case "an ended evaluation":
            cancel_evaluation(evaluation.pk, actor=make_user())
    answer = asks.ask(method, f"jobs/{job}/{path}", body, lease=lease)
    assert told(answer) == (409, "lease_lost")
    assert unchanged(claim) or who == "an ended evaluation"
    assert not SentRecord.objects.exists()


@pytest.mark.parametrize("path", ["heartbeat", "claims", *(f"jobs/{UUID(int=1)}/{path}" for path in CALLS)])
def test_who_has_no_living_token_is_nobody_and_who_speaks_otherwise_is_told(path: str, remote: Any) -> None:
    method, body = CALLS.get(path.split("/", 2)[-1], ("POST", {"worker": "box:1", "state": "idle"}))
    token = f"Bearer {remote.secret}"
    for wrong in ("", "Bearer", "Bearer gqt_unknown", token[:-1], token.replace("Bearer", "Basic")):
        assert told(remote.ask(method, path, body, Authorization=wrong)) == (401, "not_authenticated")
    for version in ("", "0", "2"):
        answer = remote.ask(method, path, body, **{PROTOCOL_HEADER: version})
        assert told(answer) == (426, "worker_outdated")
        assert answer[PROTOCOL_HEADER] == "1"
    revoke_token(remote.token, actor=remote.queue.owner)
    answer = remote.ask(method, path, body)
    assert told(answer) == (401, "not_authenticated")
    assert answer["Cache-Control"] == "no-store"
    assert not Worker.objects.exists()


def test_a_lease_has_to_be_named(remote: Any, own_phase: Any, start: Any) -> None:
    start(own_phase())
    claim = remote.must_claim()
    for lease in ("", "no uuid", "\x80"):
        answer = remote.ask("POST", f"jobs/{claim.job}/renew", lease=lease)
        assert told(answer) == (400, "invalid")
        assert LEASE_HEADER in answer.json()["message"]


def test_a_person_s_token_opens_no_queue_and_a_queues_no_persons_pages(remote: Any, make_user: Any) -> None:
    from gauntlet.accounts.models import TokenScope
    from gauntlet.accounts.services import create_token

    _, secret = create_token(make_user(), name="mine", scopes=list(TokenScope))
    assert remote.ask("POST", "claims", {"worker": "box:1"}, Authorization=f"Bearer {secret}").status_code == 401
    answer = remote.client.get("/api/v1/submissions", headers={"Authorization": f"Bearer {remote.secret}"})
    assert answer.status_code == 401


def test_a_revoked_tokens_job_goes_to_another_at_once_and_costs_no_attempt(
    remote: Any, make_remote: Any, own_phase: Any, start: Any
) -> None:
    start(own_phase())
    claim = remote.must_claim()
    other = make_remote(queue=remote.queue)
    assert other.claim() is None
    revoke_token(remote.token, actor=remote.queue.owner)
    again = other.must_claim()
    assert (again.job, again.attempt) == (claim.job, 1)
    assert again.token != claim.token
    assert remote.about(claim, "POST", "renew").status_code == 401


def test_the_sweep_finds_what_a_dead_worker_of_an_own_queue_held(
    remote: Any, own_phase: Any, start: Any, expire: Any
) -> None:
    start(own_phase())
    claim = remote.must_claim()
    expire(claim)
    assert sweep() == 1
    assert told(remote.about(claim, "POST", "renew")) == (409, "lease_lost")
    Job.objects.update(available_at=Now())
    assert remote.must_claim().attempt == 2


def test_what_a_host_could_not_do_another_tries_first(remote: Any, own_phase: Any, start: Any) -> None:
    start(own_phase())
    claim = remote.must_claim()
    assert remote.about(claim, "POST", "give-back", CALLS["give-back"][1]).status_code == 204
    assert Job.objects.get().avoided == ["gpu-lab/box"]
    Job.objects.update(available_at=Now())
    assert remote.claim() is None
    remote.name = "other-box:1"
    again = remote.must_claim()
    assert again.job == claim.job
    assert remote.about(again, "POST", "hand-back").status_code == 204
    assert remote.must_claim().attempt == again.attempt


def test_a_workers_name_is_its_queues_and_overwrites_nobodys(remote: Any, make_remote: Any, worker: Any) -> None:
    from gauntlet.evaluation.models import WorkerState
    from gauntlet.evaluation.workers import report_worker, taking_workers

    report_worker(name="box:1", queues=["default"], state=WorkerState.IDLE)
    other = make_remote("other-lab")
    said = {"worker": "box:1", "state": "busy", "sandbox": "bubblewrap; memory: best effort", "version": "1.2"}
    for one in (remote, other):
        answer = one.ask("POST", "heartbeat", said)
        assert (answer.status_code, answer.json()) == (200, {"queue": one.queue.name, "seconds": 10.0})
    rows = {row.name: row for row in Worker.objects.all()}
    assert set(rows) == {"box:1", "gpu-lab/box:1", "other-lab/box:1"}
    assert (rows["box:1"].state, rows["box:1"].queue_token) == ("idle", None)
    mine = rows["gpu-lab/box:1"]
    assert (mine.host, mine.queues, mine.state, mine.queue_token) == ("gpu-lab/box", ["gpu-lab"], "busy", remote.token)
    assert (mine.sandbox, mine.version) == ("bubblewrap; memory: best effort", "1.2")
    assert taking_workers(["gpu-lab", "default"]) == {"gpu-lab": 1, "default": 1}
    for name in ("gpu-lab/box:1", "../box:1", "box", "box:1\n", ":1", "b" * 81 + ":1"):
        assert told(remote.ask("POST", "heartbeat", {**said, "worker": name})) == (400, "invalid")
        assert told(remote.ask("POST", "claims", {"worker": name})) == (400, "invalid")


def test_the_operators_page_says_whose_each_worker_is(
    remote: Any, make_user: Any, django_assert_num_queries: Any
) -> None:
    from gauntlet.evaluation.models import WorkerState
    from gauntlet.evaluation.workers import report_worker, worker_lines

    report_worker(name="box:1", queues=["default"], state=WorkerState.IDLE)
    remote.ask("POST", "heartbeat", {"worker": "box:1", "state": "idle"})
    with django_assert_num_queries(1):
        assert [one.owner for one in worker_lines()] == ["", remote.queue.owner.username]
    remote.client.force_login(make_user(is_superuser=True, is_staff=True))
    page = remote.client.get("/operators/workers/").content.decode()
    assert re.findall(r'data-l="Whose"[^>]*>([^<]*)<', page) == ["the platform’s", remote.queue.owner.username]


def test_one_token_brings_only_so_many_workers(remote: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gauntlet.evaluation import workers

    monkeypatch.setattr(workers, "MOST_OF_A_TOKEN", 2)
    beats = [{"worker": f"box:{number}", "state": "idle"} for number in range(3)]
    assert [remote.ask("POST", "heartbeat", beat).status_code for beat in [*beats, *beats]] == [200, 200, 409] * 2
    Worker.objects.filter(name="gpu-lab/box:0").update(seen_at=Now() - timedelta(days=2))
    assert remote.ask("POST", "heartbeat", beats[0]).status_code == 200


def test_workers_that_have_ended_keep_no_other_out(remote: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer or a cluster's scheduler starts a process for each job: `gauntlet-worker --once`."""
    from gauntlet.evaluation import workers

    monkeypatch.setattr(workers, "MOST_OF_A_TOKEN", 2)
    for number in range(6):
        for state in ("idle", "stopped"):
            said = {"worker": f"box:{number}", "state": state}
            assert remote.ask("POST", "heartbeat", said).status_code == 200
    assert Worker.objects.count() <= 2


def test_few_statements_are_made_whether_much_waits_or_nothing(
    remote: Any, own_phase: Any, start: Any, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(4):  # the token, twice; expired leases; whether any waits
        assert remote.claim() is None
    beat = {"worker": "box:1", "state": "idle"}
    assert remote.ask("POST", "heartbeat", beat).status_code == 200
    with django_assert_num_queries(3):  # the token, twice; the row
        remote.ask("POST", "heartbeat", beat)
    phase = own_phase()
    counts = []
    for others in (0, 20):
        for _ in range(others):
            start(phase)
        start(phase)
        with CaptureQueriesContext(
            connection,
        ) as made:
            claim = remote.must_claim()
        counts.append(len(made))
    assert counts[0] == counts[1]
    with django_assert_num_queries(4):  # the token, twice; the job; its lease
        assert remote.about(claim, "POST", "renew").status_code == 204


def test_who_asks_for_jobs_without_pause_is_told_to_wait(
    remote: Any, make_remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_api.TokenThrottle, "THROTTLE_RATES", {"claims": "3/min"})
    assert [remote.ask("POST", "claims", {"worker": "box:1"}).status_code for _ in range(4)] == [204, 204, 204, 429]
    answer = remote.ask("POST", "claims", {"worker": "box:1"})
    assert told(answer) == (429, "too_many_requests")
    assert 0 < int(answer["Retry-After"]) <= 60
    assert make_remote("other-lab").claim() is None


def test_as_many_jobs_are_taken_in_a_minute_as_there_are(
    remote: Any, own_phase: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many processes with short jobs ask no less often than an idle one without pause."""
    monkeypatch.setattr(remote_api.TokenThrottle, "THROTTLE_RATES", {"claims": "2/min"})
    phase = own_phase()
    for _ in range(4):
        start(phase)
    assert [remote.ask("POST", "claims", {"worker": "box:1"}).status_code for _ in range(5)] == [200] * 4 + [204]
    start(phase)
    assert [remote.ask("POST", "claims", {"worker": "box:1"}).status_code for _ in range(3)] == [200, 204, 429]


def test_a_workers_idle_processes_ask_no_more_often_than_a_token_may() -> None:
    requests, seconds = ScopedRateThrottle().parse_rate(settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["claims"])
    for processes in (1, 10, 64, 256):
        assert processes / poll_seconds(processes) <= requests / seconds / 2
    assert poll_seconds(1) == 1.0


def test_who_hands_the_same_job_back_without_end_is_stopped(
    remote: Any, own_phase: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_api.TokenThrottle, "THROTTLE_RATES", {"claims": "9/min", "hand_backs": "2/min"})
    start(own_phase())
    answers = [remote.about(remote.must_claim(), "POST", "hand-back").status_code for _ in range(3)]
    assert answers == [204, 204, 429]
    assert Job.objects.get().state == "leased"


@pytest.mark.parametrize("error", [OperationalError("gone"), OSError("no storage")])
def test_a_database_or_storage_that_is_away_is_worth_asking_again(
    error: Exception, remote: Any, own_phase: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(own_phase())
    claim = remote.must_claim()

    def away(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(remote_jobs.claims, "take_from_dead_workers", away)
    monkeypatch.setattr(remote_jobs.collecting, "finish_run", away)
    message = remote.finished(claim)
    for answer in (remote.ask("POST", "claims", {"worker": "box:1"}), remote.about(claim, "POST", "finish", message)):
        assert told(answer) == (503, "platform_away")
        assert answer["Retry-After"] == "5"
        assert "gone" not in answer.content.decode()
    monkeypatch.undo()
    assert remote.about(claim, "POST", "finish", message).status_code == 204


@pytest.mark.parametrize("digest", [DIGEST, "sha256:short", "..", "%2e%2e%2fsecrets", "sha256:" + "g" * 64, "a" * 500])
def test_only_files_that_the_job_names_are_given_out(digest: str, remote: Any, own_phase: Any, start: Any) -> None:
    start(own_phase())
    assert remote.about(remote.must_claim(), "GET", f"artifacts/{digest}").status_code == 404


def test_files_of_other_evaluations_and_the_ground_truth_of_a_run_are_not_given_out(
    remote: Any, own_phase: Any, make_phase: Any, start: Any, make_artifact: Any
) -> None:
    other = start(make_phase())
    mine = start(own_phase())
    claim = remote.must_claim()
    hidden = [other.submission.agent_bundle, other.task.reference_data, mine.task.reference_data, make_artifact(b"x")]
    for artifact in hidden:
        assert told(remote.about(claim, "GET", f"artifacts/{artifact.digest}")) == (404, "not_found")
    remote.finish(claim)
    scoring = remote.must_claim()
    assert remote.about(scoring, "GET", f"artifacts/{mine.task.reference_data.digest}").status_code == 200
    assert remote.about(scoring, "GET", f"artifacts/{mine.submission.agent_bundle.digest}").status_code == 404


def test_a_failure_that_a_worker_names_ends_as_one_of_the_platforms_own_does(
    remote: Any, own_phase: Any, start: Any
) -> None:
    evaluation = start(own_phase())
    Job.objects.update(max_attempts=1)
    claim = remote.must_claim()
    failure = Failure(code=FailureCode.IMAGE_UNAVAILABLE, message="This worker lacks an image.")
    assert remote.about(claim, "POST", "give-back", failure).status_code == 204
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "image_unavailable")
