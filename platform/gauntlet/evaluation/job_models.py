"""A claimed job's language models, or its judge, on this machine's database; every write is fenced by the claim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

from django.db import close_old_connections, connection, transaction
from django.db.models import QuerySet

from gauntlet.competitions.models import Competition
from gauntlet.evaluation.claims import GOING_ON, lease_of
from gauntlet.evaluation.models import Evaluation, Job, JobKind
from gauntlet.evaluation.states import JobState
from gauntlet.metering import selectors, services
from gauntlet_runtime.jobs import Claim, LeaseLost, RunSpec
from gauntlet_runtime.metering import ModelAccess, ModelSpec, ModelSupply, Refusal, Reservation, Settlement


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Where a job's calls count: see `gauntlet.metering.services.reserve`."""

    own: UUID
    what: str
    shared: UUID | None = None


def judge_account(evaluation: UUID) -> UUID:
    """The account of an evaluation's judge; its agent's has the evaluation's own id."""
    return uuid5(evaluation, "judge")


def submission_account(submission: UUID, *, number: int) -> UUID:
    """The account of a submission's agent in all of its tasks; each rerun has a new one, as it has new evaluations."""
    return uuid5(submission, f"run {number}")


@dataclass(frozen=True, kw_only=True)
class Held:
    """A job under the lease with which it was claimed."""

    job: UUID
    lease: UUID
    evaluation: UUID
    submission: UUID


class DatabaseModels(ModelSupply):
    """A claimed job's models. Kept answers are the submission's."""

    def __init__(self, held: Held, spec: ModelSpec, accounts: Accounts) -> None:
        self._held = held
        self._spec = spec
        self._accounts = accounts

    def access(self) -> ModelAccess | None:
        """The provider's address and key."""
        competition = Competition.objects.get(phases__submissions=self._held.submission)
        return selectors.model_access(competition, self._spec.provider)

    def reserve(self, reservation: Reservation) -> Refusal | None:
        """Hold what a call can use at most.

        The job cannot be taken away meanwhile: what it left open then is closed, and this would come after that.
        """
        self._let_go_of_a_broken_connection()
        with transaction.atomic():
            self._check(self._ours().select_for_update(of=["self"], no_key=True))
            return services.reserve(
                account=self._accounts.own,
                what=self._accounts.what,
                shared=self._accounts.shared,
                holder=self._held.job,
                spec=self._spec,
                reservation=reservation,
            )

    def settle(self, settlement: Settlement) -> None:
        """Give back what a call did not use."""
        self._must_be_ours()
        services.settle(settlement, holder=self._held.job)

    def find_answer(self, key: str, into: Path) -> bool:
        """Put a kept answer into a file."""
        self._must_be_ours()
        return selectors.find_answer(scope=self._held.submission, key=key, into=into)

    def keep_answer(self, key: str, answer: Path) -> None:
        """Keep an answer."""
        self._must_be_ours()
        services.keep_answer(scope=self._held.submission, key=key, answer=answer)

    def close(self) -> None:
        """Let go of this thread's connection."""
        connection.close()

    def _must_be_ours(self) -> None:
        """Raises LeaseLost where the job is somebody else's by now."""
        self._let_go_of_a_broken_connection()
        self._check(self._ours())

    def _ours(self) -> QuerySet[Job]:
        held = Job.objects.filter(pk=self._held.job, token=self._held.lease, state=JobState.LEASED)
        return held.filter(evaluation__state__in=GOING_ON)

    def _check(self, held: QuerySet[Job]) -> None:
        if held.values_list("pk").first() is None:
            raise LeaseLost(f"job {self._held.job} is no longer ours")

    @staticmethod
    def _let_go_of_a_broken_connection() -> None:
        if not connection.in_atomic_block:
            close_old_connections()


def models_of(claim: Claim) -> DatabaseModels | None:
    """The models that a claimed job's agent may call, or its judge; None where there are none."""
    held = Held(
        job=UUID(claim.job),
        lease=UUID(claim.token),
        evaluation=UUID(claim.evaluation),
        submission=UUID(claim.submission),
    )
    if not isinstance(claim.spec, RunSpec):
        return None if claim.spec.judge is None else _of_judge(held, claim.spec.judge.models)
    if claim.spec.llm is None:
        return None
    number = Evaluation.objects.values_list("number", flat=True).get(pk=held.evaluation)
    return _of_agent(held, claim.spec.llm, number=number)


def models_of_job(job: Job) -> DatabaseModels | None:
    """The same of a leased job, by its rows."""
    evaluation = job.evaluation
    held = Held(job=job.pk, lease=lease_of(job), evaluation=evaluation.pk, submission=evaluation.submission_id)
    if job.kind == JobKind.SCORE:
        judge = evaluation.task.judge
        return _of_judge(held, selectors.judge_spec(judge).models) if judge else None
    llm = evaluation.submission.phase.llm
    return _of_agent(held, selectors.model_spec(llm), number=evaluation.number) if llm else None


def _of_judge(held: Held, spec: ModelSpec) -> DatabaseModels:
    return DatabaseModels(held, spec, Accounts(own=judge_account(held.evaluation), what="judge"))


def _of_agent(held: Held, spec: ModelSpec, *, number: int) -> DatabaseModels:
    shared = submission_account(held.submission, number=number)
    return DatabaseModels(held, spec, Accounts(own=held.evaluation, what="evaluation", shared=shared))
