"""Which keys a phase lacks on machines that are not the platform's: the operator's never leave it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gauntlet.competitions.models import Competition, Phase
from gauntlet.metering.models import ModelProvider
from gauntlet.queues.selectors import own_queues


@dataclass(frozen=True, kw_only=True)
class MissingKey:
    """A provider that a phase on an own queue needs and whose key its workers do not get."""

    phase: Phase
    provider: str
    judges: bool  # what comes from it judges; else agents call it


def missing_keys(competition: Competition, phases: Iterable[Phase]) -> list[MissingKey]:
    """What the competition's organizers have to set before these phases' models answer; three queries.

    Args:
        phases: of this competition
    """
    phases = list(phases)
    own = own_queues([phase.queue for phase in phases])
    concerned = [phase for phase in phases if phase.queue in own]
    if not concerned:
        return []
    set_here = set(ModelProvider.objects.filter(competition=competition, trusted=False).values_list("name", flat=True))
    judged = Phase.tasks.through.objects.filter(phase__in=concerned, task__judge__isnull=False)
    judges = list(judged.order_by("task__index").values_list("phase_id", "task__judge__provider"))
    wanted = [(phase, phase.llm["provider"], False) for phase in concerned if phase.llm]
    wanted += [(phase, provider, True) for phase in concerned for pk, provider in judges if pk == phase.pk]
    return [
        MissingKey(phase=phase, provider=provider, judges=judging)
        for phase, provider, judging in dict.fromkeys(wanted)
        if provider not in set_here
    ]
