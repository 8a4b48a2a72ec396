"""What people change while a submission waits or runs: its phase, its team, its place, itself; and its reruns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Competition, Participation, Phase, Team
from gauntlet.competitions.services import decide_participations
from gauntlet.evaluation.exclusions import exclude_submission, readmit_submission
from gauntlet.evaluation.models import Evaluation, Job, Score
from gauntlet.evaluation.services import cancel_evaluation, start_evaluations
from gauntlet.evaluation.team_changes import appoint_captain
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.submissions import checks
from gauntlet.submissions.models import Submission
from gauntlet.submissions.teams import create_team, join_team
from gauntlet_runtime.jobs import Claim, RunSpec

if TYPE_CHECKING:
    from tests.gauntlet.evaluation.conftest import FakeWorker

pytestmark = pytest.mark.django_db


def go_on(worker: FakeWorker, claim: Claim, value: float = 0.5) -> None:
    """End a claimed job."""
    made = worker.run(claim) if isinstance(claim.spec, RunSpec) else worker.scores(claim, value)
    worker.source.finish(claim, made)


# Its phase, its competition, its participant


def _close(phase: Phase) -> None:
    Phase.objects.filter(pk=phase.pk).update(end=timezone.now(), max_submissions=0, max_submissions_per_day=0)


def _take_back(phase: Phase) -> None:
    Competition.objects.filter(pk=phase.competition_id).update(published=False)


def _deny(phase: Phase) -> None:
    for one in Participation.objects.filter(competition=phase.competition):
        decide_participations([one], approve=False, actor=phase.competition.organizer)


def _switch_off(phase: Phase) -> None:
    User.objects.filter(participations__competition=phase.competition).update(is_active=False)


def _remove(phase: Phase) -> None:
    Participation.objects.filter(competition=phase.competition).delete()


CHANGES = {
    "the phase ends, and its quotas are none": _close,
    "the competition is a draft again": _take_back,
    "the participant is denied": _deny,
    "the participant's account is switched off": _switch_off,
    "the participation is removed": _remove,
}


@pytest.mark.parametrize("jobs_before", range(3))
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_taken_is_run_to_its_end_all_the_same(
    change: str, jobs_before: int, start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    """It was sent in time, by somebody who might; to keep it off the boards is a decision of its own."""
    evaluation = start()
    claim: Claim | None = None
    for number in range(jobs_before):
        claim = worker.must_claim()
        if number + 1 < jobs_before:
            go_on(worker, claim)
    CHANGES[change](evaluation.submission.phase)
    if claim is not None:
        worker.source.renew(claim)
        go_on(worker, claim)
    worker.finish_all()
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.in_force) == ("finished", True)
    assert Entry.objects.get().submission == evaluation.submission
    assert evaluation.submission.counts_as == "attempt"


def test_what_is_taken_off_the_boards_while_it_runs_comes_on_none_until_it_is_let_back(
    start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    evaluation = start()
    submission = evaluation.submission
    organizer = submission.phase.competition.organizer
    claim = worker.must_claim()
    exclude_submission(submission, reason="It opened the hidden scenarios.", actor=organizer)
    go_on(worker, claim)
    worker.finish_all()
    evaluation.refresh_from_db()
    assert (evaluation.state, Score.objects.exists(), Entry.objects.exists()) == ("finished", True, False)
    assert readmit_submission(submission, actor=organizer)
    assert Entry.objects.get().submission == submission


@pytest.mark.django_db(transaction=True)
def test_a_submission_that_is_taken_off_while_its_result_is_stored_is_off(
    start: Callable[..., Evaluation], worker: FakeWorker, overlapping: Any
) -> None:
    evaluation = start()
    submission, organizer = evaluation.submission, evaluation.submission.phase.competition.organizer
    go_on(worker, worker.must_claim())
    claim = worker.must_claim()

    def exclude() -> None:
        exclude_submission(submission, reason="It cheats.", actor=organizer)

    assert overlapping(lambda: go_on(worker, claim), exclude) is None
    assert not Entry.objects.exists()
    assert ColumnValue.objects.filter(submission=submission).exists()


def test_an_operator_cannot_delete_what_a_worker_may_be_at(
    start: Callable[..., Evaluation], make_user: Callable[..., User], worker: FakeWorker
) -> None:
    evaluation = start()
    claim = worker.must_claim()
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    rows = "/admin/submissions/submission/"
    assert client.get(f"{rows}{evaluation.submission_id}/change/").status_code == 200
    assert client.post(f"{rows}{evaluation.submission_id}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": str(evaluation.submission_id), "post": "yes"}
    client.post(rows, chosen)
    assert Submission.objects.filter(pk=evaluation.submission_id).exists()
    worker.source.renew(claim)


@pytest.mark.parametrize("what", ["competitions/competition", "competitions/phase", "accounts/user"])
def test_nor_what_it_belongs_to(
    what: str, start: Callable[..., Evaluation], make_user: Callable[..., User], worker: FakeWorker
) -> None:
    evaluation = start()
    claim = worker.must_claim()
    phase = evaluation.submission.phase
    row = {"competition": phase.competition_id, "phase": phase.pk, "user": evaluation.submission.participant_id}
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    answer = client.post(f"/admin/{what}/{row[what.rpartition('/')[2]]}/delete/", {"post": "yes"})
    assert answer.status_code in (200, 403)  # a page that says what is in the way
    worker.source.renew(claim)
    worker.finish_all()
    assert Submission.objects.filter(pk=evaluation.submission_id).exists()


# Its team


@pytest.fixture
def team(make_phase: Callable[..., Phase], make_user: Callable[..., User]) -> Team:
    """Of two, in a phase with two scenarios."""
    from gauntlet.competitions.services import join

    phase = make_phase(scenarios=2)
    Competition.objects.filter(pk=phase.competition_id).update(max_team_size=3)
    phase.competition.refresh_from_db()
    people = [make_user(name) for name in ("ada", "bob")]
    for one in people:
        join(phase.competition, user=one, terms_accepted=True)
    made = create_team(phase.competition, captain=people[0], name="Pumps")
    join_team(phase.competition, user=people[1], code=made.code)
    return made


def whose_turns() -> set[str]:
    return set(Job.objects.values_list("participant__username", flat=True))


@pytest.mark.django_db(transaction=True)
def test_jobs_that_a_run_queues_while_its_team_gets_another_captain_take_the_new_ones_turns(
    team: Team, start: Callable[..., Evaluation], worker: FakeWorker, overlapping: Any, settings: Any
) -> None:
    settings.RUN_SLICE = 1
    phase = team.competition.phases.get()
    start(phase, participant=team.captain, team=team)
    claim = worker.must_claim()

    def appoint() -> Team:
        return appoint_captain(team, username="bob", actor=team.competition.organizer)

    assert isinstance(overlapping(lambda: go_on(worker, claim), appoint), Team)
    assert Job.objects.count() == 2
    assert whose_turns() == {"bob"}
    worker.finish_all()
    assert Entry.objects.get().participant.username == "bob"
    assert whose_turns() == {"bob"}


@pytest.mark.django_db(transaction=True)
def test_what_is_accepted_while_its_team_gets_another_captain_takes_the_new_ones_turns(
    team: Team, make_submission: Callable[..., Submission], overlapping: Any
) -> None:
    phase = team.competition.phases.get()
    submission = make_submission(phase, team.captain, team=team, state="checking", check_attempts=1)
    found = checks.Outcome(findings=[], agent={"name": "x"})
    overlapping(
        lambda: checks._conclude(submission, found, on_accept=start_evaluations),
        lambda: appoint_captain(team, username="bob", actor=team.competition.organizer),
    )
    assert Submission.objects.get().participant.username == "bob"
    assert whose_turns() == {"bob"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("back", [False, True])
def test_what_is_taken_off_the_boards_or_let_back_while_its_team_gets_another_captain_is_so(
    back: bool, team: Team, start: Callable[..., Evaluation], worker: FakeWorker, overlapping: Any
) -> None:
    phase, organizer = team.competition.phases.get(), team.competition.organizer
    worst, best = (start(phase, participant=team.captain, team=team).submission for _ in range(2))
    while claim := worker.claim():
        go_on(worker, claim, value=0.75 if claim.submission == str(best.pk) else 0.25)
    if back:
        exclude_submission(best, reason="It cheats.", actor=organizer)

    def decide() -> None:
        if back:
            readmit_submission(best, actor=organizer)
        else:
            exclude_submission(best, reason="It cheats.", actor=organizer)

    assert overlapping(lambda: appoint_captain(team, username="bob", actor=organizer), decide) is None
    entry = Entry.objects.get()
    assert (entry.participant.username, entry.submission) == ("bob", best if back else worst)


# Its reruns


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_runs_at_once_the_newest_that_finished_is_in_force_in_whatever_order_they_end(
    order: tuple[int, ...], start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    first = start()
    runs = [first, *start_evaluations(first.submission), *start_evaluations(first.submission)]
    claims = []
    while claim := worker.claim():
        if isinstance(claim.spec, RunSpec):
            go_on(worker, claim)
        else:
            claims.append(claim)
    by_run = {claim.evaluation: claim for claim in claims}
    done: list[int] = []
    for index in order:
        go_on(worker, by_run[str(runs[index].pk)], value=index / 4)
        done.append(index)
        states = list(first.submission.evaluations.order_by("number").values_list("state", "in_force"))
        assert states == [("finished" if one in done else "scoring", one == max(done)) for one in range(3)]
        assert ColumnValue.objects.get(column__key="score").value == max(done) / 4
        assert Entry.objects.get().primary_value == max(done) / 4


@pytest.mark.django_db(transaction=True)
def test_a_rerun_that_is_cancelled_leaves_the_first_run_alone(
    start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    first = start()
    claim = worker.must_claim()
    (again,) = start_evaluations(first.submission)
    other = worker.must_claim()
    assert cancel_evaluation(again.pk, actor=first.submission.participant)
    go_on(worker, claim)
    worker.finish_all()
    first.refresh_from_db()
    again.refresh_from_db()
    assert (first.state, first.in_force, again.state, again.in_force) == ("finished", True, "cancelled", False)
    assert {claim.evaluation, other.evaluation} == {str(first.pk), str(again.pk)}
