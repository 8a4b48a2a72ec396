"""Files at which the platform itself failed several times in a row: they are not tried for ever.

A fault of the platform uses no attempt, so nothing else would end the tries of a file that kills whatever checks or
runs it. After `IN_A_ROW` of them the file is parked: for an hour, then longer each time, it is not taken and not
checked. Operators are told, and may let it go on before. The participant pays nothing and is told so. A file that was
changed, or one that came to its end meanwhile, begins anew.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import connection, transaction
from django.db.models import Q

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.submissions.errors import FileParked
from gauntlet.submissions.models import FileFaults, Submission
from gauntlet.submissions.states import SubmissionState
from gauntlet_scoring.failures import Owner

log = structlog.get_logger(__name__)

IN_A_ROW: Final = 3  # submissions, each of which was tried several times
_FIRST: Final = timedelta(hours=1)
_GROWTH: Final = 4
_LONGEST: Final = timedelta(hours=24)


def note_fault(submission: Submission) -> str:
    """Count a fault of the platform at a submission's file; return what the participant is to know, or nothing.

    In the transaction that records the fault. Locks the file's row. Emits ``file.parked`` where it is parked.
    """
    now = _now()
    faults, _ = FileFaults.objects.select_for_update().get_or_create(
        digest=submission.sent_digest, defaults={"last_at": now}
    )
    if faults.submission_id != submission.pk:  # of several tasks, or again by a rerun, it is one
        faults.in_a_row = 1 if _went_well_since(faults) else faults.in_a_row + 1
    faults.submission, faults.last_at = submission, now
    if faults.in_a_row >= IN_A_ROW:
        growth = _GROWTH ** min(faults.in_a_row - IN_A_ROW, 8)
        faults.parked_until = now + min(_LONGEST, _FIRST * growth)
        record_event(faults, "file.parked", reason=told(faults, now=now), data={"submission": str(submission.pk)})
        log.error("file.parked", digest=faults.digest, in_a_row=faults.in_a_row, until=str(faults.parked_until))
    faults.save()
    return told(faults, now=now)


def _now() -> datetime:
    """By the database's clock: those of the hosts that note a fault, and that look for one, may differ."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _went_well_since(faults: FileFaults) -> bool:
    """Whether the file came to an end that was not the platform's fault after its last fault."""
    same = Submission.objects.filter(Q(bundle=faults.digest) | Q(dropped_digest=faults.digest))
    refused = Q(state=SubmissionState.REJECTED, checked_at__gt=faults.last_at)
    failed = Q(evaluations__state="failed", evaluations__ended_at__gt=faults.last_at)
    finished = Q(evaluations__state="finished", evaluations__ended_at__gt=faults.last_at)
    return same.filter(finished | ((refused | failed) & ~Q(given_back_for=Owner.PLATFORM))).exists()


def told(faults: FileFaults, *, now: datetime) -> str:
    """Why a file is not tried now, and what to do; nothing where it is."""
    if faults.parked_until is None or faults.parked_until <= now:
        return ""
    return (
        f"The platform failed at this very file {faults.in_a_row} times in a row, and its operators were told. So that "
        f"it is not tried for ever, it is taken again from {faults.parked_until:%Y-%m-%d %H:%M:%S} UTC on, or when "
        "they let it go on. It uses no attempt. A file that was changed is taken at once."
    )


def why_parked(digest: str) -> str:
    """The same by a file's digest."""
    faults = FileFaults.objects.filter(digest=digest).first()
    return "" if faults is None else told(faults, now=_now())


def refuse_parked(digest: str) -> None:
    """Take no file that is parked.

    Raises:
        FileParked
    """
    faults = FileFaults.objects.filter(digest=digest, parked_until__isnull=False).first()
    if faults is None or faults.parked_until is None:
        return
    now = _now()
    if said := told(faults, now=now):
        raise FileParked(said, retry_after=max(1.0, (faults.parked_until - now).total_seconds()))


@transaction.atomic
def release(digest: str, *, actor: User) -> bool:
    """Let a file go on, as if nothing had happened; False where it is not parked. Emits ``file.released``."""
    faults = FileFaults.objects.select_for_update().filter(digest=digest, parked_until__isnull=False).first()
    if faults is None:
        return False
    faults.in_a_row, faults.parked_until = 0, None
    faults.save()
    record_event(faults, "file.released", actor=actor)
    return True
