"""Who or what is not there any more by the time an upload was stored: a clear refusal, and nothing is received."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connections

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions.models import Competition, Participation, Phase
from gauntlet.submissions import checks, services
from gauntlet.submissions.models import Submission
from gauntlet.submissions.teams import create_team, join_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Have something happen while an upload is stored."""

    def arrange(what: Callable[[], Any]) -> None:
        store = services.store

        def store_then(*given: Any, **more: Any) -> Any:
            stored = store(*given, **more)
            what()
            return stored

        monkeypatch.setattr(services, "store", store_then)

    return arrange


def refused(send: Any, phase: Phase, user: User) -> tuple[str, int]:
    with pytest.raises(DomainError) as caught:
        send(phase, user)
    assert not Submission.objects.exists()
    return caught.value.code, caught.value.status


def test_a_competition_that_is_removed(make_phase: Any, make_participant: Any, send: Any, meanwhile: Any) -> None:
    phase = make_phase()
    user = make_participant(phase)
    phase.tasks.all().delete()
    meanwhile(lambda: Competition.objects.filter(pk=phase.competition_id).delete())
    assert refused(send, phase, user) == ("not_found", 404)


def test_a_participation_that_is_removed(make_phase: Any, make_participant: Any, send: Any, meanwhile: Any) -> None:
    phase = make_phase()
    user = make_participant(phase)
    meanwhile(lambda: Participation.objects.filter(user=user).delete())
    assert refused(send, phase, user) == ("not_participating", 403)


def test_a_captain_whose_participation_is_removed(make_phase: Any, make_participant: Any, send: Any) -> None:
    phase = make_phase()
    Competition.objects.update(max_team_size=2)
    phase.competition.refresh_from_db()
    captain, member = make_participant(phase), make_participant(phase)
    join_team(phase.competition, user=member, code=create_team(phase.competition, captain=captain, name="Two").code)
    Participation.objects.filter(user=captain).delete()
    assert refused(send, phase, member) == ("not_participating", 403)


@pytest.mark.django_db(transaction=True)
def test_a_check_whose_begin_could_not_be_stored_is_left_to_any_worker(
    make_phase: Any, make_participant: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the database's disk is full for a moment: the connection lives, and with it what it holds."""
    phase = make_phase()
    submission = send(phase, make_participant(phase))
    accepted: list[Submission] = []

    def check() -> bool:
        return checks.check_next(sandbox=None, on_accept=accepted.append)  # type: ignore[arg-type]

    def full(*_: Any, **__: Any) -> None:
        raise OperationalError("could not extend file: No space left on device")

    with monkeypatch.context() as now:
        now.setattr(checks, "move", full)
        with pytest.raises(OperationalError):
            check()

    def other_worker() -> None:
        try:
            check()
        finally:
            connections.close_all()

    thread = threading.Thread(target=other_worker)
    thread.start()
    thread.join()
    assert accepted == [submission]
