"""Sent again, or sent anew: a key by which a sender tells the two apart.

Whoever did not hear the answer to an upload sends it again with the same key, and gets the submission that the first
request made. A key is its sender's own, and belongs to one phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase
from gauntlet.submissions.errors import KeyUnusable, KeyUsed
from gauntlet.submissions.models import IdempotencyKey, Submission

HEADER: Final = "Idempotency-Key"
KEY_CHARACTERS: Final = 255


@dataclass(frozen=True)
class Once:
    """Of one file that a sender sends with this key to a phase, one submission is made."""

    key: str
    any_file: bool = False  # another file with the same key is another submission; else it is refused


def read_key(header: str | None) -> Once | None:
    """What a request says in `Idempotency-Key`; None where it says nothing.

    Raises:
        KeyUnusable
    """
    if header is None:
        return None
    if not header.isascii() or not header.isprintable() or not 0 < len(header) <= KEY_CHARACTERS:
        raise KeyUnusable(f"The header '{HEADER}' must have 1 to {KEY_CHARACTERS} printable ASCII characters.")
    return Once(header)


def is_known(once: Once | None, *, phase: Phase, sender: User) -> bool:
    """Whether something was submitted with this key."""
    return once is not None and IdempotencyKey.objects.filter(owner=sender, phase=phase, key=once.key).exists()


def earlier(once: Once, *, phase: Phase, sender: User, digest: str) -> Submission | None:
    """What was made of this file with this key; the caller holds the sender's participation, so that it stays so.

    Raises:
        KeyUsed: another file was sent with it.
    """
    kept = IdempotencyKey.objects.filter(owner=sender, phase=phase, key=once.key).select_related("submission")
    found = {one.digest: one.submission for one in kept}
    if found and digest not in found and not once.any_file:
        raise KeyUsed(f"Another file was submitted with this {HEADER} before. Send a new key with a new file.")
    return found.get(digest)


def keep(once: Once, submission: Submission, *, sender: User) -> None:
    """Note what was made with a key, in the transaction that makes it."""
    IdempotencyKey.objects.create(
        owner=sender, phase=submission.phase, key=once.key, digest=submission.sent_digest, submission=submission
    )
