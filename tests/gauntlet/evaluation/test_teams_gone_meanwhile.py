"""Two organizers change one team at once, or one does so twice: the second is told, and nothing is done by halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from gauntlet.accounts.models import User
from gauntlet.competitions.errors import NotParticipating, TeamNotFound
from gauntlet.competitions.models import Competition, Participation, Phase, Team
from gauntlet.evaluation.team_changes import appoint_captain, dissolve_team, merge_teams, move_person, rename_team

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    made = make_phase()
    Competition.objects.filter(pk=made.competition_id).update(max_team_size=3)
    made.competition.refresh_from_db()
    return made


@pytest.fixture
def organizer(phase: Phase) -> User:
    return phase.competition.organizer


@pytest.fixture
def joe(people: dict[str, User]) -> Participation:
    """Joe's participation, who is in no team."""
    return Participation.objects.get(user=people["joe"])


CHANGES: dict[str, Callable[..., Any]] = {
    "rename": lambda pumps, fans, joe, actor: rename_team(pumps, name="Valves", actor=actor),
    "appoint": lambda pumps, fans, joe, actor: appoint_captain(pumps, username="bob", actor=actor),
    "move into": lambda pumps, fans, joe, actor: move_person(joe, to=pumps, actor=actor),
    "merge": lambda pumps, fans, joe, actor: merge_teams(pumps, into=fans, actor=actor),
    "merge into": lambda pumps, fans, joe, actor: merge_teams(fans, into=pumps, actor=actor),
    "dissolve": lambda pumps, fans, joe, actor: dissolve_team(pumps, actor=actor),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("end", ["merge", "dissolve"])
def test_a_team_that_somebody_else_has_just_ended_is_not_found(
    name: str, end: str, pumps: Team, fans: Team, joe: Participation, organizer: User, overlapping: Any
) -> None:
    def change(what: str) -> Any:
        return CHANGES[what](pumps, fans, joe, organizer)

    assert isinstance(overlapping(lambda: change(end), lambda: change(name)), TeamNotFound)
    joe.refresh_from_db()
    assert joe.team is None
    assert list(Team.objects.all()) == [fans]


def test_a_team_that_gets_another_captain_meanwhile_is_renamed_all_the_same(
    pumps: Team, organizer: User, overlapping: Any
) -> None:
    renamed = overlapping(
        lambda: appoint_captain(pumps, username="bob", actor=organizer),
        lambda: rename_team(pumps, name="Valves", actor=organizer),
    )
    assert isinstance(renamed, Team)
    pumps.refresh_from_db()
    assert (pumps.name, pumps.captain.username) == ("Valves", "bob")


def test_who_has_just_left_the_competition_is_not_moved(
    pumps: Team, joe: Participation, organizer: User, overlapping: Any
) -> None:
    left = Participation.objects.filter(pk=joe.pk)
    told = overlapping(left.delete, lambda: move_person(joe, to=pumps, actor=organizer))
    assert isinstance(told, NotParticipating)


@pytest.fixture
def ended_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Team], None]:
    """Have a team end right after the act of a view."""

    def arrange(act: str, team: Team) -> None:
        from gauntlet.evaluation import team_changes

        done = getattr(team_changes, act)

        def do_then(*given: Any, **more: Any) -> Any:
            answer = done(*given, **more)
            Team.objects.filter(pk=team.pk).delete()
            return answer

        monkeypatch.setattr(team_changes, act, do_then)

    return arrange


def test_an_answer_about_a_team_that_ended_after_the_act_says_so(
    phase: Phase, pumps: Team, organizer: User, ended_after: Any
) -> None:
    client = Client()
    client.force_login(organizer)
    ended_after("rename_team", pumps)
    address = f"/api/v1/competitions/{phase.competition.slug}/teams/{pumps.pk}"
    answer = client.patch(address, {"name": "Valves"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_page_of_a_team_that_ended_while_it_was_changed_says_so(
    phase: Phase, pumps: Team, organizer: User, overlapping: Any
) -> None:
    client = Client()
    client.force_login(organizer)
    address = f"/competitions/{phase.competition.slug}/organizer/teams/{pumps.pk}/"
    page = overlapping(
        lambda: dissolve_team(pumps, actor=organizer),
        lambda: client.post(address, {"act": "rename", "rename": "Valves"}),
    )
    assert page.status_code == 404
    assert "merged or dissolved" in page.content.decode()
