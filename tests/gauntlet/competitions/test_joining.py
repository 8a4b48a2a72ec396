"""Joining a competition: terms, approval, denial; each change is an event and happens once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from gauntlet.accounts.models import Event, User
from gauntlet.accounts.selectors import events_of
from gauntlet.competitions.errors import CannotJoin, NotOrganizer, TermsNotAccepted
from gauntlet.competitions.models import Competition, Participation
from gauntlet.competitions.services import decide_participations, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def competition(make_phase: Callable[..., Any]) -> Competition:
    """A published competition to which everybody is admitted."""
    found: Competition = make_phase().competition
    return found


@pytest.fixture
def closed(competition: Competition) -> Competition:
    """One that admits by approval."""
    competition.registration_auto_approve = False
    competition.save()
    return competition


def test_an_open_competition_approves_at_once(competition: Competition, make_user: Callable[..., User]) -> None:
    user = make_user()
    participation = join(competition, user=user, terms_accepted=True)
    assert participation.state == "approved"
    assert participation.terms_accepted_at
    (event,) = events_of(participation)
    assert (event.name, event.after, event.actor) == ("participation.approved", "approved", user)


def test_without_the_terms_nothing_happens(competition: Competition, make_user: Callable[..., User]) -> None:
    with pytest.raises(TermsNotAccepted):
        join(competition, user=make_user(), terms_accepted=False)
    assert not Participation.objects.exists()
    assert not Event.objects.exists()


def test_joining_again_changes_nothing(closed: Competition, make_user: Callable[..., User]) -> None:
    user = make_user()
    first = join(closed, user=user, terms_accepted=True)
    decide_participations([first], approve=True, actor=closed.organizer)
    again = join(closed, user=user, terms_accepted=True)
    assert (again.pk, again.state) == (first.pk, "approved")
    assert [event.name for event in events_of(first)] == ["participation.pending", "participation.approved"]


def test_an_organizer_approves_and_denies(closed: Competition, make_user: Callable[..., User]) -> None:
    participation = join(closed, user=make_user(), terms_accepted=True)
    assert participation.state == "pending"
    for approve, state in ((True, "approved"), (True, "approved"), (False, "denied")):
        decide_participations([participation], approve=approve, actor=closed.organizer)
        assert Participation.objects.get().state == state
    told = [(event.before, event.after) for event in events_of(participation)]
    assert told == [("", "pending"), ("pending", "approved"), ("approved", "denied")]


def test_who_was_denied_cannot_join_again(closed: Competition, make_user: Callable[..., User]) -> None:
    user = make_user()
    decide_participations([join(closed, user=user, terms_accepted=True)], approve=False, actor=closed.organizer)
    with pytest.raises(CannotJoin):
        join(closed, user=user, terms_accepted=True)
    assert Participation.objects.get().state == "denied"


@pytest.mark.parametrize("approve", [True, False])
def test_nobody_else_decides(approve: bool, closed: Competition, make_user: Callable[..., User]) -> None:
    user = make_user()
    participation = join(closed, user=user, terms_accepted=True)
    for other in (user, make_user(), make_user(is_staff=True)):
        with pytest.raises(NotOrganizer):
            decide_participations([participation], approve=approve, actor=other)
    assert Participation.objects.get().state == "pending"


def test_a_collaborator_and_an_operator_decide(closed: Competition, make_user: Callable[..., User]) -> None:
    collaborator, operator = make_user(), make_user(is_superuser=True)
    closed.collaborators.add(collaborator)
    participation = join(closed, user=make_user(), terms_accepted=True)
    for actor, approve, state in ((collaborator, True, "approved"), (operator, False, "denied")):
        decide_participations([participation], approve=approve, actor=actor)
        assert Participation.objects.get().state == state


@pytest.mark.django_db(transaction=True)
def test_a_double_click_joins_once(competition: Competition, make_user: Callable[..., User]) -> None:
    user = make_user()
    barrier = threading.Barrier(4)

    def run() -> None:
        barrier.wait()
        try:
            join(competition, user=user, terms_accepted=True)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Participation.objects.count() == 1
    assert Event.objects.filter(name="participation.approved").count() == 1
