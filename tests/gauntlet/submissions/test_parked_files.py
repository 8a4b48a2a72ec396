"""A file at which the platform itself fails again and again is parked: nobody pays, and it is not tried for ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import Event, User
from gauntlet.evaluation.claims import fail_evaluation
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.services import start_evaluations
from gauntlet.queues.models import Queue
from gauntlet.queues.services import issue_token
from gauntlet.submissions import checks
from gauntlet.submissions.errors import FileParked
from gauntlet.submissions.models import FileFaults, Submission
from gauntlet.submissions.parking import IN_A_ROW, note_fault, release
from gauntlet.submissions.quotas import allowance
from gauntlet.submissions.services import check_next
from gauntlet_runtime.jobs import Failure
from gauntlet_scoring.failures import FailureCode

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase with a single attempt a day."""
    return make_phase(max_submissions_per_day=1)


@pytest.fixture
def user(phase: Any, make_participant: Callable[[Any], User]) -> User:
    """A participant."""
    return make_participant(phase)


class Checker:
    """Checks what was received; told to, it fails at everything, as one does whose process a file kills."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failing, self.tries = True, 0
        examine = checks._examine

        def examined(*what: Any) -> Any:
            self.tries += 1
            if self.failing:
                raise OSError("the checker dies of this file")
            return examine(*what)

        monkeypatch.setattr(checks, "_examine", examined)

    def work(self) -> None:
        """Until nothing is left to be checked."""
        while check_next(sandbox=None, on_accept=start_evaluations):  # type: ignore[arg-type]
            Submission.objects.update(check_started_at=None)


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> Checker:
    """See the class."""
    return Checker(monkeypatch)


def fail_by_platform(submission: Submission, code: FailureCode = FailureCode.INFRASTRUCTURE) -> Evaluation:
    """Let the evaluation fail as it does when its jobs were lost too often."""
    evaluation = submission.evaluations.latest("number")
    evaluation.state = "running"
    evaluation.save()
    fail_evaluation(evaluation, failure=Failure(code=code, message="Its worker died."))
    return evaluation


def test_a_file_that_kills_its_checkers_is_parked_after_a_few_submissions_and_costs_nothing(
    phase: Any, user: User, send: Any, checker: Checker, agent_zip: Any
) -> None:
    for _ in range(IN_A_ROW):
        submission = send(phase, user)
        checker.work()
    assert checker.tries == IN_A_ROW * checks.MOST_ATTEMPTS
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code, submission.counts_as) == (
        "rejected",
        "infrastructure",
        "nothing",
    )
    assert f"failed at this very file {IN_A_ROW} times in a row, and its operators were told" in (
        submission.failure_message
    )
    with pytest.raises(FileParked, match="A file that was changed is taken at once") as caught:
        send(phase, user)
    assert 3500 < (caught.value.retry_after or 0) <= 3600
    assert Submission.objects.count() == IN_A_ROW
    assert checker.tries == IN_A_ROW * checks.MOST_ATTEMPTS
    assert allowance(phase=phase, participant=user).left_today == 1

    checker.failing = False
    changed = send(phase, user, agent_zip(more="x"))
    checker.work()
    changed.refresh_from_db()
    assert changed.state == "accepted"


@pytest.mark.parametrize("cause", ["an own worker", "an image that is missing"])
def test_what_cannot_be_the_files_fault_parks_no_file(
    cause: str, phase: Any, user: User, send: Any, checker: Checker
) -> None:
    """The worker of an organizer's own must not keep somebody's file out of other competitions."""
    checker.failing = False
    code = FailureCode.IMAGE_UNAVAILABLE
    for _ in range(IN_A_ROW):
        submission = send(phase, user)
        checker.work()
        if cause == "an own worker":
            code = FailureCode.INFRASTRUCTURE
            queue, _made = Queue.objects.get_or_create(name="plant-gpu", owner=user)
            token, _secret = issue_token(queue, label="lab", actor=user)
            submission.evaluations.get().jobs.update(queue="plant-gpu", queue_token=token)
        evaluation = fail_by_platform(submission, code)
        assert evaluation.failure_message == "Its worker died."
    assert not FileFaults.objects.exists()
    assert send(phase, user).pk


def test_what_was_sent_before_it_was_parked_is_not_tried_either(
    make_phase: Any, make_participant: Any, send: Any, checker: Checker
) -> None:
    phase = make_phase(max_submissions_per_day=100)
    user = make_participant(phase)
    for _ in range(IN_A_ROW + 4):
        send(phase, user)
    checker.work()
    assert checker.tries == IN_A_ROW * checks.MOST_ATTEMPTS
    assert set(Submission.objects.values_list("state", "failure_code", "counts_as")) == {
        ("rejected", "infrastructure", "nothing")
    }
    assert FileFaults.objects.get().in_a_row == IN_A_ROW  # what was not tried did not fail
    assert Submission.objects.filter(failure_message__contains="taken again from").count() == 5


def test_over_the_api_it_is_a_refusal_that_says_how_long_to_wait(
    phase: Any, user: User, send: Any, checker: Checker, agent_zip: Any
) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    from gauntlet.accounts.services import create_token

    for _ in range(IN_A_ROW):
        send(phase, user)
        checker.work()
    answer = Client().post(
        f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/submissions",
        {"bundle": SimpleUploadedFile("again.zip", agent_zip())},
        headers={"Authorization": f"Bearer {create_token(user, name='test')[1]}"},
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "file_parked")
    assert answer.json()["retry_after"] == int(answer["Retry-After"]) > 3500


def test_it_is_parked_for_longer_each_time_and_for_a_day_at_most(
    phase: Any, user: User, send: Any, checker: Checker
) -> None:
    hours = []
    for number in range(IN_A_ROW + 4):
        FileFaults.objects.update(parked_until=timezone.now() - timedelta(seconds=1))  # its time is over
        send(phase, user)
        checker.work()
        until = FileFaults.objects.get().parked_until
        if number >= IN_A_ROW - 1:
            hours.append(round((until - timezone.now()).total_seconds() / 3600))
    assert hours == [1, 4, 16, 24, 24]


def test_evaluations_that_fail_by_the_platforms_fault_count_too_and_say_so(
    phase: Any, user: User, send: Any, checker: Checker
) -> None:
    checker.failing = False
    for _ in range(IN_A_ROW):
        submission = send(phase, user)
        checker.work()
        evaluation = fail_by_platform(submission)
    assert evaluation.failure_message.startswith("Its worker died. The platform failed at this very file 3 times")
    with pytest.raises(FileParked):
        send(phase, user)


def test_of_one_submission_several_faults_are_one(phase: Any, user: User, send: Any) -> None:
    submission = send(phase, user)
    for _ in range(IN_A_ROW + 1):
        assert note_fault(submission) == ""
    assert FileFaults.objects.get().in_a_row == 1


@pytest.mark.parametrize("how", ["it finished", "its agent failed", "it was rejected"])
def test_a_file_that_came_to_its_end_meanwhile_begins_anew(
    how: str, phase: Any, user: User, send: Any, checker: Checker, agent_zip: Any
) -> None:
    content = agent_zip(agent__yaml="nonsense\n") if how == "it was rejected" else agent_zip()
    for failing in [True] * (IN_A_ROW - 1) + [False] + [True] * (IN_A_ROW - 1):
        Submission.objects.filter(counts_as__in=["attempt", "failed_start"]).update(created_at="2020-01-01T00:00:00Z")
        submission = send(phase, user, content)
        checker.failing = failing
        checker.work()
        if not failing and how != "it was rejected":
            fields = (
                {"state": "finished"} if how == "it finished" else {"state": "failed", "failure_code": "agent_error"}
            )
            submission.evaluations.update(ended_at=timezone.now(), **fields)
    assert FileFaults.objects.get().in_a_row == IN_A_ROW - 1
    Submission.objects.update(created_at="2020-01-01T00:00:00Z")
    send(phase, user, content)  # is taken


def test_others_files_are_others(phase: Any, user: User, send: Any, checker: Checker, agent_zip: Any) -> None:
    for number in range(IN_A_ROW + 1):
        send(phase, user, agent_zip(more=str(number)))
        checker.work()
    assert list(FileFaults.objects.values_list("in_a_row", "parked_until")) == [(1, None)] * (IN_A_ROW + 1)


def test_operators_see_what_is_parked_and_let_it_go_on(
    phase: Any, user: User, send: Any, checker: Checker, make_user: Any
) -> None:
    for _ in range(IN_A_ROW):
        submission = send(phase, user)
        checker.work()
    faults = FileFaults.objects.get()
    assert Event.objects.filter(name="file.parked", subject_id=str(faults.pk)).count() == 1
    operator = Client()
    operator.force_login(make_user("operator", is_staff=True, is_superuser=True))
    address = "/admin/submissions/filefaults/"
    page = operator.get(address)
    assert page.status_code == 200
    assert submission.sent_digest in page.content.decode()
    answer = operator.post(address, {"action": "let_go_on", "_selected_action": [faults.pk]}, follow=True)
    assert "1 file may go on." in answer.content.decode()
    event = Event.objects.get(name="file.released", subject_id=str(faults.pk))
    assert event.actor is not None
    assert event.actor.username == "operator"
    checker.failing = False
    again = send(phase, user)
    checker.work()
    again.refresh_from_db()
    assert again.state == "accepted"
    assert not release(faults.digest, actor=user)
