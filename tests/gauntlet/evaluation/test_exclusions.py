"""An organizer takes a submission off the boards: the next one stands, nothing is lost, and it can come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.errors import NotOrganizer
from gauntlet.competitions.models import Phase
from gauntlet.evaluation.errors import ReasonMissing
from gauntlet.evaluation.exclusions import exclude_submission, readmit_submission
from gauntlet.evaluation.models import Score
from gauntlet.evaluation.scores import record_again
from gauntlet.leaderboards.models import ColumnValue, Entry, Exclusion
from gauntlet.submissions.quotas import allowance

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def organizer(phase: Phase) -> User:
    return phase.competition.organizer


@pytest.fixture
def ada(make_user: Callable[..., User]) -> User:
    return make_user("ada")


def standing() -> dict[str, float | None]:
    return {one.participant.username: one.primary_value for one in Entry.objects.all()}


@pytest.mark.parametrize("rule", ["best", "latest"])
def test_the_next_one_stands_in_its_place_and_it_can_come_back(
    phase: Phase, organizer: User, ada: User, make_user: Callable[..., User], scored: Any, rule: str
) -> None:
    phase.competition.leaderboards.update(submission_rule=rule)
    scored(ada, 0.4)
    cheat = scored(ada, 0.9)
    scored(make_user("bob"), 0.5)
    assert standing() == {"ada": 0.9, "bob": 0.5}
    exclude_submission(cheat, reason=" It reads the answers. ", actor=organizer)
    assert standing() == {"ada": 0.4, "bob": 0.5}
    assert Exclusion.objects.get().reason == "It reads the answers."
    assert ColumnValue.objects.filter(submission=cheat).exists()
    assert readmit_submission(cheat, actor=organizer)
    assert standing() == {"ada": 0.9, "bob": 0.5}
    assert not readmit_submission(cheat, actor=organizer)
    names = list(Event.objects.filter(subject_id=str(cheat.pk)).order_by("pk").values_list("name", flat=True))
    assert names == ["submission.excluded", "submission.readmitted"]


def test_whoever_has_no_other_leaves_the_board_and_no_quota_comes_back(
    phase: Phase, organizer: User, ada: User, scored: Any
) -> None:
    cheat = scored(ada, 0.9)
    left = allowance(phase=phase, participant=ada).left_today
    exclude_submission(cheat, reason="It reads the answers.", actor=organizer)
    assert standing() == {}
    assert allowance(phase=phase, participant=ada).left_today == left


def test_neither_a_new_result_nor_a_board_that_is_computed_anew_brings_it_back(
    phase: Phase, organizer: User, ada: User, scored: Any
) -> None:
    cheat = scored(ada, 0.9)
    exclude_submission(cheat, reason="It reads the answers.", actor=organizer)
    Score.objects.update(value=0.95)
    assert record_again(cheat)
    call_command("recompute_boards")
    assert standing() == {}
    assert ColumnValue.objects.get(submission=cheat, column__key="score").value == 0.95
    scored(ada, 0.3)
    assert standing() == {"ada": 0.3}


def test_it_takes_a_reason_and_an_organizer(organizer: User, ada: User, make_user: Any, scored: Any) -> None:
    cheat = scored(ada, 0.9)
    with pytest.raises(ReasonMissing):
        exclude_submission(cheat, reason=" \n", actor=organizer)
    for somebody in (ada, make_user()):
        with pytest.raises(NotOrganizer):
            exclude_submission(cheat, reason="Mine.", actor=somebody)
        with pytest.raises(NotOrganizer):
            readmit_submission(cheat, actor=somebody)
    assert standing() == {"ada": 0.9}


def test_page_and_api_do_it_and_its_owner_reads_why(organizer: User, ada: User, scored: Any) -> None:
    cheat = scored(ada, 0.9)
    judge, owner = Client(), Client()
    judge.force_login(organizer)
    owner.force_login(ada)
    page, api = f"/submissions/{cheat.pk}/", f"/api/v1/submissions/{cheat.pk}/exclusion"
    assert "Take this submission off" not in owner.get(page).content.decode()
    assert "Take this submission off" in judge.get(page).content.decode()
    for address in (f"{page}exclusion", api):
        assert owner.post(address, {"reason": "Mine."}).status_code == 404
    assert "Say why" in judge.post(f"{page}exclusion", {"reason": ""}, follow=True).content.decode()
    judge.post(f"{page}exclusion", {"reason": "It reads the <answers>."}, follow=True)
    assert standing() == {}
    told = owner.get(page).content.decode()
    assert "It reads the &lt;answers&gt;." in told
    assert "Let it back" not in told
    assert owner.get(f"/api/v1/submissions/{cheat.pk}").json()["excluded"] == "It reads the <answers>."
    judge.post(f"{page}exclusion", {"act": "readmit"})
    assert standing() == {"ada": 0.9}
    assert judge.post(api, {"reason": "Again."}).status_code == 204
    assert standing() == {}
    assert judge.post(api, {}).status_code == 400
    assert judge.delete(api).status_code == 204
    assert standing() == {"ada": 0.9}
