"""Submissions are reached only through these; each refusal is a line of its own."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import User
from gauntlet.competitions.access import is_organizer
from gauntlet.competitions.visibility import Audience
from gauntlet.submissions.errors import SubmissionNotFound
from gauntlet.submissions.models import Submission
from gauntlet.submissions.teams import owns

Person = User | AnonymousUser


def _find(user: Person, submission_id: UUID) -> tuple[User, Submission]:
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    submission = (
        Submission.objects.select_related("phase__competition", "participant", "team", "bundle")
        .filter(pk=submission_id)
        .first()
    )
    if submission is None:
        raise _not_found()
    return user, submission


def _not_found() -> SubmissionNotFound:
    # One answer for "not there" and "not yours": nobody learns which ids exist.
    return SubmissionNotFound("None of your submissions has this id.")


def access_submission_as_owner(user: Person, submission_id: UUID) -> Submission:
    """The user's own submission, or their team's.

    Raises:
        NotSignedIn, SubmissionNotFound
    """
    user, submission = _find(user, submission_id)
    if not owns(user, submission):
        raise _not_found()
    return submission


def access_submission_as_organizer(user: Person, submission_id: UUID) -> Submission:
    """A submission to a competition that the user organizes.

    Raises:
        NotSignedIn, SubmissionNotFound
    """
    user, submission = _find(user, submission_id)
    if not is_organizer(user, submission.phase.competition):
        raise _not_found()
    return submission


def access_submission_as_reader(user: Person, submission_id: UUID) -> tuple[Submission, Audience]:
    """A submission that is the user's own, their team's, or one that they organize; and as whom they read it.

    An organizer who submits reads as organizer.

    Raises:
        NotSignedIn, SubmissionNotFound
    """
    user, submission = _find(user, submission_id)
    if is_organizer(user, submission.phase.competition):
        return submission, Audience.ORGANIZER
    if not owns(user, submission):
        raise _not_found()
    return submission, Audience.OWNER
