"""Pages of studies: an item as it is judged, and results in the shape of their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gauntlet.reviews.criteria import CRITERIA, SCALE, Criterion
from gauntlet.reviews.models import Item, Judgement, Rating
from gauntlet.reviews.record import answer, blind_events
from gauntlet.reviews.results import Comparison, JudgeResults
from gauntlet.reviews.selectors import ItemMark, Mark
from gauntlet.web.trajectory_page import EventLine, lines

_SHOWN_EVENTS: Final = 200
_MOST_EVENTS: Final = 2000  # where all are asked for
_TEXT: Final = 8_000  # characters of an answer


@dataclass(frozen=True, kw_only=True)
class Question:
    """A true/false question with the reader's answer to it."""

    number: int
    criterion: Criterion
    answer: bool | None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A point of the scale."""

    value: int
    word: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """What an agent did and said, as far as an expert may see it."""

    events: Sequence[EventLine]
    cut: bool
    answer: str
    data: str


def trajectory(item: Item, *, whole: bool = False) -> Trajectory:
    """The record of an item's episode, blind; its beginning, unless the whole of it is asked for."""
    events, cut = lines(blind_events(item), most=_MOST_EVENTS if whole else _SHOWN_EVENTS)
    said = answer(item)
    data = "" if said is None or said.data is None else json.dumps(said.data, ensure_ascii=False, indent=2)
    return Trajectory(events=events, cut=cut, answer=said.text[:_TEXT] if said else "", data=data[:_TEXT])


def questions(judgement: Judgement | None) -> list[Question]:
    """The six, in their order."""
    given = judgement.answers if judgement else {}
    return [
        Question(number=number, criterion=criterion, answer=given.get(criterion.key))
        for number, criterion in enumerate(CRITERIA, start=1)
    ]


def choices(rating: Rating | None) -> list[Choice]:
    """The scale, lowest first."""
    value = rating.value if rating else None
    return [Choice(value=one, word=word, chosen=one == value) for one, word in SCALE.items()]


def done(standing: Sequence[ItemMark]) -> int:
    """How many items are answered."""
    return sum(one.mark is Mark.DONE for one in standing)


@dataclass(frozen=True, kw_only=True)
class KappaRow:
    """A criterion that both judge and experts answer, with each expert's name beside the comparison."""

    criterion: Criterion
    majority: Comparison
    by_name: Sequence[tuple[str, Comparison]]


def kappa_rows(found: JudgeResults) -> list[KappaRow]:
    """The table of kappas: a row a criterion, a column an expert."""
    names = [one.user.username for one in found.experts]
    return [
        KappaRow(criterion=one.criterion, majority=one.majority, by_name=list(zip(names, one.experts, strict=True)))
        for one in found.criteria
        if one.majority is not None
    ]
