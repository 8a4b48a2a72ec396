"""Which queue a phase waits in: the platform's, or one that the importer may use; and which keys it lacks there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.conf import settings

from gauntlet.accounts.models import User
from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.queues.models import NAME, Queue
from gauntlet.queues.selectors import own_queue, queues_usable_by


def read_queue(section: Section, *, default: str, organizer: User | None) -> str:
    """The queue that a section names. One that is unknown, or that the importer may not use, is a finding.

    A bundle of Codabench names the queue of another installation, and is to run here all the same.

    Args:
        section: the competition, or a phase
        default: where nothing waits in what it names
        organizer: who imports; None: only the platform's queues are known to be usable
    """
    value = section.get("queue")
    if value is None:
        return default
    name = value.scalar or ""
    if name in settings.QUEUES:
        return name
    own = own_queue(name) if re.fullmatch(NAME, name) else None
    usable = list(queues_usable_by(organizer)) if organizer else []
    if own is not None and own in usable:
        return name
    _tell(value, name, default=default, own=own, usable=usable)
    return default


def _tell(value: Value, name: str, *, default: str, own: Queue | None, usable: list[Queue]) -> None:
    waits = f"submissions wait in the queue '{default}'."
    if own is None:
        message = f"this installation has no queue {name[:64]!r}; {waits}"
    else:
        message = (
            f"the queue {name!r} is {own.owner.username}'s own, who has to share it with whoever imports this bundle "
            f"(on its page, under Queues); {waits}"
        )
    value.findings.warning(value.place, message, allowed=[*settings.QUEUES, *(queue.name for queue in usable)])


def tell_missing_keys(phase: Section, queue: str, *, providers: Iterable[str]) -> None:
    """Workers that are not the platform's get no key of the operator's; what the organizer has to do about it."""
    if queue in settings.QUEUES:
        return
    for provider in dict.fromkeys(providers):
        message = (
            f"its models or its judge come from the provider {provider!r}, and the workers of the queue {queue!r} get "
            "none of the operator's keys. Once it is imported, set a provider of this name with a key of your own "
            "(Organizer, Language models), or let the phase wait in a queue of the platform."
        )
        phase.findings.warning(phase.where("llm" if phase.get("llm") else "tasks"), message)
