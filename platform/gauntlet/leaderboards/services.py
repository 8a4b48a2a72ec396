"""Writing boards: a submission's column values, and which submission a participant stands with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import F

from gauntlet.competitions.models import Competition, Leaderboard, Phase, Sorting, SubmissionRule
from gauntlet.leaderboards.columns import Value, column_values, primary_column
from gauntlet.leaderboards.models import ColumnValue, Entry, Exclusion
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.submissions.models import Submission


@transaction.atomic(savepoint=False)
def record_result(submission: Submission, *, tasks: Sequence[TaskScores], scenarios: int) -> None:
    """Store what a submission's scores mean on every board of its competition and move its participant's entry.

    Replaces what an earlier result of the same submission stored. One that was taken off the boards has values and no
    place. Locks the participant's entry of each board.
    """
    boards = _boards(submission)
    changed = {leaderboard for leaderboard in boards if _store(leaderboard, submission, tasks)}
    _place_on(boards, submission, scenarios=scenarios, changed=changed)


def _store(leaderboard: Leaderboard, submission: Submission, tasks: Sequence[TaskScores]) -> bool:
    """Store the submission's values on a board; whether they are others than before."""
    columns = list(leaderboard.columns.all())
    found = column_values(columns, tasks)
    values = {column.pk: found[column.key] for column in columns if column.key in found}
    stored = ColumnValue.objects.filter(submission=submission, column__in=columns)
    before = {
        column: Value(value=value, low=low, high=high, unverified=unverified)
        for column, value, low, high, unverified in stored.values_list("column", "value", "low", "high", "unverified")
    }
    if before == values:
        return False
    if before:
        stored.delete()
    ColumnValue.objects.bulk_create(
        ColumnValue(
            submission=submission,
            column_id=column,
            value=value.value,
            low=value.low,
            high=value.high,
            unverified=value.unverified,
        )
        for column, value in values.items()
    )
    return True


@transaction.atomic(savepoint=False)
def place_result(submission: Submission, *, scenarios: int) -> None:
    """Move the entry of a submission's participant on every board, from values that are stored already.

    Locks the participant's entry of each board.
    """
    _place_on(_boards(submission), submission, scenarios=scenarios)


def _place_on(
    boards: Sequence[Leaderboard], submission: Submission, *, scenarios: int, changed: Collection[Leaderboard] = ()
) -> None:
    if Exclusion.objects.filter(submission=submission).exists():
        return
    for leaderboard in boards:
        _place(leaderboard, submission, scenarios=scenarios, changed=leaderboard in changed)


def _boards(submission: Submission) -> list[Leaderboard]:
    boards = Leaderboard.objects.filter(competition=submission.phase.competition_id)
    return list(boards.prefetch_related("columns"))


def remove_entries(competition: Competition, *, participants: Sequence[int], phase: Phase | None = None) -> None:
    """Take participants off a competition's boards, or a phase's, before their submissions are placed anew."""
    entries = Entry.objects.filter(leaderboard__competition=competition, participant__in=participants)
    (entries if phase is None else entries.filter(phase=phase)).delete()


def _place(leaderboard: Leaderboard, submission: Submission, *, scenarios: int, changed: bool) -> None:
    """Move the entry; one that stays as it is, with all of its values, keeps its date."""
    # Without a join: a statement that has waited for the lock sees no row any more whose joined one is another by then.
    entry, created = Entry.objects.select_for_update().get_or_create(
        leaderboard=leaderboard,
        phase_id=submission.phase_id,
        participant_id=submission.participant_id,
        baseline=submission.baseline,
        defaults={"submission": submission, "scenarios": scenarios},
    )
    before = (entry.submission_id, entry.primary_value, entry.scenarios)
    standing = _standing(leaderboard, entry, submission)
    entry.submission = standing
    primary = ColumnValue.objects.filter(submission=standing, column=primary_column(leaderboard))
    entry.primary_value = primary.values_list("value", flat=True).first()
    if standing == submission:
        entry.scenarios = scenarios
    if (
        created
        or (changed and standing == submission)
        or before != (entry.submission_id, entry.primary_value, entry.scenarios)
    ):
        entry.save()


def _standing(leaderboard: Leaderboard, entry: Entry, new: Submission) -> Submission:
    """The submission that stands on the board by its rule: the latest, or the best by the primary column.

    Of equally good ones the earlier stands; one without the primary score stands only where no other has it. The best
    may be a third one: where the result is that of a rerun, and worse than the first run's.
    """
    if leaderboard.submission_rule == SubmissionRule.LATEST:
        return max(entry.submission, new, key=lambda candidate: candidate.created_at)
    primary = primary_column(leaderboard)
    order = F("value").asc() if primary.sorting == Sorting.ASC else F("value").desc()
    best = (
        ColumnValue.objects.filter(
            column=primary,
            value__isnull=False,
            submission__exclusion=None,
            submission__phase=new.phase_id,
            submission__participant=new.participant_id,
            submission__baseline=new.baseline,
        )
        .order_by(order, "submission__created_at")
        .select_related("submission")
        .first()
    )
    return best.submission if best else min(entry.submission, new, key=lambda candidate: candidate.created_at)
