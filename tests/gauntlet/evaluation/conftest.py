"""An evaluation in the queue, and a worker's side of it without a sandbox: what it claims and what it hands back."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, TypeAdapter

from gauntlet_runtime.gateway.recorder import Recorder, pack
from gauntlet_runtime.jobs import Claim, EpisodeResult, Failure, ProgramScores, RunResult, RunSpec, ScoreResult
from gauntlet_runtime.remote.messages import LEASE_HEADER, PROTOCOL, PROTOCOL_HEADER, FinishedRun, FinishedScore
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

if TYPE_CHECKING:
    from django.test import Client

    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase, Team
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.queues.models import Queue, QueueToken
    from gauntlet.submissions.models import Submission


@dataclass
class FakeWorker:
    """Claims through the real job source and hands back results that no sandbox made."""

    name: str = "worker"
    claims: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        from gauntlet.evaluation.job_source import DatabaseJobSource

        self.source = DatabaseJobSource()

    def claim(self) -> Claim | None:
        claim = self.source.claim(queues=["default"], worker=self.name)
        if claim:
            self.claims.append(claim)
        return claim

    def must_claim(self) -> Claim:
        claim = self.claim()
        assert claim is not None, "there is no job to claim"
        return claim

    def run(
        self, claim: Claim, *, failures: dict[str, FailureCode] | None = None, only: int | None = None
    ) -> RunResult:
        """The result of a run job in which every episode was answered, but for those in ``failures`` by key."""
        assert isinstance(claim.spec, RunSpec)
        episodes = []
        for spec in claim.spec.episodes[:only]:
            failure = (failures or {}).get(spec.key)
            episodes.append(
                EpisodeResult(
                    episode=spec.episode,
                    outcome=Outcome.FAILED if failure else Outcome.ANSWERED,
                    failure=failure,
                    seconds=1.0,
                    steps=3,
                    tool_calls=2,
                )
            )
        return RunResult(episodes=episodes, log="said by the agent", agent_seconds=2.0)

    def scores(self, claim: Claim, value: float = 0.5) -> ScoreResult:
        """The result of a score job in which one program gave every episode the same score."""
        rows = [
            {"scenario": episode.key, "trial": episode.trial, "scores": {"score": value}, "detail": {"why": "because"}}
            for episode in claim.spec.episodes  # type: ignore[union-attr]
        ]
        program = ProgramScores(key="rubric", scores={"score": value}, scenarios=rows, provenance={"judge": "checks"})
        return ScoreResult(programs=[program], scorer_seconds=1.0)

    def finish_all(self, value: float = 0.5) -> None:
        """Do every job that is ready."""
        while claim := self.claim():
            if isinstance(claim.spec, RunSpec):
                self.source.finish(claim, self.run(claim))
            else:
                self.source.finish(claim, self.scores(claim, value))


@pytest.fixture
def worker(db: None) -> FakeWorker:
    return FakeWorker()


@pytest.fixture
def make_worker(db: None) -> Callable[[str], FakeWorker]:
    return FakeWorker


@pytest.fixture
def start(make_phase: Callable[..., Phase], make_submission: Callable[..., Submission]) -> Callable[..., Evaluation]:
    """Put a submission's evaluation into the queue."""
    from gauntlet.evaluation.services import start_evaluations

    def start(phase: Phase | None = None, **fields: Any) -> Evaluation:
        submission = make_submission(phase or make_phase(), **fields)
        (evaluation,) = start_evaluations(submission)
        return evaluation

    return start


@pytest.fixture
def expire() -> Callable[[Claim], None]:
    """Let a claim's lease run out, as if its worker had been silent."""
    from datetime import timedelta

    from django.db.models.functions import Now

    from gauntlet.evaluation.models import Job

    def expire(claim: Claim) -> None:
        Job.objects.filter(pk=UUID(claim.job)).update(leased_until=Now() - timedelta(seconds=1))

    return expire


PLATFORM_FAILURE = Failure(code=FailureCode.INFRASTRUCTURE, message="The sandbox could not be started.")
AGENT_FAILURE = Failure(code=FailureCode.AGENT_ERROR, message="The agent ended with exit code 1.")
SCORING_FAILURE = Failure(code=FailureCode.SCORING_ERROR, message="rubric ended with exit code 1.")


@pytest.fixture
def platform_failure() -> Failure:
    return PLATFORM_FAILURE


@pytest.fixture
def agent_failure() -> Failure:
    return AGENT_FAILURE


@pytest.fixture
def scoring_failure() -> Failure:
    return SCORING_FAILURE


@pytest.fixture
def people(phase: Phase, make_people: Callable[..., dict[str, User]]) -> dict[str, User]:
    """Who takes part in the phase's competition."""
    return make_people(phase, "ada", "bob", "eve", "joe", "kim")


@pytest.fixture
def pumps(phase: Phase, people: dict[str, User], make_team: Callable[..., Team]) -> Team:
    """Ada's, with Bob in it."""
    return make_team(phase, "Pumps", people["ada"], people["bob"])


@pytest.fixture
def fans(phase: Phase, people: dict[str, User], make_team: Callable[..., Team]) -> Team:
    """Eve's alone."""
    return make_team(phase, "Fans", people["eve"])


@pytest.fixture
def scored(phase: Phase, make_submission: Callable[..., Submission]) -> Callable[..., Submission]:
    """Make a submission to the test's phase with a score that is in force and on the board."""
    from django.utils import timezone

    from gauntlet.evaluation.models import Evaluation, Score
    from gauntlet.evaluation.scores import record_again

    def make(participant: User, value: float, **fields: Any) -> Submission:
        submission = make_submission(phase, participant, **fields)
        evaluation = Evaluation.objects.create(
            submission=submission,
            task=phase.tasks.get(),
            state="finished",
            in_force=True,
            seed=1,
            queued_at=timezone.now(),
            record={"scoring": {"rubric": {}}},
        )
        Score.objects.create(evaluation=evaluation, key="rubric.score", value=value)
        assert record_again(submission)
        return submission

    return make


@dataclass
class RemoteWorker:
    """A worker of an own queue, as the requests that it makes; a hostile one says anything."""

    client: Client
    folder: Path
    queue: Queue
    token: QueueToken
    secret: str
    name: str = "box:1"
    fake: FakeWorker = field(default_factory=FakeWorker)

    def ask(
        self,
        method: str,
        path: str,
        body: BaseModel | bytes | dict[str, Any] | None = None,
        *,
        lease: str | None = None,
        **headers: str,
    ) -> Any:
        """The answer to a request below the worker's address."""
        content = body if isinstance(body, bytes) else b"" if body is None else _JSON.dump_json(body)
        sent = {"Authorization": f"Bearer {self.secret}", PROTOCOL_HEADER: PROTOCOL, **headers}
        if lease is not None:
            sent[LEASE_HEADER] = lease
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        return self.client.generic(method, f"/api/v1/worker/{path}", content, content_type=kind, headers=sent)

    def about(self, claim: Claim, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer to a request about a claimed job."""
        return self.ask(method, f"jobs/{claim.job}/{path}", body, lease=claim.token, **headers)

    def got(self, claim: Claim, path: str) -> bytes:
        """The bytes of a file."""
        answer = self.about(claim, "GET", path)
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")

        async def collect() -> bytes:
            return b"".join([chunk async for chunk in answer])

        return asyncio.run(collect())

    def claim(self) -> Claim | None:
        answer = self.ask("POST", "claims", {"worker": self.name})
        if answer.status_code == 204:
            return None
        assert answer.status_code == 200, answer.content
        return Claim.model_validate_json(answer.content)

    def must_claim(self) -> Claim:
        claim = self.claim()
        assert claim is not None, "there is no job to claim"
        return claim

    def record(self, episode: str) -> bytes:
        """An episode's record as a gateway makes it, with a large result beside it."""
        folder = self.folder / uuid4().hex
        recorder = Recorder(folder, episode=episode, limit=1 << 20, on_full=lambda: None)
        recorder.scenario(scenario="opaque", trial=1, seed=1, text="Question?", show={}, tools=["look_up"])
        call = recorder.tool_call("look_up", {"number": 1}, overlaps=False)
        recorder.tool_result(call, tool="look_up", result={"structuredContent": {"it": "x" * 100_000}}, seconds=0.1)
        recorder.answer("It is 1, and \0.", {"value": 1})
        recorder.end(Outcome.ANSWERED, failure=None, message="", seconds=1.0, state=None)
        return pack(folder, self.folder / f"{folder.name}.zip").read_bytes()

    def send(self, claim: Claim, content: bytes) -> Any:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return self.about(claim, "PUT", f"files/{digest}", content)

    def finished(self, claim: Claim, *, records: bool = True) -> FinishedRun | FinishedScore:
        """The message that ends a job; records of a run job are sent first."""
        if not isinstance(claim.spec, RunSpec):
            return FinishedScore(result=self.fake.scores(claim))
        sent = {}
        for one in claim.spec.episodes if records else []:
            content = self.record(one.episode)
            assert self.send(claim, content).status_code == 204
            sent[one.episode] = {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
        return FinishedRun.model_validate({"result": self.fake.run(claim).model_dump(), "trajectories": sent})

    def finish(self, claim: Claim) -> None:
        answer = self.about(claim, "POST", "finish", self.finished(claim))
        assert answer.status_code == 204, answer.content


_JSON: TypeAdapter[Any] = TypeAdapter(Any)


@pytest.fixture
def make_remote(make_user: Callable[..., User], client: Client, tmp_path: Path) -> Callable[..., RemoteWorker]:
    """Make a queue of somebody's own with a token, and a worker that has it."""
    from django.core.cache import cache

    from gauntlet.queues.models import Queue
    from gauntlet.queues.services import issue_token

    cache.clear()  # of how often whom asked

    def make(name: str = "gpu-lab", queue: Queue | None = None) -> RemoteWorker:
        queue = queue or Queue.objects.create(name=name, owner=make_user())
        token, secret = issue_token(queue, label="the lab", actor=queue.owner)
        return RemoteWorker(client=client, folder=tmp_path, queue=queue, token=token, secret=secret)

    return make


@pytest.fixture
def remote(make_remote: Callable[..., RemoteWorker]) -> RemoteWorker:
    return make_remote()


@pytest.fixture
def own_phase(remote: RemoteWorker, make_phase: Callable[..., Phase]) -> Callable[..., Phase]:
    """Make a phase whose jobs wait in the queue of `remote`."""

    def make(**fields: Any) -> Phase:
        return make_phase(queue=remote.queue.name, **fields)

    return make
