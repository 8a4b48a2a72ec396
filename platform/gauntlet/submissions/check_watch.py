"""Tells a checker that its submission was cancelled, or taken from it, while it works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from django.db import DatabaseError, connection

from gauntlet.submissions.models import Submission
from gauntlet.submissions.states import SubmissionState

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 0.5  # how soon the installer of a cancelled submission's packages is killed


@contextmanager
def watched(submission: Submission) -> Iterator[threading.Event]:
    """An event that is set once this attempt at the check is no longer wanted."""
    unwanted, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=_watch, args=(submission, unwanted, done), name="check-watch", daemon=True)
    thread.start()
    try:
        yield unwanted
    finally:
        done.set()
        thread.join()


def _watch(submission: Submission, unwanted: threading.Event, done: threading.Event) -> None:
    try:
        while not done.wait(LOOK_SECONDS):
            if _is_over(submission):
                unwanted.set()
                return
    finally:
        connection.close()


def _is_over(submission: Submission) -> bool:
    try:
        rows = Submission.objects.filter(pk=submission.pk).values_list("state", "check_attempts")
        now = rows.first()
    except DatabaseError as error:  # away for a moment; the fence holds without this look
        log.warning("check.not_watched", error=type(error).__name__)
        connection.close()
        return False
    return now is not None and now != (SubmissionState.CHECKING, submission.check_attempts)
