"""Who may see a study, who may answer, and until when."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import Event
from gauntlet.competitions.models import Participation
from gauntlet.reviews import services
from gauntlet.reviews.access import access_item, access_study_as_organizer, access_study_as_reviewer
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.errors import (
    CannotInvite,
    HasAnswered,
    ItemNotFound,
    ParticipantsMayNotReview,
    StudyClosed,
    StudyNotFound,
)
from gauntlet.reviews.models import Judgement, Rating, StudyState
from gauntlet.reviews.selectors import Progress, invitations_of, marks, next_open, open_invitations, study_line

ALL_YES = dict.fromkeys(KEYS, True)


def join(user, competition):
    from django.utils import timezone

    Participation.objects.create(competition=competition, user=user, state="approved", terms_accepted_at=timezone.now())


def test_everybody_or_nobody_is_invited(study, organizer, make_user, make_submission):
    expert, participant, pending = make_user("expert"), make_user("participant"), make_user("pending")
    make_submission(study.phase, participant)
    join(pending, study.phase.competition)
    for name, why in (("nobody-here", "no account"), ("participant", "takes part"), ("pending", "takes part")):
        with pytest.raises(CannotInvite, match=why) as refused:
            services.invite(study, names=["expert", name], actor=organizer)
        assert "Nobody was invited" in refused.value.message
    assert not study.reviewers.exists()
    made = services.invite(study, names=["expert", " expert ", ""], actor=organizer)
    assert [one.user for one in made] == [expert]
    assert services.invite(study, names=["expert"], actor=organizer) == []
    assert Event.objects.filter(name="study.invited").count() == 1
    with pytest.raises(CannotInvite, match="at least one"):
        services.invite(study, names=["  "], actor=organizer)


def test_who_is_switched_off_cannot_be_invited(study, organizer, make_user):
    make_user("gone", is_active=False)
    with pytest.raises(CannotInvite, match="no account"):
        services.invite(study, names=["gone"], actor=organizer)


def test_only_who_was_invited_gets_in(study, organizer, make_user, ask):
    reviewer = ask(study)
    assert access_study_as_reviewer(reviewer.user, study.pk) == reviewer
    for stranger in (make_user(), organizer):  # an organizer sees results, and the form only when invited
        with pytest.raises(StudyNotFound):
            access_study_as_reviewer(stranger, study.pk)
    with pytest.raises(NotSignedIn):
        access_study_as_reviewer(AnonymousUser(), study.pk)
    with pytest.raises(ItemNotFound):
        access_item(study, 7)


def test_only_organizers_see_results(study, organizer, make_user, ask, make_submission, make_phase):
    collaborator = make_user()
    study.phase.competition.collaborators.add(collaborator)
    for person in (organizer, collaborator, make_user(is_superuser=True)):
        assert access_study_as_organizer(person, study.pk) == study
    others = make_phase().competition
    for person in (ask(study).user, make_submission(study.phase).participant, others.organizer, make_user()):
        with pytest.raises(StudyNotFound):
            access_study_as_organizer(person, study.pk)
    with pytest.raises(StudyNotFound):
        access_study_as_organizer(organizer, study.pk, slug=others.slug)
    with pytest.raises(NotSignedIn):
        access_study_as_organizer(AnonymousUser(), study.pk)


def test_who_joins_the_competition_later_is_shut_out_and_the_organizer_is_told(study, ask):
    from gauntlet.reviews.selectors import reviewer_lines

    reviewer = ask(study)
    assert (open_invitations(reviewer.user), len(invitations_of(reviewer.user))) == (1, 1)
    join(reviewer.user, study.phase.competition)
    with pytest.raises(ParticipantsMayNotReview):
        access_study_as_reviewer(reviewer.user, study.pk)
    assert (open_invitations(reviewer.user), invitations_of(reviewer.user)) == (0, [])
    assert [one.takes_part for one in reviewer_lines(study)] == [True]


def test_an_organizer_who_tries_agents_may_review_when_invited(study, organizer, ask, make_submission):
    make_submission(study.phase, organizer)
    reviewer = ask(study, organizer)
    assert access_study_as_reviewer(organizer, study.pk) == reviewer
    assert open_invitations(organizer) == 1


def test_answers_can_be_left_half_and_corrected_until_the_study_closes(study, organizer, ask):
    reviewer = ask(study)
    first = study.items.get(number=1)
    services.save_judgement(reviewer, first, answers={KEYS[0]: True}, comment=" half\0 ")
    assert [one.mark for one in marks(reviewer)][:2] == ["begun", "empty"]
    assert next_open(marks(reviewer)) == 1
    services.save_judgement(reviewer, first, answers={**ALL_YES, KEYS[1]: False}, comment="whole")
    judgement = Judgement.objects.get()
    assert (judgement.answers[KEYS[1]], judgement.comment) == (False, "whole")
    assert next_open(marks(reviewer)) == 2
    assert next_open(marks(reviewer), after=6) == 2
    services.close(study, actor=organizer)
    with pytest.raises(StudyClosed):
        services.save_judgement(reviewer, first, answers=ALL_YES, comment="late")
    with pytest.raises(StudyClosed):
        services.save_background(reviewer, role="engineer", years=3, familiarity="some")
    assert Judgement.objects.get().comment == "whole"
    services.close(study, actor=organizer)
    services.reopen(study, actor=organizer)
    services.save_judgement(reviewer, first, answers=ALL_YES, comment="again")
    assert Judgement.objects.get().comment == "again"
    moves = Event.objects.filter(subject_id=study.pk, name__in=["study.closed", "study.open"])
    assert list(moves.values_list("name", flat=True)) == ["study.closed", "study.open"]


def test_a_study_goes_from_drawn_to_complete_and_closed(study, organizer, ask):
    assert study_line(study).progress is Progress.DRAWN
    reviewers = [ask(study), ask(study)]
    assert study_line(study).progress is Progress.INVITED
    items = list(study.items.all())
    services.save_judgement(reviewers[0], items[0], answers={KEYS[0]: True}, comment="")
    line = study_line(study)
    assert (line.progress, line.begun, line.done, line.due) == (Progress.ANSWERING, 1, 0, 12)
    for reviewer in reviewers:
        for item in items:
            services.save_judgement(reviewer, item, answers=ALL_YES, comment="")
    assert study_line(study).progress is Progress.COMPLETE
    assert next_open(marks(reviewers[0])) is None
    services.close(study, actor=organizer)
    assert study_line(study).progress is Progress.CLOSED


def test_an_invitation_is_taken_back_before_an_answer_and_not_after(study, organizer, ask):
    reviewer, other = ask(study), ask(study)
    services.save_judgement(reviewer, study.items.get(number=1), answers={}, comment="a word")
    with pytest.raises(HasAnswered):
        services.withdraw(study, reviewer_id=reviewer.pk, actor=organizer)
    assert services.withdraw(study, reviewer_id=other.pk, actor=organizer) == other.user.username
    assert services.withdraw(study, reviewer_id=other.pk, actor=organizer) == ""
    assert list(study.reviewers.all()) == [reviewer]


def test_the_database_takes_nothing_that_is_off_the_scale(survey, ask):
    reviewer = ask(survey)
    item = survey.items.get(number=1)
    services.save_rating(reviewer, item, value=None, comment="I do not know this equipment.")
    assert marks(reviewer)[0].mark == "begun"
    for fields in ({"value": 4}, {"value": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Rating.objects.update(**fields)
    with pytest.raises(IntegrityError), transaction.atomic():
        type(survey).objects.update(state="halfway")
    with pytest.raises(IntegrityError), transaction.atomic():
        type(reviewer).objects.update(years=81)
    assert survey.state == StudyState.OPEN
