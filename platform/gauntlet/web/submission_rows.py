"""Submissions as rows of a list; what is read was prefetched by the list's selector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.selectors import status_of
from gauntlet.submissions.models import Submission
from gauntlet_scoring.failures import FailureCode

_SETTLED = frozenset({"rejected", "finished", "failed", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class SubmissionRow:
    """A row: what was sent, and where it stands."""

    id: UUID
    name: str
    baseline: bool
    competition: str
    slug: str
    phase: str
    participant: str
    status: str
    owner: str  # of the failure, or nothing
    failure: str  # its code, or nothing
    progress: str  # "7 of 20" while it runs
    created_at: datetime

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in _SETTLED


def submission_rows(submissions: Iterable[Submission]) -> list[SubmissionRow]:
    """Rows of submissions with their phase, competition and newest evaluations prefetched."""
    return [_row(submission) for submission in submissions]


def _row(submission: Submission) -> SubmissionRow:
    evaluations: list[Evaluation] = list(submission.evaluations.all())
    status = status_of(submission, evaluations)
    codes = (submission.failure_code, *(one.failure_code for one in evaluations))
    code = next((code for code in codes if code), "") if status in {"failed", "rejected"} else ""
    running = [one for one in evaluations if one.state == "running"]
    done, total = sum(one.episodes_done for one in running), sum(one.episodes_total for one in running)
    return SubmissionRow(
        id=submission.pk,
        name=submission.name,
        baseline=submission.baseline,
        competition=submission.phase.competition.title,
        slug=submission.phase.competition.slug,
        phase=submission.phase.name,
        participant=submission.entrant,
        status=status,
        owner=FailureCode(code).owner if code else "",
        failure=code,
        progress=f"{done} of {total}" if status == "running" and total else "",
        created_at=submission.created_at,
    )
