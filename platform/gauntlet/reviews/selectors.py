"""Reads of the reviews app: studies with their progress, and where a reviewer stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Competition, Participation
from gauntlet.reviews.errors import StudyNotFound
from gauntlet.reviews.models import ANSWERED, Item, Judgement, Rating, Reviewer, Study, StudyKind, StudyState

#: A reviewer who takes part in the competition by now, and does not organize it.
_SHUT_OUT: Final = Exists(
    Participation.objects.filter(user=OuterRef("user"), competition=OuterRef("study__phase__competition"))
) & ~Exists(
    Competition.objects.filter(
        Q(organizer=OuterRef("user")) | Q(collaborators=OuterRef("user")), pk=OuterRef("study__phase__competition")
    )
)


class Progress(StrEnum):
    """How far a study is, for those who organize it."""

    DRAWN = "drawn"  # nobody was invited
    INVITED = "invited"  # nobody has answered
    ANSWERING = "answering"
    COMPLETE = "complete"  # everybody who was invited has answered everything
    CLOSED = "closed"


class Mark(StrEnum):
    """Where a reviewer stands with an item."""

    EMPTY = "empty"
    BEGUN = "begun"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class StudyLine:
    """A study in a list, with its progress."""

    study: Study
    items: int
    reviewers: int
    begun: int  # answers that were begun, finished ones among them
    done: int

    @property
    def due(self) -> int:
        """How many answers there are when everybody is done."""
        return self.items * self.reviewers

    @property
    def progress(self) -> Progress:
        """How far it is."""
        if self.study.state == StudyState.CLOSED:
            return Progress.CLOSED
        if not self.reviewers:
            return Progress.DRAWN
        if not self.begun:
            return Progress.INVITED
        return Progress.COMPLETE if self.done == self.due else Progress.ANSWERING


@dataclass(frozen=True, kw_only=True)
class ReviewerLine:
    """A reviewer and how much of a study is answered."""

    reviewer: Reviewer
    items: int
    begun: int
    done: int
    takes_part: bool = False  # joined after the invitation: shut out

    @property
    def complete(self) -> bool:
        """Whether everything is answered."""
        return self.done == self.items


@dataclass(frozen=True, kw_only=True)
class ItemMark:
    """An item's number and where the reviewer stands with it."""

    number: int
    mark: Mark


def _count(rows: QuerySet[Any], outer: str) -> Coalesce:
    """How many rows belong to the outer one; a subquery, since joins of several kinds multiply each other."""
    counted = rows.filter(**{outer: OuterRef("pk")}).order_by().values(outer).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def study_lines(competition: Competition) -> list[StudyLine]:
    """The studies of a competition, newest first; one query."""
    return [_study_line(row) for row in _counted(Study.objects.filter(phase__competition=competition))]


def study_line(study: Study) -> StudyLine:
    """A study with its progress.

    Raises:
        StudyNotFound: it was deleted meanwhile
    """
    row = _counted(Study.objects.filter(pk=study.pk)).first()
    if row is None:
        raise StudyNotFound.any_more()
    return _study_line(row)


def _counted(studies: QuerySet[Study]) -> QuerySet[Any]:
    return studies.select_related("phase__competition").annotate(
        item_count=_count(Item.objects.all(), "study"),
        reviewer_count=_count(Reviewer.objects.all(), "study"),
        begun_count=_count(Judgement.objects.all(), "reviewer__study")
        + _count(Rating.objects.all(), "reviewer__study"),
        done_count=_count(Judgement.objects.filter(ANSWERED), "reviewer__study")
        + _count(Rating.objects.filter(value__isnull=False), "reviewer__study"),
    )


def _study_line(row: Any) -> StudyLine:
    return StudyLine(
        study=row, items=row.item_count, reviewers=row.reviewer_count, begun=row.begun_count, done=row.done_count
    )


def invitations_of(user: User) -> list[ReviewerLine]:
    """What somebody was invited to, open studies first, newest first; one query.

    Not those of competitions in which they take part.
    """
    invitations = Reviewer.objects.filter(~_SHUT_OUT, user=user).select_related("study__phase__competition")
    return _reviewer_lines(invitations.order_by(F("study__state").desc(), "-invited_at", "-pk"))


def open_invitations(user: User) -> int:
    """How many open studies wait for somebody who was invited."""
    return Reviewer.objects.filter(~_SHUT_OUT, user=user, study__state=StudyState.OPEN).count()


def reviewer_lines(study: Study) -> list[ReviewerLine]:
    """Who was invited to a study, in the order of invitations; one query."""
    return _reviewer_lines(study.reviewers.select_related("user", "study"))


def _reviewer_lines(reviewers: QuerySet[Reviewer]) -> list[ReviewerLine]:
    rows: QuerySet[Any] = reviewers.annotate(
        item_count=Coalesce(
            Subquery(
                Item.objects.filter(study=OuterRef("study"))
                .order_by()
                .values("study")
                .annotate(n=Count("pk"))
                .values("n"),
                output_field=IntegerField(),
            ),
            0,
        ),
        begun_count=_count(Judgement.objects.all(), "reviewer") + _count(Rating.objects.all(), "reviewer"),
        done_count=_count(Judgement.objects.filter(ANSWERED), "reviewer")
        + _count(Rating.objects.filter(value__isnull=False), "reviewer"),
        shut_out=_SHUT_OUT,
    )
    return [
        ReviewerLine(
            reviewer=row,
            items=row.item_count,
            begun=row.begun_count,
            done=row.done_count,
            takes_part=row.shut_out,
        )
        for row in rows
    ]


def marks(reviewer: Reviewer) -> list[ItemMark]:
    """A reviewer's items, in their order, and where they stand with each; two queries."""
    done = _done(reviewer)
    numbers = reviewer.study.items.order_by("number").values_list("pk", "number")
    return [
        ItemMark(number=number, mark=Mark.EMPTY if pk not in done else Mark.DONE if done[pk] else Mark.BEGUN)
        for pk, number in numbers
    ]


def _done(reviewer: Reviewer) -> dict[int, bool]:
    if reviewer.study.kind == StudyKind.REALISM:
        return {item: value is not None for item, value in reviewer.ratings.values_list("item", "value")}
    return {one.item_id: None not in one.answers.values() for one in reviewer.judgements.all()}


def next_open(standing: Sequence[ItemMark], *, after: int = 0) -> int | None:
    """The number of the next item that is not done, from ``after`` on and then from the beginning; None: all are."""
    left = [one.number for one in standing if one.mark is not Mark.DONE]
    return next((number for number in left if number > after), left[0] if left else None)
