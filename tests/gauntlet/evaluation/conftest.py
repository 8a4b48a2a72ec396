"""An evaluation in the queue, and a worker's side of it without a sandbox: what it claims and what it hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from gauntlet_runtime.jobs import Claim, EpisodeResult, Failure, ProgramScores, RunResult, RunSpec, ScoreResult
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.models import Evaluation
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
