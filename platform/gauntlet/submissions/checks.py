"""The check of a received bundle: unpacked safely, described rightly, its packages installed; accepted or rejected.

A container image is checked in its place (`image_check`), results are unpacked (`result_file`).

A checker holds a lock of its database session while it works. When the process dies, the database lets go of the lock,
and the sweeper puts the submission back; the number of the attempt is the fence against a checker that comes late.
Times are the database's: checkers' hosts may have clocks that are far off.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Now

from gauntlet.celery import ring
from gauntlet.competitions.bundle.findings import Finding, Findings, Place
from gauntlet.competitions.models import Takes
from gauntlet.one_by_one import one_by_one
from gauntlet.storage.archives import unpack
from gauntlet.storage.errors import ArchiveRefused
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact, store_folder
from gauntlet.submissions.agent_file import read_agent
from gauntlet.submissions.check_watch import watched
from gauntlet.submissions.image_check import HEAD_BYTES, is_image, read_image
from gauntlet.submissions.intake import move, refund, set_counts_as, without_upload
from gauntlet.submissions.models import Submission
from gauntlet.submissions.parking import note_fault, why_parked
from gauntlet.submissions.result_file import read_results
from gauntlet.submissions.states import SubmissionState
from gauntlet.submissions.work_folders import remove_left_behind, work_folder
from gauntlet_runtime.jobs import LeaseLost
from gauntlet_scoring.failures import FailureCode, Owner

if TYPE_CHECKING:
    from gauntlet_runtime.sandbox.interface import Sandbox

log = structlog.get_logger(__name__)

MOST_ATTEMPTS: Final = 3
_RETRY_AFTER: Final = timedelta(seconds=10)
_GRACE: Final = timedelta(seconds=5)
_LOG_CHARACTERS: Final = 32 << 10


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a check found."""

    findings: list[Finding]
    agent: dict[str, Any] = field(default_factory=dict)
    bundle: Artifact | None = None
    packages: Artifact | None = None
    failure: FailureCode | None = None
    message: str = ""
    log: str = ""


def check_next(*, sandbox: Sandbox, on_accept: Callable[[Submission], object]) -> bool:
    """Check the received submission whose turn it is; False where there is none.

    ``on_accept`` is called in the transaction that accepts it. A fault of the platform puts it back; after
    ``MOST_ATTEMPTS`` it is rejected as ``infrastructure`` and given back. A file that was parked meanwhile
    is rejected the same way, without being checked.

    Emits ``submission.checking`` and ``submission.accepted``, ``.rejected`` or ``.received``.
    """
    with _claimed() as submission:
        if submission is None:
            return False
        with structlog.contextvars.bound_contextvars(submission=str(submission.pk)):
            try:
                outcome = _parked(submission)
                if outcome is None:
                    with watched(submission) as unwanted:
                        outcome = _examine(submission, sandbox, unwanted)
                _conclude(submission, outcome, on_accept=on_accept)
            except LeaseLost:
                log.info("check.unwanted", attempt=submission.check_attempts)
            except Exception:
                log.exception("check.failed", attempt=submission.check_attempts)
                put_back(submission, reason="The platform failed while it checked the bundle.")
    return True


def _parked(submission: Submission) -> Outcome | None:
    said = why_parked(submission.sent_digest)
    return Outcome(findings=[], failure=FailureCode.INFRASTRUCTURE, message=said) if said else None


def reclaim_stuck_checks(older_than: timedelta = _GRACE) -> int:
    """Put back the submissions whose checker died, and remove what it left on this host; return how many."""
    remove_left_behind()
    started = Q(check_started_at__lt=Now() - older_than)
    return one_by_one(Submission.objects.filter(started, state=SubmissionState.CHECKING), _reclaim)


@transaction.atomic
def _reclaim(submission: Submission) -> int:
    if not _try_lock(submission, "pg_try_advisory_xact_lock"):
        return 0  # its checker is alive
    return put_back(submission, reason="The checker died.")


def put_back(submission: Submission, *, reason: str) -> bool:
    """Let a submission be checked anew, or reject it as the platform's fault; False where the attempt is over."""
    with transaction.atomic():
        held = _hold(submission)
        if held is None:
            return False
        if held.check_attempts < MOST_ATTEMPTS:
            move(held, SubmissionState.RECEIVED, reason=reason)
            ring()
            return True
        message = "The platform could not check the bundle, and the attempt was given back. "
        message += note_fault(held) or "Submit it again."
        _reject(held, Outcome(findings=[], failure=FailureCode.INFRASTRUCTURE, message=message))
    return True


@contextmanager
def _claimed() -> Iterator[Submission | None]:
    """A received submission, moved to checking, with the session's lock on it while the context lasts.

    Participants take turns: first whose last check was begun the longest ago, and the oldest of theirs.
    """
    submission: Submission | None = None
    try:
        with transaction.atomic():
            rested = Q(check_started_at__isnull=True) | Q(check_started_at__lt=Now() - _RETRY_AFTER)
            begun = Submission.objects.filter(participant=OuterRef("participant"), check_started_at__isnull=False)
            last_turn = Subquery(begun.order_by("-check_started_at").values("check_started_at")[:1])
            submission = (
                Submission.objects.select_for_update(skip_locked=True, of=("self",))
                .filter(rested, state=SubmissionState.RECEIVED)
                .order_by(last_turn.asc(nulls_first=True), "created_at")
                .first()
            )
            if submission is not None and not _try_lock(submission, "pg_try_advisory_lock"):
                submission = None  # whoever put it back has not let go of it yet
            if submission is not None:
                move(
                    submission,
                    SubmissionState.CHECKING,
                    changes={"check_attempts": submission.check_attempts + 1, "check_started_at": Now()},
                )
        yield submission
    finally:  # also where the move was not stored: a rollback alone does not let go of a session's lock
        if submission is not None:
            with suppress(DatabaseError):  # a lost connection has let go of the lock already
                _call("pg_advisory_unlock", _lock_number(submission))


def _lock_number(submission: Submission) -> int:
    """The submission's own number among the database's advisory locks."""
    digest = hashlib.sha256(f"gauntlet check {submission.pk}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _try_lock(submission: Submission, function: str) -> bool:
    return _call(function, _lock_number(submission))


def _call(function: str, number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])  # one of this module's names
        return bool(cursor.fetchone()[0])


def _hold(submission: Submission) -> Submission | None:
    """Lock the row, provided that this attempt is still the one that counts."""
    return (
        Submission.objects.select_for_update(of=("self",))
        .select_related("phase__competition")
        .filter(pk=submission.pk, state=SubmissionState.CHECKING, check_attempts=submission.check_attempts)
        .first()
    )


def _conclude(submission: Submission, outcome: Outcome, *, on_accept: Callable[[Submission], object]) -> None:
    with transaction.atomic():
        held = _hold(submission)
        if held is None:
            log.warning("check.late", attempt=submission.check_attempts)
            return
        if outcome.failure is not None:
            _reject(held, outcome)
            return
        move(
            held,
            SubmissionState.ACCEPTED,
            changes={
                "name": _name(held, outcome.agent),
                "agent": outcome.agent,
                "agent_bundle": outcome.bundle,
                "packages": outcome.packages,
                **(without_upload(held) if "container" in outcome.agent else {}),
                "findings": [finding.as_dict() for finding in outcome.findings],
                "check_log": outcome.log,
                "checked_at": Now(),
            },
        )
        on_accept(held)
        ring()


def _name(submission: Submission, agent: Mapping[str, Any]) -> str:
    """The name that the participant gave, or else the agent's own, which results have not."""
    given = submission.name != PurePosixPath(submission.file_name).stem[:200]
    return submission.name if given or not agent else agent["name"]


def _reject(held: Submission, outcome: Outcome) -> None:
    """Reject; a participant's mistake uses the debugging quota, a platform's fault none and keeps the upload."""
    code = outcome.failure or FailureCode.INVALID_BUNDLE
    theirs = code.owner is Owner.PARTICIPANT
    move(
        held,
        SubmissionState.REJECTED,
        reason=outcome.message,
        changes={
            "failure_code": code,
            "failure_message": outcome.message,
            "findings": [finding.as_dict() for finding in outcome.findings],
            "check_log": outcome.log,
            "checked_at": Now(),
            **(without_upload(held) if theirs else {}),
        },
    )
    if theirs:
        set_counts_as(held, "failed_start", event="submission.failed_start", reason="The bundle was rejected.")
    else:
        refund(held, fault_of=code.owner, reason="The platform failed.")


def _examine(submission: Submission, sandbox: Sandbox, unwanted: threading.Event) -> Outcome:
    """Unpack, read, install; everything that the participant did wrong is an outcome and no exception."""
    findings, name = Findings(), submission.file_name
    sent = submission.bundle
    assert sent is not None  # noqa: S101  for the type checker: it is kept until the check is over
    with work_folder() as work:
        folder = work / "bundle"
        if submission.phase.takes == Takes.RESULTS:
            kept = read_results(sent, folder, file_name=name, findings=findings)
            return _refused(findings) if kept is None else Outcome(findings=findings.sorted, bundle=kept)
        with open_artifact(sent) as archive:  # once: another storage than a file system fetches it whole
            if is_image(archive.read(HEAD_BYTES)):
                archive.seek(0)
                read = read_image(archive, work, file_name=name, findings=findings, unwanted=unwanted)
                if read is None:
                    return _refused(findings)
                agent, image = read
                return Outcome(findings=findings.sorted, agent=agent, bundle=image)
            try:
                unpack(archive, folder)
            except ArchiveRefused as refusal:
                for fault in refusal.faults:
                    findings.error(Place(fault.file or name), fault.message)
                return _refused(findings)
        images = list(submission.phase.tasks.values_list("sandbox_image", flat=True).distinct())
        judges = [judge["model"] for judge in submission.phase.tasks.values_list("judge", flat=True) if judge]
        agent = read_agent(folder, images=images, findings=findings, judges=judges)
        if findings.errors:
            return _refused(findings)
        return _with_packages(
            submission, folder, agent=agent, findings=findings, sandbox=sandbox, images=images, unwanted=unwanted
        )


def _refused(findings: Findings) -> Outcome:
    first, *more = findings.errors
    message = f"{first.file}{f', line {first.line}' if first.line else ''}: "
    message += f"{first.field} {first.message}" if first.field else first.message
    if more:
        message += f" There {'is one more' if len(more) == 1 else f'are {len(more)} more'}: see the findings."
    return Outcome(findings=findings.sorted, failure=FailureCode.INVALID_BUNDLE, message=message)


def _with_packages(
    submission: Submission,
    folder: Path,
    *,
    agent: dict[str, Any],
    findings: Findings,
    sandbox: Sandbox,
    images: list[str],
    unwanted: threading.Event,
) -> Outcome:
    """Install the bundle's own packages where it has any, and keep what a worker needs."""
    from gauntlet_runtime import packages
    from gauntlet_runtime.sandbox.processes import this_process

    installed = None
    if packages.wants_packages(folder):
        made = packages.install_packages(
            folder,
            sandbox=sandbox,
            cache=settings.VAR / "packages",
            image=images[0],
            owner=this_process(),
            label=f"check-{submission.pk}",
            cancelled=unwanted,
        )
        if isinstance(made, packages.PackagesRefused):
            findings.error(Place(packages.REQUIREMENTS), made.failure.message)
            return Outcome(
                findings=findings.sorted,
                failure=made.failure.code,
                message=made.failure.message,
                log=_storable(made.log),
            )
        installed = store_folder(made)
    return Outcome(findings=findings.sorted, agent=agent, bundle=store_folder(folder), packages=installed)


def _storable(text: str) -> str:
    """The end of a program's words, without what the database cannot hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[-_LOG_CHARACTERS:]
