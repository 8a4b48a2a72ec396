"""Pages of own queues: the words around what is known of them, and where a phase's programs run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from gauntlet.accounts.models import User
from gauntlet.competitions.access import is_organizer
from gauntlet.competitions.models import Competition, Phase
from gauntlet.evaluation.queue_lines import QueueDetail, QueueLine, phase_words, queue_detail
from gauntlet.evaluation.story import EvaluationStory
from gauntlet.evaluation.workers import name_at_queue, taking_workers
from gauntlet.metering.own_machines import MissingKey, missing_keys
from gauntlet.queues.access import is_owner
from gauntlet.queues.models import Queue
from gauntlet.queues.selectors import queue_owners, queues_usable_by, shared_with, tokens_of


@dataclass(frozen=True, kw_only=True)
class QueuePhase:
    """A phase that uses a queue, as this reader may know it."""

    id: int
    words: str
    address: str  # of its competition's page of workers; empty where the reader does not organize it
    organizer: str


@dataclass(frozen=True, kw_only=True)
class PhaseQueue:
    """A phase on its organizers' page of workers."""

    phase: Phase
    choices: Sequence[tuple[str, str]]  # queue, and how it is shown
    owner: str  # of its queue; empty: it is the platform's
    workers: int  # that take its jobs now

    @property
    def where(self) -> str:
        """Whose workers take its jobs, in words."""
        return f"{self.owner}'s own" if self.owner else "the platform's"


def runs_on(owner: str, *, verb: str = "Runs") -> str:
    """Whose workers run what is sent, for those who send it; without an owner it is the platform's."""
    whose = f"the workers of {owner}, not on the platform's" if owner else "the platform's own workers"
    return f"{verb} on {whose}."


def stalled(evaluations: Iterable[EvaluationStory]) -> str:
    """That what has begun waits for workers that are away, for those who wait for it; empty where none does."""
    for one in evaluations:
        if not one.unserved_queue or one.state not in ("running", "scoring"):
            continue
        left = "its scoring"
        if one.state == "running":
            left = f"{one.episodes_done} of {one.episodes_total} episodes are done, and the rest"
        whose, who = "no worker serves at the moment", "the operator of this installation has to see to it"
        if one.queue_owner:
            whose = f"only {one.queue_owner}'s own workers serve, and none of them does now"
            who = "write to the organizer"
        return (
            f"It has begun and is held up: {left} waits in the queue '{one.unserved_queue}', which {whose}. It goes on "
            f"once one does; if that takes long, {who}."
        )
    return ""


def phases_run_on(phases: Sequence[Phase]) -> list[str]:
    """Whose workers run what is sent to these phases: one sentence where it is the same, else one a phase."""
    owners = owners_of(phases)
    told = [(phase, runs_on(owners.get(phase.queue, ""))) for phase in phases]
    same = {sentence for _, sentence in told}
    return sorted(same) if len(same) == 1 else [f"{phase.name}: {sentence}" for phase, sentence in told]


def owners_of(phases: Iterable[Phase]) -> dict[str, str]:
    """Who owns the queues of these phases, by queue; the platform's are left out. One query, or none."""
    return queue_owners({phase.queue for phase in phases})


def served(line: QueueLine) -> str:
    """Who takes the queue's jobs now, and how many there are, in two sentences."""
    jobs = f"{line.waiting} job{'' if line.waiting == 1 else 's'} wait{'s' if line.waiting == 1 else ''}"
    jobs = f"{jobs if line.waiting else 'Nothing waits'}, {line.in_work} in work."
    if line.workers:
        return f"{line.workers} worker{' takes' if line.workers == 1 else 's take'} jobs. {jobs}"
    return f"No worker takes jobs now. {jobs}{' They start once one does.' if line.unserved else ''}"


def queue_context(request: HttpRequest, queue: Queue, *, user: User, forms: Mapping[str, Any]) -> dict[str, Any]:
    """The page of one queue; tokens and shares are the owner's."""
    detail = queue_detail(queue)
    mine = is_owner(user, queue)
    return {
        "nav": "queues",
        "queue": queue,
        "mine": mine,
        "detail": detail,
        "line": detail.line,
        "served": served(detail.line),
        "prefix": name_at_queue(queue, ""),
        "phases": _phases(detail, user),
        "tokens": tokens_of(queue) if mine else [],
        "people": shared_with(queue) if mine else [],
        "site": settings.SITE_URL,
        **forms,
    }


def _phases(detail: QueueDetail, user: User) -> list[QueuePhase]:
    lines = []
    for phase in detail.phases:
        own = is_organizer(user, phase.competition)
        address = reverse("organizer-queues", args=[phase.competition.slug]) if own else ""
        lines.append(
            QueuePhase(
                id=phase.pk,
                words=f"“{phase.name}” of “{phase.competition.title}”" if own else phase_words(phase),
                address=address,
                organizer=phase.competition.organizer.username,
            )
        )
    return lines


def phase_queues(competition: Competition, *, user: User) -> tuple[list[PhaseQueue], list[MissingKey]]:
    """Each phase with its queue and those it may have, and the keys that are missing; the same few queries always."""
    phases = list(competition.phases.all())
    usable = {queue.name: queue.owner.username for queue in queues_usable_by(user)}
    owners = owners_of(phases)
    serving = taking_workers({phase.queue for phase in phases})
    lines = [
        PhaseQueue(
            phase=phase,
            choices=_choices(phase.queue, owners=usable | owners),
            owner=owners.get(phase.queue, ""),
            workers=serving[phase.queue],
        )
        for phase in phases
    ]
    return lines, missing_keys(competition, phases)


def _choices(current: str, *, owners: Mapping[str, str]) -> list[tuple[str, str]]:
    """The platform's queues, then own ones; the present one is among them whatever became of it."""
    own = [(name, f"{name} ({owner}'s own)") for name, owner in sorted(owners.items())]
    known = [(name, f"{name} (the platform's)") for name in settings.QUEUES] + own
    return known if current in dict(known) else [*known, (current, f"{current} (no longer there)")]
