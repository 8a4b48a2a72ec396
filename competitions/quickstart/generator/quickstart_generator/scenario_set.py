"""Which questions a set has, and how they are drawn until there are enough different ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quickstart_generator import event_questions, twin_questions, work_order_questions
from quickstart_generator.oracle import PlantOracle
from quickstart_generator.picking import Picker
from quickstart_generator.plant import Plant
from quickstart_generator.question import Question

_TRIES: Final = 400
Draw = Callable[[Picker], Question | None]
DrawPair = Callable[[Picker], tuple[Question, Question] | None]

SINGLE: Final[Mapping[str, Draw]] = {
    "work_order_count": work_order_questions.count,
    "work_orders_of_kind": work_order_questions.by_kind,
    "preventive_and_corrective": work_order_questions.split,
    "top_failure_code": work_order_questions.top_code,
    "busiest_month": work_order_questions.busiest_month,
    "last_month": work_order_questions.last_month,
    "most_work": work_order_questions.rank,
    "events_by_group_year": event_questions.by_group_year,
    "events_by_group_month": event_questions.by_group_month,
    "events_of_first_week": event_questions.first_week,
    "days_with_events": event_questions.days_with_events,
    "date_range": event_questions.date_range,
    "compare_months": event_questions.compare_months,
    "top_rule": event_questions.top_rule,
    "top_indicator": event_questions.top_indicator,
}
TWINS: Final[Mapping[str, DrawPair]] = {
    "unknown_equipment": twin_questions.unknown_equipment,
    "outside_record": twin_questions.outside_record,
    "future": twin_questions.future,
    "sensor_not_recorded": twin_questions.sensor_not_recorded,
    "sensor_gap": twin_questions.sensor_gap,
}

# How many of each kind. A twin counts two: the question to decline and the one to answer.
PUBLIC: Final = {
    **dict.fromkeys(SINGLE, 1),
    "work_order_count": 0,  # the twin of the unknown equipment is one
    "events_by_group_year": 0,
    "top_indicator": 0,
    "unknown_equipment": 1,
    "outside_record": 1,
    "sensor_not_recorded": 1,
    "sensor_gap": 1,
    "future": 0,
}
HIDDEN: Final = {
    "work_order_count": 2,
    "work_orders_of_kind": 3,
    "preventive_and_corrective": 3,
    "top_failure_code": 3,
    "busiest_month": 2,
    "last_month": 2,
    "most_work": 2,
    "events_by_group_year": 2,
    "events_by_group_month": 3,
    "events_of_first_week": 3,
    "days_with_events": 4,
    "date_range": 2,
    "compare_months": 3,
    "top_rule": 1,
    "top_indicator": 1,
    "unknown_equipment": 3,
    "outside_record": 3,
    "future": 1,
    "sensor_not_recorded": 3,
    "sensor_gap": 2,
}


class NotEnough(Exception):
    """The plant does not give enough different questions of a kind."""


@dataclass(frozen=True)
class Asked:
    """A question of the set under its key; ``twin`` is the key of the near twin."""

    key: str
    question: Question
    twin: str | None


def draw_set(
    plant: Plant, oracle: PlantOracle, *, rng: random.Random, wanted: Mapping[str, int], prefix: str
) -> list[Asked]:
    """Draw the wanted questions and put them into an order that says nothing about their kind.

    Raises:
        NotEnough: no further different question of a kind was found.
    """
    picker = Picker(plant, oracle, rng)
    groups: list[Sequence[Question]] = []
    for name, number in wanted.items():
        for _ in range(number):
            groups.append(_draw(picker, name))
    flat = [(group, position) for group in groups for position in range(len(group))]
    rng.shuffle(flat)
    keys = {id(group[position]): f"{prefix}-{number:03d}" for number, (group, position) in enumerate(flat, start=1)}
    return [
        Asked(
            key=keys[id(group[position])],
            question=group[position],
            twin=keys[id(group[1 - position])] if len(group) == 2 else None,
        )
        for group, position in flat
    ]


def _draw(picker: Picker, name: str) -> Sequence[Question]:
    for _ in range(_TRIES):
        found: Sequence[Question] | None
        if name in TWINS:
            found = TWINS[name](picker)
        else:
            single = SINGLE[name](picker)
            found = None if single is None else (single,)
        if found is None:
            continue
        identities = {question.identity for question in found}
        if len(identities) == len(found) and not identities & picker.asked:
            picker.asked |= identities
            return found
    raise NotEnough(f"no further {name!r} question after {_TRIES} tries")
