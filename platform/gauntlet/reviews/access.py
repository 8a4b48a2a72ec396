"""Studies are reached only through these; each refusal is a line of its own.

Organizers see results; whoever was invited sees what was drawn and nothing of others' answers. A participant of the
competition sees neither: a study shows others' runs, hidden scenarios and what is expected of an answer.
"""

from __future__ import annotations

from uuid import UUID

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import User
from gauntlet.competitions.access import Person, is_organizer
from gauntlet.competitions.models import Competition, Participation
from gauntlet.reviews.errors import ItemNotFound, ParticipantsMayNotReview, StudyNotFound
from gauntlet.reviews.models import Item, Reviewer, Study
from gauntlet.submissions.models import Submission


def takes_part(user: User, competition: Competition) -> bool:
    """Whether somebody takes part in a competition, has asked to, or has ever submitted; organizers never count."""
    if is_organizer(user, competition):
        return False
    if Participation.objects.filter(competition=competition, user=user).exists():
        return True
    return Submission.objects.filter(phase__competition=competition, participant=user).exists()


def access_study_as_organizer(user: Person, study_id: UUID, *, slug: str | None = None) -> Study:
    """A study of a competition that the user organizes; of the competition at ``slug``, where one is given.

    Raises:
        NotSignedIn, StudyNotFound
    """
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    study = Study.objects.filter(pk=study_id).select_related("phase__competition").first()
    if study is None or (slug is not None and study.phase.competition.slug != slug):
        raise StudyNotFound.any_more()
    if not is_organizer(user, study.phase.competition):
        raise StudyNotFound.any_more()
    return study


def access_study_as_reviewer(user: Person, study_id: UUID) -> Reviewer:
    """The user's invitation to a study, which comes with it.

    Raises:
        NotSignedIn, StudyNotFound, ParticipantsMayNotReview
    """
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    reviewer = (
        Reviewer.objects.filter(study=study_id, user=user).select_related("study__phase__competition", "user").first()
    )
    if reviewer is None:
        raise StudyNotFound.any_more()
    if takes_part(user, reviewer.study.phase.competition):
        raise ParticipantsMayNotReview(
            "You take part in this competition, and its participants may not review it. "
            "Tell the organizer: what you have answered so far is kept."
        )
    return reviewer


def access_item(study: Study, number: int) -> Item:
    """An item of a study that was already accessed.

    Raises:
        ItemNotFound
    """
    item = study.items.filter(number=number).select_related("scenario", "episode__trajectory").first()
    if item is None:
        raise ItemNotFound("The study has no such number.")
    return item
