"""What organizers see in tables: the same few queries at any length."""

from __future__ import annotations

from typing import Final

from django.db.models import Case, Count, Exists, OuterRef, Prefetch, Q, QuerySet, When

from gauntlet.competitions.models import Competition, Participation, ParticipationState
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.states import EvaluationState
from gauntlet.submissions.models import Submission
from gauntlet.submissions.states import SubmissionState

# What is accepted has a state of its evaluations; what is cancelled may have been so before or after.
_NOT_OF_THE_INTAKE_ALONE: Final = (SubmissionState.ACCEPTED, SubmissionState.CANCELLED)
STATES: Final = [
    *((state.value, state.label) for state in SubmissionState if state not in _NOT_OF_THE_INTAKE_ALONE),
    *((state.value, state.label) for state in EvaluationState),
]
_NEWER: Final = Evaluation.objects.filter(
    submission=OuterRef("submission"), task=OuterRef("task"), number__gt=OuterRef("number")
)
_NEWEST: Final = Evaluation.objects.filter(~Exists(_NEWER))


def submissions_of(
    competition: Competition, *, state: str = "", participant: str = "", phase: str = ""
) -> QuerySet[Submission]:
    """A competition's submissions, newest first, narrowed by state, a part of the participant's name, and phase."""
    found = (
        Submission.objects.filter(phase__competition=competition)
        .select_related("phase__competition", "participant", "team")
        .prefetch_related(Prefetch("evaluations", _NEWEST.order_by("task__index")))
        .order_by("-created_at")
    )
    if state in SubmissionState.values or state in EvaluationState.values:
        found = found.filter(Q(state=state) | Exists(_NEWEST.filter(submission=OuterRef("pk"), state=state)))
    if participant:
        found = found.filter(Q(participant__username__icontains=participant) | Q(team__name__icontains=participant))
    if phase.isdecimal():
        found = found.filter(phase__index=int(phase))
    return found


def participations_of(competition: Competition, *, state: str = "") -> QuerySet[Participation]:
    """Who asked to take part, those who wait before the others, newest first; ``sent`` counts their submissions."""
    sent = Count("user__submissions", filter=Q(user__submissions__phase__competition=competition))
    waits = Case(When(state=ParticipationState.PENDING, then=0), default=1)
    found = competition.participations.select_related("user", "team").annotate(sent=sent)
    found = found.order_by(waits, "-created_at", "-pk")
    return found.filter(state=state) if state else found


def participation_counts(competition: Competition) -> dict[str, int]:
    """How many people are in each state, and ``all``."""
    rows = competition.participations.order_by().values_list("state").annotate(n=Count("pk"))
    counts = {"pending": 0, "approved": 0, "denied": 0, **dict(rows)}
    return {**counts, "all": sum(counts.values())}
