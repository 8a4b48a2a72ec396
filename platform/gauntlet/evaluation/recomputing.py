"""Boards computed anew from stored scores: where a column's meaning has changed since they were written."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from gauntlet.competitions.models import Competition
from gauntlet.evaluation.scores import record_again
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.submissions.models import Submission


@dataclass(kw_only=True)
class Recomputed:
    """What came of it."""

    submissions: int = 0  # computed anew
    values: int = 0  # of columns that are others than before, that are there now, or that are there no more
    rows: int = 0  # entries of boards that are others than before
    left: int = 0  # submissions with results of some tasks only: they stay as they are


def recompute_boards(competition: Competition, *, keep: bool = True) -> Recomputed:
    """Compute the values and rows of every scored submission of a competition anew; again changes nothing.

    Nothing is run and nothing is scored. Each submission has a transaction of its own, and its result is not recorded
    by anybody else meanwhile.

    Args:
        keep: whether the changes are kept, or only counted.
    """
    found = Recomputed()
    scored = Submission.objects.filter(phase__competition=competition, evaluations__in_force=True)
    for key in list(scored.order_by("created_at", "pk").values_list("pk", flat=True).distinct()):
        with transaction.atomic():
            _recompute(key, found)
            transaction.set_rollback(not keep)
    return found


def _recompute(key: UUID, found: Recomputed) -> None:
    submission = Submission.objects.select_for_update(of=["self"]).select_related("phase").get(pk=key)
    values, rows = _values(submission), _rows(submission)
    if not record_again(submission):
        found.left += 1
        return
    found.submissions += 1
    found.values += len(dict(values.items() ^ _values(submission).items()))
    found.rows += rows != _rows(submission)


def _values(submission: Submission) -> dict[int, tuple[float | None, ...]]:
    rows = ColumnValue.objects.filter(submission=submission).values_list("column", "value", "low", "high", "unverified")
    return {column: tuple(cell) for column, *cell in rows}


def _rows(submission: Submission) -> set[tuple[object, ...]]:
    """The entries of its participant in its phase, one a board."""
    entries = Entry.objects.filter(
        phase=submission.phase_id, participant=submission.participant_id, baseline=submission.baseline
    )
    return set(entries.values_list("leaderboard", "submission", "primary_value", "scenarios"))
