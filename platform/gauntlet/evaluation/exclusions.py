"""An organizer's word about a submission: off the boards, for one that broke the rules, and back; a baseline or not."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.access import must_organize
from gauntlet.competitions.models import Competition, Phase
from gauntlet.evaluation.errors import ReasonMissing
from gauntlet.evaluation.scores import place_again
from gauntlet.leaderboards.models import Exclusion
from gauntlet.leaderboards.services import remove_entries
from gauntlet.submissions.models import Submission

LONGEST_REASON = 1000


def exclude_submission(submission: Submission, *, reason: str, actor: User) -> None:
    """Take a submission off every board; its owner reads why. Another one of theirs stands in its place.

    It keeps its scores and its place in the quota; a rerun or a recomputed board does not bring it back. Again it
    changes the reason. Locks the submission. Emits ``submission.excluded``.

    Raises:
        NotOrganizer, ReasonMissing
    """
    must_organize(actor, submission.phase.competition)
    reason = reason.strip()[:LONGEST_REASON]
    if not reason:
        raise ReasonMissing("Say why: the participant reads it on the page of the submission.")
    with transaction.atomic():
        held = _held(submission)
        Exclusion.objects.update_or_create(submission=held, defaults={"reason": reason})
        _place_anew(held)
        record_event(held, "submission.excluded", actor=actor, reason=reason)


def readmit_submission(submission: Submission, *, actor: User) -> bool:
    """Let a submission back on the boards; return whether it was off them. Emits ``submission.readmitted``.

    Raises:
        NotOrganizer
    """
    must_organize(actor, submission.phase.competition)
    with transaction.atomic():
        held = _held(submission)
        deleted, _ = Exclusion.objects.filter(submission=held).delete()
        if deleted:
            _place_anew(held)
            record_event(held, "submission.readmitted", actor=actor)
    return bool(deleted)


def mark_baseline(submission: Submission, *, baseline: bool, actor: User) -> bool:
    """Make a submission a baseline, marked and without a rank, or one of its participant again; whether it changed.

    The boards follow: another one of the participant stands where it stood. Locks the submission. Emits
    ``submission.baseline_marked`` or ``submission.baseline_unmarked``.

    Raises:
        NotOrganizer
    """
    must_organize(actor, submission.phase.competition)
    with transaction.atomic():
        held = _held(submission)
        if changes := held.baseline != baseline:
            held.baseline = baseline
            held.save(update_fields=["baseline"])
            _place_anew(held)
            record_event(held, f"submission.baseline_{'marked' if baseline else 'unmarked'}", actor=actor)
    return changes


def place_participant(competition: Competition, participant: int, *, phase: Phase | None = None) -> None:
    """Place all scored submissions of a participant anew. In the caller's transaction, which holds them."""
    remove_entries(competition, participants=[participant], phase=phase)
    for one in _scored(competition, participant, phase=phase):
        place_again(one)


def _scored(competition: Competition, participant: int, *, phase: Phase | None) -> QuerySet[Submission]:
    phases = {"phase": phase} if phase else {"phase__competition": competition}
    scored = Submission.objects.filter(**phases, participant=participant, evaluations__in_force=True)
    return scored.select_related("phase").distinct().order_by("created_at")


def _place_anew(submission: Submission) -> None:
    place_participant(submission.phase.competition, submission.participant_id, phase=submission.phase)


def _held(submission: Submission) -> Submission:
    """The submission and the others of its participant in its phase, locked: no result of theirs comes meanwhile."""
    participant = Submission.objects.values_list("participant", flat=True).get(pk=submission.pk)
    own = Submission.objects.filter(phase=submission.phase_id, participant=participant)
    held = own.select_for_update(of=["self"]).select_related("phase__competition").order_by("pk")
    found = {one.pk: one for one in held}
    if submission.pk not in found:  # its team got another captain, whose it is now, while this waited
        return _held(submission)
    return found[submission.pk]
