"""The states of a submission's intake."""

from __future__ import annotations

from typing import Final

from django.db import models

from gauntlet.states import StateMachine


class SubmissionState(models.TextChoices):
    """What a page shows for a submission is computed from this and its current evaluations.

    ``cancelled`` is one that was cancelled before it was accepted; later its evaluations are.
    """

    RECEIVED = "received", "Received"
    CHECKING = "checking", "Being checked"
    ACCEPTED = "accepted", "Accepted"
    REJECTED = "rejected", "Rejected"
    CANCELLED = "cancelled", "Cancelled"


INTAKE: Final = StateMachine(
    "submission",
    {
        SubmissionState.RECEIVED: frozenset({SubmissionState.CHECKING, SubmissionState.CANCELLED}),
        # Back to received when the checker died: the check is started anew.
        SubmissionState.CHECKING: frozenset(
            {
                SubmissionState.ACCEPTED,
                SubmissionState.REJECTED,
                SubmissionState.RECEIVED,
                SubmissionState.CANCELLED,
            }
        ),
        SubmissionState.ACCEPTED: frozenset(),
        SubmissionState.REJECTED: frozenset(),
        SubmissionState.CANCELLED: frozenset(),
    },
)
