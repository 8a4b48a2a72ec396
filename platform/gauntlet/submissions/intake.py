"""The one place where a submission's state and what it counts as are changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.submissions.models import Submission
from gauntlet.submissions.states import INTAKE, SubmissionState
from gauntlet_scoring.failures import Owner


def move(
    submission: Submission,
    state: SubmissionState,
    *,
    actor: User | None = None,
    reason: str = "",
    changes: Mapping[str, Any] | None = None,
) -> None:
    """Move a submission, whose row the caller holds, and write the event ``submission.<state>``.

    Args:
        changes: further fields that change with the state.

    Raises:
        IllegalTransition
    """
    before = submission.state
    INTAKE.check(before, state)
    submission.state = state
    for field, value in (changes or {}).items():
        setattr(submission, field, value)
    submission.save(update_fields=["state", *(changes or {})])
    record_event(submission, f"submission.{state}", actor=actor, before=before, after=state, reason=reason)


def without_upload(submission: Submission) -> dict[str, Any]:
    """The changes with which a submission lets go of what was sent; its digest and size stay known.

    The sweeper removes the file once nothing else refers to it.
    """
    return {"dropped_digest": submission.sent_digest, "dropped_size": submission.sent_size, "bundle": None}


def set_counts_as(submission: Submission, counts_as: str, *, event: str, reason: str) -> bool:
    """Change which quota a submission uses; False, and no event, where that is so already or it was given back."""
    changed = (
        Submission.objects.filter(pk=submission.pk)
        .exclude(counts_as__in=[counts_as, "nothing"])
        .update(counts_as=counts_as)
    )
    if not changed:
        return False
    record_event(submission, event, before=submission.counts_as, after=counts_as, reason=reason)
    submission.counts_as = counts_as
    return True


def refund(submission: Submission, *, fault_of: Owner, reason: str = "") -> bool:
    """Give the attempt back: a fault that is not the participant's. Again changes nothing, and returns False.

    Of a submission that failed by the organizer's fault and by the platform's, the platform's is what counts.
    Emits ``submission.refunded``. Call it in the transaction that records the fault.
    """
    changed = set_counts_as(submission, "nothing", event="submission.refunded", reason=reason)
    if changed or fault_of is Owner.PLATFORM:
        Submission.objects.filter(pk=submission.pk).update(given_back_for=fault_of)
        submission.given_back_for = fault_of
    return changed
