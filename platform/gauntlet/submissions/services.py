"""Writes of the submissions app: receive an upload, give an attempt back."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import BinaryIO, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.api_errors import DomainError
from gauntlet.celery import ring
from gauntlet.competitions.access import approved_participation
from gauntlet.competitions.errors import PhaseNotFound
from gauntlet.competitions.models import Phase
from gauntlet.storage.models import Form
from gauntlet.storage.services import store
from gauntlet.submissions import once as keys
from gauntlet.submissions import resumable
from gauntlet.submissions.checks import check_next, reclaim_stuck_checks
from gauntlet.submissions.errors import PhaseNotOpen, QuotaUsed, UploadNotFound, UploadTooLarge, UploadUnusable
from gauntlet.submissions.image_check import HEAD_BYTES, is_image
from gauntlet.submissions.intake import move, refund, set_counts_as, without_upload
from gauntlet.submissions.models import Source, Submission
from gauntlet.submissions.models import Upload as UploadInParts
from gauntlet.submissions.once import Once
from gauntlet.submissions.parking import refuse_parked
from gauntlet.submissions.parts import room_or_refusal
from gauntlet.submissions.quotas import allowance
from gauntlet.submissions.resumable import sweep_uploads
from gauntlet.submissions.states import SubmissionState
from gauntlet.submissions.teams import held_entrant

__all__ = [
    "cancel_unchecked",
    "check_next",
    "count_as_failed_start",
    "receive",
    "receive_sent",
    "reclaim_stuck_checks",
    "refund",
    "submission_of",
    "sweep_uploads",
]


class Upload(Protocol):
    """A file of known size: Django's uploaded files and files are such."""

    @property
    def size(self) -> int | None:
        """Its bytes."""

    def seek(self, offset: int, /) -> object:
        """Go to a place in it."""

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""


def receive(
    *,
    phase: Phase,
    participant: User,
    upload: Upload,
    file_name: str,
    name: str = "",
    source: Source = Source.WEB,
    now: datetime | None = None,
    sent: UploadInParts | None = None,
    once: Once | None = None,
) -> Submission:
    """Take an upload as a submission, or refuse it and keep nothing of it.

    Of an upload that was ``sent`` in parts at most one submission is made, however often and at once it is asked for,
    and so of a file that is to be taken ``once``.

    Holds the rows of the participant and of their team's captain in the competition while it counts: of two uploads for
    one last attempt, one is taken. What is sent for a team is its captain's.
    Emits ``submission.received`` and rings the workers.

    Raises:
        NotParticipating, PhaseNotFound, PhaseNotOpen, QuotaUsed, UploadTooLarge, UploadUnusable, NoRoom, FileParked
        KeyUsed: ``once`` was said of another file.
        UploadNotFound: what was ``sent`` is deleted, or was submitted to another phase, meanwhile.
    """
    participation = approved_participation(participant, phase.competition)
    check_size(upload.size or 0, head=_head(upload))
    check_allowance(phase, participant, now=now, once=once)  # early: nothing is stored where no attempt is left
    upload.seek(0)
    with room_or_refusal():
        bundle = store(cast(BinaryIO, upload), form=Form.FILE)
    with transaction.atomic():
        phase = _as_it_is_now(phase)
        owner, team = held_entrant(participation)
        if sent is not None and (earlier := _held_submission(sent, phase=phase)) is not None:
            return earlier
        if once is not None and (earlier := keys.earlier(once, phase=phase, sender=participant, digest=bundle.digest)):
            if sent is not None:
                resumable.become(sent, earlier)
            return earlier
        approved_participation(participant, phase.competition)
        check_allowance(phase, participant, now=now)
        refuse_parked(bundle.digest)
        submission = Submission.objects.create(
            phase=phase,
            participant=owner,
            team=team,
            sent_by=participant if participant != owner else None,
            name=_clean(name)[:200] or PurePosixPath(_file_name(file_name)).stem[:200],
            file_name=_file_name(file_name),
            source=source,
            bundle=bundle,
        )
        record_event(
            submission,
            "submission.received",
            actor=participant,
            after=SubmissionState.RECEIVED,
            data={"bundle": bundle.digest, "size": bundle.size, "source": source},
        )
        if sent is not None:
            resumable.become(sent, submission)
        if once is not None:
            keys.keep(once, submission, sender=participant)
        # The platform's workers check it, whoever owns the queue in which it is to wait then.
        ring(phase.queue if phase.queue in settings.QUEUES else "default")
    return submission


def _as_it_is_now(phase: Phase) -> Phase:
    """Its organizer may have closed it, or an operator removed it, while the file was stored."""
    found = Phase.objects.select_related("competition").filter(pk=phase.pk).first()
    if found is None:
        raise PhaseNotFound("The competition has no such phase any more.")
    return found


def receive_sent(
    upload_id: UUID,
    *,
    phase: Phase,
    participant: User,
    name: str = "",
    source: Source = Source.WEB,
    once: Once | None = None,
) -> Submission:
    """Take a file that was sent in parts as a submission; the upload is over then, unless it is refused.

    Whoever asks again, since they did not hear the answer, or in two tabs at once, gets the one submission.

    Raises:
        UploadNotFound, and what `receive` raises
    """
    if (earlier := submission_of(upload_id, phase=phase, participant=participant)) is not None:
        return earlier
    upload = resumable.find(owner=participant, upload_id=upload_id)
    try:
        with resumable.CompleteUpload(upload) as whole:
            file_name = whole.name
            submission = receive(
                phase=phase,
                participant=participant,
                upload=whole,
                file_name=file_name,
                name=name,
                source=source,
                sent=upload,
                once=once,
            )
    except (DomainError, OSError):
        # Another request for this upload may have been quicker: the last attempt is used, and the parts are gone.
        if (earlier := submission_of(upload_id, phase=phase, participant=participant)) is not None:
            return earlier
        raise
    resumable.remove_parts(upload)
    return submission


def submission_of(upload_id: UUID, *, phase: Phase, participant: User) -> Submission | None:
    """What an upload that was sent in parts became; None where it was not submitted yet.

    Raises:
        UploadNotFound: also where it was submitted to another phase.
    """
    return _of_phase(resumable.find(owner=participant, upload_id=upload_id).submission, phase)


def _of_phase(earlier: Submission | None, phase: Phase) -> Submission | None:
    if earlier is not None and earlier.phase_id != phase.pk:
        raise UploadNotFound("This upload was submitted to another phase. Begin a new one.")
    return earlier


def _held_submission(sent: UploadInParts, *, phase: Phase) -> Submission | None:
    """Lock an upload's row, and say what it became meanwhile."""
    held = UploadInParts.objects.select_for_update().filter(pk=sent.pk).first()
    if held is None:
        raise UploadNotFound.any_more()
    return _of_phase(held.submission, phase)


def _head(upload: Upload) -> bytes:
    upload.seek(0)
    return upload.read(HEAD_BYTES)


def check_size(size: int, *, head: bytes = b"") -> None:
    """Refuse an upload by its size in bytes; ``head``, its first bytes, tells whether it is a container image.

    Raises:
        UploadTooLarge, UploadUnusable
    """
    most = settings.MAX_IMAGE_BYTES if is_image(head) else settings.MAX_BUNDLE_BYTES
    if size > most:
        raise UploadTooLarge(f"The file has {size:,} bytes; at most {most:,} are taken. Leave out what is not needed.")
    if size == 0:
        raise UploadUnusable("The file is empty. Send the zip of your agent's folder, an image, or your results.")


def check_allowance(phase: Phase, participant: User, *, now: datetime | None = None, once: Once | None = None) -> None:
    """Refuse where the phase is not open or no attempt is left, unless something was submitted ``once`` before.

    Raises:
        PhaseNotOpen, QuotaUsed
    """
    now = now or timezone.now()
    left = allowance(phase=phase, participant=participant, now=now)
    if left.allowed or keys.is_known(once, phase=phase, sender=participant):
        return
    wait = (left.next_allowed_at - now).total_seconds() if left.next_allowed_at else None
    when = f" The next is allowed at {left.next_allowed_at:%Y-%m-%d %H:%M:%S} UTC." if left.next_allowed_at else ""
    is_open = phase.start <= now and (phase.end is None or now < phase.end)
    refusal = QuotaUsed if is_open else PhaseNotOpen
    raise refusal(f"{left.reason}{when}", retry_after=wait)


@transaction.atomic
def cancel_unchecked(submission: Submission, *, actor: User) -> bool:
    """Cancel a submission that is not accepted yet; False where it is, or its check is over.

    Locks the submission: a checker that works on it stores nothing, and its sandbox is killed. It stays an attempt, as
    one that is cancelled later does. What was sent is not kept. Emits ``submission.cancelled``.
    """
    held = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if held.state not in (SubmissionState.RECEIVED, SubmissionState.CHECKING):
        return False
    move(held, SubmissionState.CANCELLED, actor=actor, changes=without_upload(held))
    return True


def count_as_failed_start(submission: Submission, *, reason: str = "") -> bool:
    """Count a submission whose agent could not start against the debugging quota instead.

    Emits ``submission.failed_start``. Call it in the transaction that records the failure.
    """
    return set_counts_as(submission, "failed_start", event="submission.failed_start", reason=reason)


def _clean(text: str) -> str:
    """A text of the participant's, fit to be stored and shown on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _file_name(text: str) -> str:
    """The last part of a path of whichever system, or a name of our own."""
    return _clean(text.replace("\\", "/").rpartition("/")[2])[-255:] or "upload.zip"
