"""Which questions a set has, and how they are drawn until there are enough different ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assetops_scenarios import (
    care_questions as care,
)
from assetops_scenarios import (
    event_questions as events,
)
from assetops_scenarios import (
    fmsr_questions as fmsr,
)
from assetops_scenarios import (
    forecast_questions as forecasts,
)
from assetops_scenarios import (
    iot_questions as iot,
)
from assetops_scenarios import (
    joint_questions as joint,
)
from assetops_scenarios import (
    model_questions as models,
)
from assetops_scenarios import (
    twin_questions as twins,
)
from assetops_scenarios import (
    work_questions as work,
)
from assetops_scenarios.picking import Picker
from assetops_scenarios.question import Question
from assetops_scenarios.records import plain

_TRIES: Final = 100
Draw = Callable[[Picker], Question | tuple[Question, Question] | None]

SEVERAL: Final = "multiagent"
SIZES: Final = {"IoT": 20, "FMSR": 20, "TSFM": 23, "WO": 36, SEVERAL: 42}
"""The public set: 99 questions for one agent and 42 for several."""

# How many of each kind the whole set has, by type. A pair of twins counts two.
MIX: Final[Mapping[str, Sequence[tuple[Draw, int]]]] = {
    "IoT": (
        (iot.sites, 1),
        (iot.assets_of_class, 1),
        (iot.asset_count, 1),
        (iot.asset_details, 2),
        (iot.recorded_sensors, 1),
        (iot.silent_sensors, 1),
        (iot.row_count, 2),
        (iot.reading_at, 2),
        (iot.daily_mean, 1),
        (iot.last_month_peak, 1),
        (iot.warmer_machine, 1),
        (iot.off_share, 1),
        (iot.longest_gap, 1),
        (twins.sensor_not_recorded, 1),
        (twins.sensor_gap, 1),
    ),
    "FMSR": (
        (fmsr.modes_of_class, 2),
        (fmsr.modes_of_asset, 2),
        (fmsr.modes_by_sensor, 3),
        (fmsr.sensors_by_mode, 3),
        (fmsr.modes_by_kind, 2),
        (fmsr.best_sensor, 2),
        (fmsr.recipe, 2),
        (fmsr.hardest_mode, 2),
        (twins.foreign_asset, 1),
    ),
    "TSFM": models.MIX,
    "WO": (
        (work.count, 1),
        (work.by_kind, 1),
        (work.split, 1),
        (work.distribution, 1),
        (work.top_code, 1),
        (work.busiest_month, 1),
        (work.last_month, 1),
        (work.rank, 1),
        (work.code_meaning, 1),
        (events.summary, 2),
        (events.days_with_events, 2),
        (events.date_range, 1),
        (events.compare_months, 1),
        (events.top_rule, 1),
        (events.top_indicator, 1),
        (events.recent_alerts, 1),
        (care.bundles, 1),
        (care.next_job, 1),
        (care.work_for_indicator, 1),
        (care.work_for_rule, 1),
        (care.recommend_or_wait, 1),
        (care.review, 1),
        (care.repair_or_replace, 1),
        (care.lead_time, 1),
        (care.clusters, 1),
        (care.steepest_rule, 1),
        (care.top_descriptions, 1),
        (care.yearly_outlook, 1),
        (twins.unknown_equipment, 1),
        (twins.outside_record, 1),
        (twins.future, 1),
    ),
    SEVERAL: (
        (fmsr.monitorable, 2),
        (fmsr.blind_spots, 2),
        (fmsr.sensors_to_use, 3),
        (joint.reading_on_alert_day, 3),
        (joint.before_and_after_repair, 2),
        (joint.modes_and_repairs, 2),
        (joint.watch_and_repair, 2),
        (joint.idle_and_alerts, 2),
        (joint.yearly_repairs_and_sensors, 2),
        *forecasts.MIX,
    ),
}


class NotEnough(Exception):
    """The records do not give enough different questions of a type."""


@dataclass(frozen=True)
class Asked:
    """A question of the set under its key; ``twin`` is the key of the near twin."""

    key: str
    question: Question
    twin: str | None


def draw_set(picker: Picker, *, size: int | None, prefix: str) -> list[Asked]:
    """Draw a set and put it into an order that says nothing about the kinds of its questions.

    Args:
        picker: what to draw from
        size: how many questions, in the proportions of the whole set; None for the whole set
        prefix: begins every key

    Raises:
        NotEnough: there are no further different questions of a type.
    """
    groups: list[Sequence[Question]] = []
    for name, number in _quotas(size).items():
        groups += _draw_type(picker, MIX[name], number)
    flat = [(group, position) for group in groups for position in range(len(group))]
    picker.rng.shuffle(flat)
    keys = {id(group[position]): f"{prefix}-{number:03d}" for number, (group, position) in enumerate(flat, start=1)}
    return [
        Asked(
            key=keys[id(group[position])],
            question=_with_capabilities(group[position]),
            twin=keys[id(group[1 - position])] if len(group) == 2 else None,
        )
        for group, position in flat
    ]


def _quotas(size: int | None) -> dict[str, int]:
    """How many questions of each type, by largest remainders."""
    whole = sum(SIZES.values())
    if size is None or size >= whole:
        return dict(SIZES)
    exact = {name: size * number / whole for name, number in SIZES.items()}
    quotas = {name: int(number) for name, number in exact.items()}
    for name in sorted(exact, key=lambda one: quotas[one] - exact[one])[: size - sum(quotas.values())]:
        quotas[name] += 1
    return quotas


def _draw_type(picker: Picker, mix: Sequence[tuple[Draw, int]], number: int) -> list[Sequence[Question]]:
    """So many questions of one type: the whole mix, or a part of it with as many different kinds as fit.

    A kind of which the records give no further question (no week of standstill, say) is replaced by another one.
    """
    slots = _slots(picker.rng, mix)
    groups: list[Sequence[Question]] = []
    left, failed = number, 0
    while left > 0:
        draw = slots.pop(0) if slots else picker.rng.choice([one for one, _ in mix])
        group = _draw(picker, draw, most=left)
        if group is not None:
            groups.append(group)
            left -= len(group)
            continue
        failed += 1
        if failed > 4 * len(mix):
            raise NotEnough(f"the records give {number - left} different questions of a type, and not {number}")
    return groups


def _slots(rng: random.Random, mix: Sequence[tuple[Draw, int]]) -> list[Draw]:
    """The mix as a list: first each kind once, in a drawn order, then those wanted more often."""
    first = [draw for draw, _ in mix]
    again = [draw for draw, number in mix for _ in range(number - 1)]
    rng.shuffle(first)
    rng.shuffle(again)
    return first + again


def _draw(picker: Picker, draw: Draw, *, most: int) -> Sequence[Question] | None:
    """One question or a pair of twins; None where a pair is too many, or nothing new was found."""
    for _ in range(_TRIES):
        found = draw(picker)
        if found is None:
            continue
        group = found if isinstance(found, tuple) else (found,)
        if len(group) > most:
            return None
        identities = {question.identity for question in group}
        if len(identities) == len(group) and not identities & picker.asked:
            picker.asked |= identities
            return group
    return None


def _with_capabilities(question: Question) -> Question:
    """The question with what it asks of an agent beside knowing the tools (A18)."""
    tools = [call.tool for call in question.calls if call.needed]
    written = plain(question.text)
    found = {
        "temporal": "temporal" in question.capabilities,
        "disambiguation": any(
            one.id not in question.text and one.name not in question.text and plain(one.name) in written
            for one in question.machines
        ),
        "operation_on_output": any(
            str(value).startswith("@") for call in question.calls for value in call.arguments.values()
        ),
        "repeated_tool": len(set(tools)) < len(tools),
    }
    return replace(question, capabilities=tuple(name for name, there in found.items() if there))
