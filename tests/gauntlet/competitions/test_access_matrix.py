"""Who reaches a competition as whom: one matrix of role, state of the competition, and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions import access
from gauntlet.competitions.models import Competition, Participation

pytestmark = pytest.mark.django_db

FUNCTIONS = {
    "visitor": access.access_competition_as_visitor,
    "participant": access.access_competition_as_participant,
    "organizer": access.access_competition_as_organizer,
}
# role: what a published competition answers to visitor, participant, organizer; then what a draft answers.
OK = "ok"
MATRIX: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "nobody": ((OK, "not_signed_in", "not_signed_in"), ("not_found",) * 3),
    "stranger": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "pending": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "denied": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "approved": ((OK, OK, "not_organizer"), ("not_found",) * 3),
    "staff": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "organizer": ((OK, "not_participating", OK), (OK, "not_participating", OK)),
    "collaborator": ((OK, "not_participating", OK), (OK, "not_participating", OK)),
    "inactive organizer": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "organizer of another": ((OK, "not_participating", "not_organizer"), ("not_found",) * 3),
    "operator": ((OK, "not_participating", OK), (OK, "not_participating", OK)),
}


@pytest.fixture
def person(make_user: Callable[..., User], make_phase: Callable[..., Any]) -> Callable[[str, Competition], Any]:
    """Somebody in a role."""

    def make(role: str, competition: Competition) -> Any:
        if role == "nobody":
            return AnonymousUser()
        user = make_user(is_superuser=role == "operator", is_staff=role == "staff")
        if role in ("pending", "denied", "approved"):
            Participation.objects.create(
                competition=competition, user=user, state=role, terms_accepted_at=competition.created_at
            )
        if role in ("organizer", "inactive organizer"):
            competition.organizer = user
            competition.save()
            user.is_active = role == "organizer"
        if role == "collaborator":
            competition.collaborators.add(user)
        if role == "organizer of another":
            other = make_phase().competition
            other.organizer = user
            other.save()
        return user

    return make


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("role", MATRIX)
def test_every_cell(
    role: str, published: bool, function: str, person: Callable[[str, Competition], Any], make_phase: Callable[..., Any]
) -> None:
    competition = make_phase().competition
    competition.published = published
    competition.save()
    user = person(role, competition)
    expected = MATRIX[role][0 if published else 1][list(FUNCTIONS).index(function)]
    try:
        FUNCTIONS[function](user, competition.slug)
        got = OK
    except DomainError as refusal:
        got = refusal.code
    assert got == expected


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_a_competition_that_is_not_there_answers_as_a_draft_does(function: Any, make_user: Callable[..., User]) -> None:
    with pytest.raises(DomainError) as caught:
        function(make_user(), "nothing")
    assert (caught.value.code, caught.value.message) == ("not_found", "There is no such competition.")
