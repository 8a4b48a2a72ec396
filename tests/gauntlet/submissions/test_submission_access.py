"""Who reaches a submission as whom: one matrix of role and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions.visibility import Audience
from gauntlet.submissions import access
from gauntlet.submissions.models import Submission

pytestmark = [pytest.mark.django_db, pytest.mark.visibility]

FUNCTIONS = ["owner", "organizer", "reader"]
MATRIX: dict[str, tuple[str, str, str]] = {
    "nobody": ("not_signed_in",) * 3,
    "stranger": ("not_found",) * 3,
    "another participant": ("not_found",) * 3,
    "staff": ("not_found",) * 3,
    "organizer of another": ("not_found",) * 3,
    "owner": ("ok", "not_found", Audience.OWNER),
    "organizer": ("not_found", "ok", Audience.ORGANIZER),
    "collaborator": ("not_found", "ok", Audience.ORGANIZER),
    "operator": ("not_found", "ok", Audience.ORGANIZER),
    "organizer and owner": ("ok", "ok", Audience.ORGANIZER),
}


@pytest.fixture
def person(make_user: Callable[..., User], make_phase: Any, make_submission: Any) -> Callable[[str, Submission], Any]:
    """Somebody in a role."""

    def make(role: str, submission: Submission) -> Any:
        competition = submission.phase.competition
        if role == "nobody":
            return AnonymousUser()
        if role in ("owner", "organizer and owner"):
            if role == "organizer and owner":
                competition.collaborators.add(submission.participant)
            return submission.participant
        if role == "organizer":
            return competition.organizer
        if role == "organizer of another":
            return make_phase().competition.organizer
        if role == "another participant":
            return make_submission(submission.phase).participant
        user = make_user(is_superuser=role == "operator", is_staff=role == "staff")
        if role == "collaborator":
            competition.collaborators.add(user)
        return user

    return make


def _outcome(function: str, user: Any, submission_id: Any) -> str:
    try:
        found = getattr(access, f"access_submission_as_{function}")(user, submission_id)
    except DomainError as refusal:
        return refusal.code
    return found[1] if isinstance(found, tuple) else "ok"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("role", MATRIX)
def test_every_cell(
    role: str, function: str, person: Callable[[str, Submission], Any], make_phase: Any, make_submission: Any
) -> None:
    submission = make_submission(make_phase())
    assert _outcome(function, person(role, submission), submission.pk) == MATRIX[role][FUNCTIONS.index(function)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_not_there_answers_as_what_is_not_ones_own(
    function: str, make_user: Any, make_phase: Any, make_submission: Any
) -> None:
    submission, stranger = make_submission(make_phase()), make_user()
    messages = []
    for submission_id in (submission.pk, uuid4()):
        with pytest.raises(DomainError) as caught:
            getattr(access, f"access_submission_as_{function}")(stranger, submission_id)
        messages.append((caught.value.code, caught.value.message))
    assert messages[0] == messages[1]
