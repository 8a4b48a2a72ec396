"""What organizers change about teams: nothing that was submitted is lost, counts twice, or is had again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connections
from django.test import Client

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.errors import NotOrganizer, NotParticipating
from gauntlet.competitions.models import Competition, Participation, Phase, Team
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.team_changes import appoint_captain, dissolve_team, merge_teams, move_person, rename_team
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.submissions.access import access_submission_as_owner
from gauntlet.submissions.errors import NotInTeam, QuotaUsed, SubmissionNotFound, TeamFull, TeamIsBound, TeamNameTaken
from gauntlet.submissions.models import Submission
from gauntlet.submissions.quotas import allowance
from gauntlet.submissions.teams import create_team, join_team, leave_team, team_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    made = make_phase(max_submissions_per_day=3)
    Competition.objects.filter(pk=made.competition_id).update(max_team_size=3)
    made.competition.refresh_from_db()
    return made


@pytest.fixture
def organizer(phase: Phase) -> User:
    return phase.competition.organizer


@pytest.fixture
def send(make_submission: Callable[..., Submission]) -> Callable[..., Submission]:
    """Upload something the way a page does."""
    from gauntlet.submissions.services import receive

    def make(phase: Phase, user: User) -> Submission:
        upload = ContentFile(b"an archive, or not: it is received unread")
        return receive(phase=phase, participant=user, upload=upload, file_name="mine.zip")

    return make


def participation(phase: Phase, user: User) -> Participation:
    return Participation.objects.get(competition=phase.competition, user=user)


def rows(phase: Phase) -> dict[str, float | None]:
    return {one.submission.entrant: one.primary_value for one in Entry.objects.filter(phase=phase)}


def left(phase: Phase, user: User) -> int | None:
    return allowance(phase=phase, participant=user).left_today


def test_a_renamed_team_stands_under_its_new_name(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any
) -> None:
    scored(people["ada"], 0.4, team=pumps)
    assert rename_team(pumps, name=" Heat\n pumps ", actor=organizer).name == "Heat pumps"
    assert rows(phase) == {"Heat pumps": 0.4}
    for name in ("FANS", "", "eve"):
        with pytest.raises(TeamNameTaken):
            rename_team(pumps, name=name, actor=organizer)
    event = Event.objects.get(name="team.renamed")
    assert (event.actor, event.data) == (organizer, {"before": "Pumps", "after": "Heat pumps"})


def test_a_new_captain_gets_what_the_team_has_submitted_and_its_row_and_quota_stay(
    phase: Phase, people: dict[str, User], pumps: Team, organizer: User, scored: Any, send: Any
) -> None:
    first, second = (
        scored(people["ada"], 0.4, team=pumps),
        scored(people["ada"], 0.6, team=pumps, sent_by=people["bob"]),
    )
    Participation.objects.filter(user=people["ada"]).update(state="denied")
    with pytest.raises(NotParticipating):
        send(phase, people["bob"])
    appoint_captain(pumps, username="bob", actor=organizer)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.participant, first.sent_by) == (people["bob"], people["ada"])
    assert (second.participant, second.sent_by) == (people["bob"], None)
    assert rows(phase) == {"Pumps": 0.6}
    assert Entry.objects.get().participant == people["bob"]
    assert left(phase, people["bob"]) == 1
    assert send(phase, people["bob"]).participant == people["bob"]
    with pytest.raises(NotParticipating):
        appoint_captain(pumps, username="ada", actor=organizer)
    with pytest.raises(NotInTeam):
        appoint_captain(pumps, username="eve", actor=organizer)


def test_jobs_that_wait_take_the_new_captains_turns(
    phase: Phase, people: dict[str, User], pumps: Team, organizer: User, make_submission: Any
) -> None:
    from gauntlet.evaluation.services import start_evaluations

    start_evaluations(make_submission(phase, people["ada"], team=pumps))
    appoint_captain(pumps, username="bob", actor=organizer)
    assert set(Job.objects.values_list("participant__username", flat=True)) == {"bob"}


def test_what_was_sent_stays_with_the_team_that_a_person_leaves_and_no_quota_is_escaped(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any, send: Any
) -> None:
    sent = scored(people["ada"], 0.4, team=pumps, sent_by=people["bob"])
    scored(people["ada"], 0.3, team=pumps)
    move_person(participation(phase, people["bob"]), to=None, actor=organizer)
    assert team_of(people["bob"], phase.competition) is None
    assert rows(phase) == {"Pumps": 0.4}
    with pytest.raises(SubmissionNotFound):
        access_submission_as_owner(people["bob"], sent.pk)
    assert (left(phase, people["ada"]), left(phase, people["bob"])) == (1, 1)
    send(phase, people["bob"])
    with pytest.raises(QuotaUsed):
        send(phase, people["bob"])
    assert left(phase, people["ada"]) == 1  # and the team's is its own

    # What Bob has sent alone becomes that of the team that he enters, and counts there.
    move_person(participation(phase, people["bob"]), to=fans, actor=organizer)
    assert left(phase, people["eve"]) == left(phase, people["bob"]) == 2
    own = Submission.objects.get(sent_by=people["bob"], team=fans)
    assert (own.participant, access_submission_as_owner(people["eve"], own.pk)) == (people["eve"], own)
    event = Event.objects.filter(name="team.member_moved").latest("pk")
    assert event.data == {"person": "bob", "before": "", "after": "Fans"}


def test_a_person_goes_from_team_to_team_and_uses_the_quota_of_the_one_they_are_in(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any
) -> None:
    scored(people["ada"], 0.4, team=pumps, sent_by=people["bob"])
    move_person(participation(phase, people["bob"]), to=fans, actor=organizer)
    assert (left(phase, people["ada"]), left(phase, people["bob"]), left(phase, people["eve"])) == (2, 3, 3)
    move_person(participation(phase, people["bob"]), to=None, actor=organizer)
    assert left(phase, people["bob"]) == 2  # what Pumps had used, once
    made = create_team(phase.competition, captain=people["bob"], name="Valves")
    join_team(phase.competition, user=people["joe"], code=made.code)
    assert left(phase, people["joe"]) == 2  # a team of somebody's own is no way out either


def test_two_teams_become_one_with_one_row_and_both_quotas(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any
) -> None:
    scored(people["ada"], 0.4, team=pumps, sent_by=people["bob"])
    best = scored(people["eve"], 0.7, team=fans)
    assert merge_teams(fans, into=pumps, actor=organizer) == pumps
    assert list(Team.objects.all()) == [pumps]
    story = team_of(people["eve"], phase.competition)
    assert story is not None
    assert {one.username for one in story.members} == {"ada", "bob", "eve"}
    assert rows(phase) == {"Pumps": 0.7}
    best.refresh_from_db()
    assert (best.participant, best.team, best.sent_by) == (people["ada"], pumps, people["eve"])
    assert ColumnValue.objects.filter(submission=best).exists()
    assert [left(phase, people[name]) for name in ("ada", "bob", "eve")] == [1, 1, 1]
    assert Event.objects.get(name="team.merged").data["team"] == "Fans"
    with pytest.raises(NotInTeam):
        merge_teams(pumps, into=pumps, actor=organizer)


def test_the_latest_of_both_stands_where_the_rule_says_so(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any
) -> None:
    phase.competition.leaderboards.update(submission_rule="latest")
    scored(people["ada"], 0.7, team=pumps)
    scored(people["eve"], 0.2, team=fans)
    merge_teams(fans, into=pumps, actor=organizer)
    assert rows(phase) == {"Pumps": 0.2}


def test_a_dissolved_team_leaves_its_submissions_to_its_captain_and_a_used_quota_to_all(
    phase: Phase, people: dict[str, User], pumps: Team, organizer: User, scored: Any
) -> None:
    scored(people["ada"], 0.4, team=pumps, sent_by=people["bob"])
    dissolve_team(pumps, actor=organizer)
    assert not Team.objects.exists()
    assert rows(phase) == {"ada": 0.4}
    assert [left(phase, people[name]) for name in ("ada", "bob", "joe")] == [2, 2, 3]
    assert {participation(phase, people[name]).team for name in ("ada", "bob")} == {None}
    assert Event.objects.get(name="team.dissolved").actor == organizer


def test_a_captain_a_full_team_and_who_may_not_take_part_are_not_moved(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User
) -> None:
    with pytest.raises(TeamIsBound, match="Appoint another"):
        move_person(participation(phase, people["ada"]), to=fans, actor=organizer)
    move_person(participation(phase, people["joe"]), to=pumps, actor=organizer)
    with pytest.raises(TeamFull):
        move_person(participation(phase, people["kim"]), to=pumps, actor=organizer)
    with pytest.raises(TeamFull):
        merge_teams(fans, into=pumps, actor=organizer)
    with pytest.raises(NotInTeam):
        move_person(participation(phase, people["joe"]), to=pumps, actor=organizer)
    Participation.objects.filter(user=people["kim"]).update(state="denied")
    with pytest.raises(NotParticipating):
        move_person(participation(phase, people["kim"]), to=fans, actor=organizer)
    assert pumps.members.count() == 3
    assert fans.members.count() == 1


def test_whom_the_organizer_has_moved_may_leave_as_before(
    phase: Phase, people: dict[str, User], fans: Team, organizer: User
) -> None:
    move_person(participation(phase, people["joe"]), to=fans, actor=organizer)
    leave_team(phase.competition, user=people["joe"])
    assert fans.members.count() == 1


def test_nobody_but_the_organizers_changes_a_team(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, make_user: Callable[..., User]
) -> None:
    for actor in (people["ada"], people["joe"], make_user()):
        for change in (
            lambda actor=actor: rename_team(pumps, name="Mine", actor=actor),
            lambda actor=actor: appoint_captain(pumps, username="bob", actor=actor),
            lambda actor=actor: move_person(participation(phase, people["bob"]), to=None, actor=actor),
            lambda actor=actor: merge_teams(fans, into=pumps, actor=actor),
            lambda actor=actor: dissolve_team(pumps, actor=actor),
        ):
            with pytest.raises(NotOrganizer):
                change()
    assert {one.name: one.members.count() for one in Team.objects.all()} == {"Pumps": 2, "Fans": 1}


@pytest.mark.django_db(transaction=True)
def test_an_upload_that_waits_for_a_merge_is_the_merged_teams(
    phase: Phase,
    people: dict[str, User],
    pumps: Team,
    fans: Team,
    organizer: User,
    send: Any,
    until_somebody_waits: Any,
) -> None:
    from django.db import transaction

    results: list[Submission] = []

    def upload() -> None:
        try:
            results.append(send(phase, people["eve"]))
        finally:
            connections.close_all()

    thread = threading.Thread(target=upload)
    with transaction.atomic():
        merge_teams(fans, into=pumps, actor=organizer)
        thread.start()
        until_somebody_waits()
    thread.join()
    assert [(one.participant, one.team, one.sent_by) for one in results] == [(people["ada"], pumps, people["eve"])]


def test_the_pages_lead_the_organizer_through_it(
    phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User, scored: Any
) -> None:
    scored(people["ada"], 0.4, team=pumps)
    address = f"/competitions/{phase.competition.slug}/organizer/teams/"
    client, stranger = Client(), Client()
    client.force_login(organizer)
    stranger.force_login(people["ada"])
    for one in (address, f"{address}{pumps.pk}/"):
        assert stranger.get(one).status_code == 403
        assert stranger.post(one, {"act": "rename", "rename": "Mine"}).status_code == 403
    listed = client.get(address).content.decode()
    assert "ada, bob" in listed
    assert "goes on using up what the team had used" in listed
    wrong = client.post(address, {"act": "move", "user": "joe", "to": "Nobody's"})
    assert (wrong.status_code, "There is no team named" in wrong.content.decode()) == (404, True)
    moved = client.post(address, {"act": "move", "user": "joe", "to": "pumps"}, follow=True).content.decode()
    assert "joe is in the team Pumps now." in moved
    alone = client.post(address, {"act": "move", "user": "joe", "to": ""}, follow=True).content.decode()
    assert "joe takes part alone now." in alone

    one = f"{address}{pumps.pk}/"
    taken = client.post(one, {"act": "rename", "rename": "fans"})
    assert (taken.status_code, "There is a team named" in taken.content.decode()) == (409, True)
    assert "is named Heat now" in client.post(one, {"act": "rename", "rename": "Heat"}, follow=True).content.decode()
    appointed = client.post(one, {"act": "captain", "captain": "bob"}, follow=True).content.decode()
    assert "bob is the captain of Heat now." in appointed
    assert client.post(one, {"act": "dissolve", "dissolve": "heat"}).status_code == 409
    assert client.post(one, {"act": "nothing of these"}, follow=True).status_code == 200
    assert Team.objects.filter(pk=pumps.pk).exists()
    merged = client.post(one, {"act": "merge", "merge": "Fans"}, follow=True).content.decode()
    assert "Heat is part of Fans now." in merged
    ended = client.post(f"{address}{fans.pk}/", {"act": "dissolve", "dissolve": "Fans"}, follow=True).content.decode()
    assert "Fans is dissolved" in ended
    assert client.get(f"{address}{fans.pk}/").status_code == 404
    assert rows(phase) == {"eve": 0.4}


def test_the_api_does_the_same(phase: Phase, people: dict[str, User], pumps: Team, fans: Team, organizer: User) -> None:
    address = f"/api/v1/competitions/{phase.competition.slug}/teams"
    client, stranger = Client(), Client()
    client.force_login(organizer)
    stranger.force_login(people["ada"])

    def ask(method: str, path: str, body: object = None, by: Client = client) -> Any:
        return getattr(by, method)(f"{address}{path}", body, content_type="application/json")

    told = client.get(address).json()
    assert [(one["name"], one["captain"], one["members"], one["submissions"]) for one in told["results"]] == [
        ("Fans", "eve", ["eve"], 0),
        ("Pumps", "ada", ["ada", "bob"], 0),
    ]
    for method, path, body in (
        ("get", "", None),
        ("patch", f"/{pumps.pk}", {"name": "Mine"}),
        ("delete", f"/{pumps.pk}", None),
        ("post", f"/{pumps.pk}/merge", {"into": fans.pk}),
        ("post", "/move", {"user": "bob", "team": None}),
    ):
        assert ask(method, path, body, by=stranger).json()["code"] == "not_organizer"
        assert ask(method, path, body, by=Client()).status_code == 401
    changed = ask("patch", f"/{pumps.pk}", {"name": "Heat", "captain": "bob"}).json()
    assert (changed["name"], changed["captain"]) == ("Heat", "bob")
    assert ask("patch", f"/{pumps.pk}", {}).status_code == 400
    assert ask("post", "/move", {"user": "joe"}).status_code == 400
    assert ask("post", "/move", {"user": "zed", "team": None}).json()["code"] == "not_participating"
    assert ask("post", "/move", {"user": "joe", "team": 10**9}).json()["code"] == "not_found"
    assert ask("post", "/move", {"user": "joe", "team": 10**30}).status_code == 404
    assert ask("post", "/move", {"user": "ada", "team": fans.pk}).status_code == 204
    assert ask("post", f"/{fans.pk}/merge", {"into": fans.pk}).json()["code"] == "not_in_team"
    assert ask("post", f"/{fans.pk}/merge", {"into": pumps.pk}).json()["members"] == ["ada", "bob", "eve"]
    assert ask("delete", f"/{pumps.pk}").status_code == 204
    assert client.get(address).json()["results"] == []


def test_the_list_takes_the_same_queries_at_any_length(
    phase: Phase, people: dict[str, User], pumps: Team, organizer: User, django_assert_max_num_queries: Any
) -> None:
    client = Client()
    client.force_login(organizer)
    address = f"/competitions/{phase.competition.slug}/organizer/teams/"
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(address)
    for name in ("eve", "joe", "kim"):
        create_team(phase.competition, captain=people[name], name=f"Team of {name}")
    with django_assert_max_num_queries(len(few)):
        assert client.get(address).status_code == 200
