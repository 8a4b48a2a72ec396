"""Submissions as rows of a list, with the score that decides the rank; the same few queries at any length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone

from gauntlet.competitions.models import Column
from gauntlet.competitions.visibility import Audience, Part, may_see
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.selectors import status_of
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.leaderboards.selectors import Cell
from gauntlet.submissions.models import Submission
from gauntlet_scoring.failures import FailureCode

_SETTLED = frozenset({"rejected", "finished", "failed", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class RowScore:
    """A submission's score in the column that decides the rank."""

    text: str
    column: str
    standing: bool  # it is the one with which its participant stands on the board


@dataclass(frozen=True, kw_only=True)
class SubmissionRow:
    """A row: what was sent, and where it stands."""

    id: UUID
    name: str
    baseline: bool
    competition: str
    slug: str
    phase: str
    phase_index: int
    participant: str
    status: str
    owner: str  # of the failure, or nothing
    failure: str  # its code, or nothing
    progress: str  # "7 of 20" while it runs
    score: RowScore | None  # None where there is none, or its reader may not see it
    created_at: datetime

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in _SETTLED


def submission_rows(submissions: Iterable[Submission], *, audience: Audience) -> list[SubmissionRow]:
    """Rows of submissions with their phase, competition and newest evaluations prefetched."""
    listed = list(submissions)
    scores = _scores(listed, audience=audience)
    return [_row(submission, scores.get(submission.pk)) for submission in listed]


def _scores(submissions: Sequence[Submission], *, audience: Audience) -> Mapping[UUID, RowScore]:
    """The scores that the audience may see, of each competition's first board."""
    now = timezone.now()
    seen = [one for one in submissions if may_see(Part.AGGREGATE_SCORE, phase=one.phase, audience=audience, now=now)]
    competitions = {one.phase.competition_id for one in seen}
    shown = Column.objects.filter(leaderboard__competition__in=competitions, leaderboard__hidden=False, hidden=False)
    primary: dict[int, Column] = {}  # by competition; where none is marked so, the first that is shown
    for column in shown.select_related("leaderboard").order_by("leaderboard__index", "-primary", "index"):
        primary.setdefault(column.leaderboard.competition_id, column)
    standing = Entry.objects.filter(submission=OuterRef("submission"), leaderboard=OuterRef("column__leaderboard"))
    values = ColumnValue.objects.filter(submission__in=seen, column__in=primary.values())
    return {
        value.submission_id: RowScore(
            text=Cell(value.value, None, None, value.column.precision).text,
            column=value.column.title,
            standing=value.standing,
        )
        for value in values.select_related("column").annotate(standing=Exists(standing))
    }


def _row(submission: Submission, score: RowScore | None) -> SubmissionRow:
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
        phase_index=submission.phase.index,
        participant=submission.entrant,
        status=status,
        owner=FailureCode(code).owner if code else "",
        failure=code,
        progress=f"{done} of {total}" if status == "running" and total else "",
        score=score,
        created_at=submission.created_at,
    )
