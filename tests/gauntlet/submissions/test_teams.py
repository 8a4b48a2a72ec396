"""Teams: one quota, one row on the board, and nobody with two."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.errors import NotParticipating, TeamNotFound
from gauntlet.competitions.models import Competition, Leaderboard, Participation, Phase, Team
from gauntlet.leaderboards.export import board_csv
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.leaderboards.selectors import board
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.access import access_submission_as_owner, access_submission_as_reader
from gauntlet.submissions.errors import (
    AlreadyInTeam,
    NoTeams,
    NotInTeam,
    QuotaUsed,
    SubmissionNotFound,
    TeamFull,
    TeamIsBound,
    TeamNameTaken,
)
from gauntlet.submissions.models import Submission
from gauntlet.submissions.quotas import allowance
from gauntlet.submissions.teams import create_team, entrant_id, join_team, leave_team, team_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    made = make_phase(max_submissions_per_day=2)
    Competition.objects.filter(pk=made.competition_id).update(max_team_size=3)
    made.competition.refresh_from_db()
    return made


@pytest.fixture
def people(phase: Phase, make_people: Callable[..., dict[str, User]]) -> dict[str, User]:
    return make_people(phase, "ada", "bob", "eve", "joe")


@pytest.fixture
def team(phase: Phase, people: dict[str, User], make_team: Callable[..., Team]) -> Team:
    """Ada's, with Bob in it."""
    return make_team(phase, "  Pump\n room ", people["ada"], people["bob"])


def test_a_team_has_its_members_and_tells_them_how_others_join(
    phase: Phase, people: dict[str, User], team: Team
) -> None:
    found = team_of(people["bob"], phase.competition)
    assert found is not None
    assert (found.team.name, found.captain, [one.username for one in found.members]) == (
        "Pump room",
        people["ada"],
        ["ada", "bob"],
    )
    assert found.free == 1
    assert team_of(people["eve"], phase.competition) is None
    names = Event.objects.filter(subject_type="team", subject_id=str(team.pk)).values_list("name", flat=True)
    assert sorted(names) == ["team.created", "team.joined"]


def dissolve(team: Team) -> None:
    Team.objects.filter(pk=team.pk).delete()


def replace_captain(team: Team) -> None:
    """Eve becomes the captain, and Ada takes part alone."""
    Team.objects.filter(pk=team.pk).update(captain=User.objects.get(username="eve"))
    Participation.objects.filter(user__username="ada").update(team=None)


def read_while(change: Callable[[], None], *, before: int, read: Callable[[], Any]) -> tuple[Any, bool]:
    """What is read where a change comes before its statement of this number, and whether it has so many."""
    seen = 0

    def interrupt(execute: Any, *given: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == before:
            change()
        return execute(*given)

    with transaction.atomic():
        with connection.execute_wrapper(interrupt):
            found = read()
        transaction.set_rollback(True)
    return found, seen >= before


@pytest.mark.parametrize(("change", "after"), [(dissolve, None), (replace_captain, ["eve", "bob"])])
def test_a_team_that_changes_while_it_is_read_is_told_as_it_was_or_as_it_is(
    change: Callable[[Team], None], after: list[str] | None, phase: Phase, people: dict[str, User], team: Team
) -> None:
    def read() -> list[str] | None:
        found = team_of(people["bob"], phase.competition)
        names = [one.username for one in found.members] if found else None
        assert names is None or found is None or found.captain.username == names[0]
        return names

    join_team(phase.competition, user=people["eve"], code=team.code)
    told, changed = [], True
    while changed:
        names, changed = read_while(lambda: change(team), before=len(told) + 1, read=read)
        told.append(names)
    assert (told[0], told[-1]) == (after, ["ada", "bob", "eve"])
    assert all(names in (told[0], told[-1]) for names in told)


def test_a_captain_who_takes_part_no_more_is_told_as_captain_still(
    phase: Phase, people: dict[str, User], team: Team
) -> None:
    Participation.objects.filter(user=people["ada"]).delete()
    found = team_of(people["bob"], phase.competition)
    assert found is not None
    assert (found.captain, found.members) == (people["ada"], [people["bob"]])


def test_what_a_member_sends_is_the_teams_and_counts_once_for_all(
    phase: Phase, people: dict[str, User], team: Team, send: Any
) -> None:
    sent = send(phase, people["bob"])
    assert (sent.participant, sent.team, sent.sent_by) == (people["ada"], team, people["bob"])
    assert sent.entrant == "Pump room"
    assert send(phase, people["ada"]).sent_by is None
    for name in ("ada", "bob"):
        left = allowance(phase=phase, participant=people[name])
        assert (left.left_today, left.allowed) == (0, False)
        with pytest.raises(QuotaUsed):
            send(phase, people[name])
    assert allowance(phase=phase, participant=people["eve"]).left_today == 2


def test_every_member_and_nobody_else_owns_what_the_team_sent(
    phase: Phase, people: dict[str, User], team: Team, send: Any
) -> None:
    from gauntlet.evaluation.selectors import submission_list

    sent = send(phase, people["bob"])
    own = send(phase, people["eve"])
    for name in ("ada", "bob"):
        assert access_submission_as_owner(people[name], sent.pk) == sent
        assert list(submission_list(people[name])) == [sent]
        with pytest.raises(SubmissionNotFound):
            access_submission_as_reader(people[name], own.pk)
    with pytest.raises(SubmissionNotFound):
        access_submission_as_reader(people["eve"], sent.pk)
    assert list(submission_list(people["eve"])) == [own]


def test_a_team_has_one_row_under_its_name(
    phase: Phase, people: dict[str, User], team: Team, make_submission: Callable[..., Submission]
) -> None:
    for value, sent_by in ((0.4, None), (0.7, people["bob"])):
        submission = make_submission(phase, people["ada"], team=team, sent_by=sent_by)
        record_result(submission, tasks=[TaskScores(aggregates={"rubric.score": value})], scenarios=3)
    record_result(
        make_submission(phase, people["eve"]), tasks=[TaskScores(aggregates={"rubric.score": 0.5})], scenarios=3
    )
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    found = board(leaderboard=leaderboard, phase=phase, reader_id=entrant_id(people["bob"], phase.competition))
    assert [(row.rank, row.participant, row.mine) for row in found.rows] == [(1, "Pump room", True), (2, "eve", False)]
    for search, rows in (("PUMP", ["Pump room"]), ("ada", [])):  # who its captain is, is nobody's concern
        found = board(leaderboard=leaderboard, phase=phase, search=search)
        assert [row.participant for row in found.rows] == rows
    assert "1,Pump room,False,0.7" in "".join(board_csv(leaderboard=leaderboard, phase=phase))


def test_what_the_captain_sent_before_becomes_the_teams(phase: Phase, people: dict[str, User], send: Any) -> None:
    before = send(phase, people["ada"])
    made = create_team(phase.competition, captain=people["ada"], name="Late")
    before.refresh_from_db()
    assert before.team == made
    join_team(phase.competition, user=people["bob"], code=made.code)
    assert allowance(phase=phase, participant=people["bob"]).left_today == 1


def test_nobody_gets_a_second_quota_by_a_team(phase: Phase, people: dict[str, User], team: Team, send: Any) -> None:
    send(phase, people["eve"])
    with pytest.raises(TeamIsBound):
        join_team(phase.competition, user=people["eve"], code=team.code)
    send(phase, people["bob"])
    with pytest.raises(TeamIsBound):
        leave_team(phase.competition, user=people["bob"])
    with pytest.raises(AlreadyInTeam):
        create_team(phase.competition, captain=people["bob"], name="Another")
    assert Participation.objects.get(user=people["bob"]).team == team


def test_who_has_sent_nothing_may_leave_and_a_captain_leaves_last(
    phase: Phase, people: dict[str, User], team: Team
) -> None:
    with pytest.raises(TeamIsBound):
        leave_team(phase.competition, user=people["ada"])
    leave_team(phase.competition, user=people["bob"])
    with pytest.raises(NotInTeam):
        leave_team(phase.competition, user=people["bob"])
    leave_team(phase.competition, user=people["ada"])
    assert not Team.objects.exists()
    create_team(phase.competition, captain=people["bob"], name="Pump room")


def test_a_full_team_a_wrong_code_and_a_taken_name_are_refused(
    phase: Phase, people: dict[str, User], team: Team
) -> None:
    join_team(phase.competition, user=people["eve"], code=f" {team.code} ")
    with pytest.raises(TeamFull):
        join_team(phase.competition, user=people["joe"], code=team.code)
    with pytest.raises(TeamNotFound):
        join_team(phase.competition, user=people["joe"], code="guess")
    for name in ("PUMP ROOM", " \0\n "):
        with pytest.raises(TeamNameTaken):
            create_team(phase.competition, captain=people["joe"], name=name)
    assert Participation.objects.get(user=people["joe"]).team is None


def test_a_code_of_another_competition_opens_nothing(
    phase: Phase, people: dict[str, User], team: Team, make_phase: Callable[..., Phase]
) -> None:
    from gauntlet.competitions.services import join

    elsewhere = make_phase().competition
    join(elsewhere, user=people["joe"], terms_accepted=True)
    with pytest.raises(NoTeams):
        join_team(elsewhere, user=people["joe"], code=team.code)
    Competition.objects.filter(pk=elsewhere.pk).update(max_team_size=3)
    elsewhere.refresh_from_db()
    with pytest.raises(TeamNotFound):
        join_team(elsewhere, user=people["joe"], code=team.code)


def test_who_is_denied_loses_the_team_and_a_denied_captain_stops_it(
    phase: Phase, people: dict[str, User], team: Team, send: Any
) -> None:
    sent = send(phase, people["ada"])
    Participation.objects.filter(user=people["bob"]).update(state="denied")
    with pytest.raises(SubmissionNotFound):
        access_submission_as_owner(people["bob"], sent.pk)
    leave_team(phase.competition, user=people["bob"])
    join_team(phase.competition, user=people["eve"], code=team.code)
    Participation.objects.filter(user=people["ada"]).update(state="denied")
    with pytest.raises(NotParticipating, match="captain"):
        send(phase, people["eve"])


def test_a_team_is_not_named_as_somebody_else(phase: Phase, people: dict[str, User]) -> None:
    with pytest.raises(TeamNameTaken, match="a person's name"):
        create_team(phase.competition, captain=people["ada"], name="EVE")
    assert create_team(phase.competition, captain=people["ada"], name="ada").name == "ada"


@pytest.mark.django_db(transaction=True)
def test_an_upload_that_waits_for_its_sender_to_join_is_the_teams(
    phase: Phase, people: dict[str, User], team: Team, send: Any, until_somebody_waits: Any
) -> None:
    """The upload has begun, and waits for the lock that joining holds."""
    from django.db import transaction

    results: list[Submission] = []

    def upload() -> None:
        try:
            results.append(send(phase, people["eve"]))
        finally:
            connections.close_all()

    thread = threading.Thread(target=upload)
    with transaction.atomic():
        join_team(phase.competition, user=people["eve"], code=team.code)
        thread.start()
        until_somebody_waits()
    thread.join()
    assert [(one.participant, one.team, one.sent_by) for one in results] == [(people["ada"], team, people["eve"])]


def test_the_page_leads_from_alone_to_a_team_and_back(phase: Phase, people: dict[str, User]) -> None:
    address = f"/competitions/{phase.competition.slug}/team/"
    ada, bob = Client(), Client()
    ada.force_login(people["ada"])
    bob.force_login(people["bob"])
    assert "You take part alone" in ada.get(address).content.decode()
    made = ada.post(f"{address}create", {"name": "Pump <room>"}, follow=True).content.decode()
    assert "Pump &lt;room&gt;" in made
    code = Team.objects.get().code
    assert code in made
    wrong = bob.post(f"{address}join", {"code": "guess"})
    assert wrong.status_code == 404
    assert "No team has this code" in wrong.content.decode()
    assert (
        "You are in the team Pump &lt;room&gt; now."
        in bob.post(f"{address}join", {"code": code}, follow=True).content.decode()
    )
    bound = ada.post(f"{address}leave")
    assert bound.status_code == 409
    assert "a captain leaves last" in bound.content.decode()
    assert "You take part alone now." in bob.post(f"{address}leave", follow=True).content.decode()


def test_the_api_tells_the_same(phase: Phase, people: dict[str, User]) -> None:
    address = f"/api/v1/competitions/{phase.competition.slug}/team"
    client = Client()
    client.force_login(people["ada"])
    assert client.get(address).json() == {"max_team_size": 3, "team": None}
    made = client.post(address, {"name": "Pump room"}, content_type="application/json")
    assert made.status_code == 201
    told = made.json()["team"]
    assert (told["name"], told["captain"], told["members"], told["free"]) == ("Pump room", "ada", ["ada"], 2)
    assert client.post(address, {}, content_type="application/json").status_code == 400
    assert client.post(f"{address}/join", {"code": "x"}, content_type="application/json").json()["code"] == (
        "already_in_team"
    )
    assert client.post(f"{address}/leave").json() == {"max_team_size": 3, "team": None}
