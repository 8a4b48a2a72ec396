"""An invitation or a study that is taken away while somebody answers: they are told so, and nothing is kept."""

from __future__ import annotations

import pytest

from gauntlet.reviews import services
from gauntlet.reviews.errors import StudyNotFound
from gauntlet.reviews.models import Judgement, Rating, Reviewer

pytestmark = pytest.mark.django_db(transaction=True)


def judge(reviewer):
    services.save_judgement(reviewer, reviewer.study.items.get(number=1), answers={}, comment="a word")


def rate(reviewer):
    services.save_rating(reviewer, reviewer.study.items.get(number=1), value=2, comment="")


def introduce(reviewer):
    services.save_background(reviewer, role="engineer", years=3, familiarity="some")


@pytest.mark.parametrize(("kind", "act"), [("study", judge), ("survey", rate), ("survey", introduce)])
def test_whose_invitation_has_just_been_taken_back_finds_no_study(kind, act, request, organizer, ask, overlapping):
    reviewer = ask(request.getfixturevalue(kind))
    told = overlapping(
        lambda: services.withdraw(reviewer.study, reviewer_id=reviewer.pk, actor=organizer), lambda: act(reviewer)
    )
    assert isinstance(told, StudyNotFound)
    assert not any(model.objects.exists() for model in (Reviewer, Judgement, Rating))


@pytest.mark.parametrize(
    "act",
    [
        introduce,
        lambda reviewer: services.invite(reviewer.study, names=["bob"], actor=reviewer.user),
        lambda reviewer: services.withdraw(reviewer.study, reviewer_id=reviewer.pk, actor=reviewer.user),
        lambda reviewer: services.close(reviewer.study, actor=reviewer.user),
        lambda reviewer: services.reopen(reviewer.study, actor=reviewer.user),
    ],
    ids=["answer", "invite", "withdraw", "close", "reopen"],
)
def test_a_study_that_has_just_been_deleted_is_not_found(act, survey, ask, make_user, overlapping):
    make_user("bob")
    reviewer = ask(survey)
    told = overlapping(type(survey).objects.get(pk=survey.pk).delete, lambda: act(reviewer))
    assert isinstance(told, StudyNotFound)
