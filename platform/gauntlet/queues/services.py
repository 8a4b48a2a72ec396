"""Writes of the queues app: make and share queues, issue and revoke the tokens of their workers.

A queue is deleted by `gauntlet.evaluation.own_queues`, which knows what uses it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.queues.access import is_owner, may_make_queues
from gauntlet.queues.errors import (
    CannotShare,
    InvalidQueueName,
    MayNotMakeQueues,
    NotQueueOwner,
    QueueNameTaken,
    QueueNotFound,
    QueueNotUsable,
    TooMany,
)
from gauntlet.queues.models import NAME, Queue, QueueToken
from gauntlet.queues.selectors import queues_usable_by, tokens_of

log = structlog.get_logger(__name__)
TOKEN_PREFIX: Final = "gqt_"  # noqa: S105 -- the recognisable beginning of every token, so that leaked ones can be found
MOST_QUEUES: Final = 20  # of one owner
MOST_TOKENS: Final = 50  # of one queue, that are not revoked
MOST_SHARES: Final = 100
_NOTED_EVERY: Final = timedelta(minutes=1)


@transaction.atomic
def create_queue(name: str, *, owner: User) -> Queue:
    """Make a queue that the owner's own workers serve. Locks the owner. Emits ``queue.created``.

    Raises:
        MayNotMakeQueues, InvalidQueueName, QueueNameTaken, TooMany
    """
    if not may_make_queues(owner):
        raise MayNotMakeQueues(
            "Queues are for people who may import competitions. Ask the operator of this installation to allow you to."
        )
    if not re.fullmatch(NAME, name):
        raise InvalidQueueName("Use up to 60 small letters, digits and hyphens, beginning with a letter or a digit.")
    if name in settings.QUEUES:
        raise _taken(name)
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if owner.own_queues.count() >= MOST_QUEUES:
        raise TooMany(f"You have {MOST_QUEUES} queues, as many as one may have. Delete one that you no longer need.")
    try:
        with transaction.atomic():
            queue = Queue.objects.create(name=name, owner=owner)
    except IntegrityError as error:
        raise _taken(name) from error
    record_event(queue, "queue.created", actor=owner, data={"name": name})
    return queue


def _taken(name: str) -> QueueNameTaken:
    return QueueNameTaken(f"There is a queue named '{name}' already. Choose another name.")


@transaction.atomic
def share_queue(queue: Queue, *, username: str, actor: User) -> User:
    """Let somebody else use a queue for their competitions; again changes nothing. Locks it. Emits ``queue.shared``.

    Raises:
        QueueNotFound, NotQueueOwner, TooMany
        CannotShare: there is no such person, or the queue is theirs.
    """
    queue = hold_own_queue(queue, actor=actor)
    person = User.objects.filter(username=username.strip(), is_active=True).first()
    if person is None:
        raise CannotShare(
            f"Nobody here is named “{username[:150]}”. Write the user name as it stands on their profile."
        )
    if person.pk == queue.owner_id:
        raise CannotShare(f"The queue is {person.username}'s own already.")
    if not queue.organizers.filter(pk=person.pk).exists():
        if queue.organizers.count() >= MOST_SHARES:
            raise TooMany(f"A queue is shared with {MOST_SHARES} people at most.")
        queue.organizers.add(person)
        record_event(queue, "queue.shared", actor=actor, data={"person": person.username})
    return person


@transaction.atomic
def unshare_queue(queue: Queue, *, username: str, actor: User) -> bool:
    """Let somebody name a queue in no further competition; False where they could not. Locks it.

    Phases that use it go on: see `gauntlet.evaluation.own_queues`. Emits ``queue.unshared``.

    Raises:
        QueueNotFound, NotQueueOwner
    """
    queue = hold_own_queue(queue, actor=actor)
    person = queue.organizers.filter(username=username.strip()).first()
    if person is None:
        return False
    queue.organizers.remove(person)
    record_event(queue, "queue.unshared", actor=actor, data={"person": person.username})
    return True


@transaction.atomic
def issue_token(queue: Queue, *, label: str, actor: User) -> tuple[QueueToken, str]:
    """Make a token for workers of a queue; return its row and its plain text, which nobody can read again.

    Locks the queue. Emits ``queue.token_issued``.

    Raises:
        QueueNotFound, NotQueueOwner, TooMany
    """
    queue = hold_own_queue(queue, actor=actor)
    if tokens_of(queue).count() >= MOST_TOKENS:
        raise TooMany(f"The queue has {MOST_TOKENS} tokens, as many as it may have. Revoke one that is not used.")
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = QueueToken.objects.create(
        queue=queue,
        label=label.strip()[:100],
        prefix=plain[:12],
        digest=hashlib.sha256(plain.encode()).hexdigest(),
        created_by=actor,
    )
    record_event(queue, "queue.token_issued", actor=actor, data={"token": str(token.pk), "label": token.label})
    return token, plain


@transaction.atomic
def revoke_token(token: QueueToken, *, actor: User) -> None:
    """End a token now and for good; ending it again changes nothing. Emits ``queue.token_revoked``.

    Jobs that workers hold by it are taken from them at the next claim or sweep, and use no attempt.

    Raises:
        QueueNotFound, NotQueueOwner
    """
    queue = hold_own_queue(token.queue, actor=actor)
    if queue.tokens.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        record_event(queue, "queue.token_revoked", actor=actor, data={"token": str(token.pk), "label": token.label})


def authenticate_worker(secret: str) -> QueueToken | None:
    """The token of this plain text, with its queue and that one's owner, or None where it opens nothing.

    That is one which was never issued or is revoked, whose queue's owner is switched off, or whose queue has a name of
    the platform's. When it was last used is noted at most once a minute.
    """
    digest = hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
    token = (
        QueueToken.objects.select_related("queue__owner")
        .filter(digest=digest, revoked_at__isnull=True, queue__owner__is_active=True)
        .first()
    )
    if token is None:
        return None
    if token.queue.name in settings.QUEUES:
        log.warning("queue_token.of_the_platforms_queue", queue=token.queue.name)
        return None
    now = timezone.now()
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _NOTED_EVERY)
    QueueToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def hold_usable_queue(name: str, *, user: User) -> None:
    """See to it that a queue exists, and that a person may use it, until the transaction ends; call it in one.

    Locks the queue, where it is somebody's own: it is neither deleted nor unshared while a phase begins to use it.

    Raises:
        QueueNotUsable
    """
    if name in settings.QUEUES:
        return
    held = None
    if re.fullmatch(NAME, name):
        held = Queue.objects.select_for_update(of=["self"], no_key=True).filter(name=name).first()
    if held is None or not queues_usable_by(user).filter(pk=held.pk).exists():
        raise QueueNotUsable(f"There is no queue '{name[:64]}' that you may use. Its owner can share it with you.")


def hold_own_queue(queue: Queue, *, actor: User, to_delete: bool = False) -> Queue:
    """The actor's own queue, read anew and locked until the transaction ends; call it in one.

    Raises:
        QueueNotFound: it was deleted meanwhile.
        NotQueueOwner
    """
    rows = Queue.objects.select_for_update(of=["self"], no_key=not to_delete).select_related("owner")
    held = rows.filter(pk=queue.pk).first()
    if held is None:
        raise QueueNotFound.any_more()
    if not is_owner(actor, held):
        raise NotQueueOwner(f"Only {held.owner.username}, who owns this queue, may do this.")
    return held
