"""Eleven years of work orders: maintenance plans that repeat, faults that follow alerts or age, and late paperwork."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from assetops_data.chance import Chance
from assetops_data.classes import AIR_HANDLER, CHILLER
from assetops_data.codes import BY_CODE, PrimaryCode
from assetops_data.machines import Machine

Row = dict[str, Any]
_SHARE: Final = {CHILLER: 3.0, AIR_HANDLER: 1.8}


@dataclass(frozen=True)
class Cause:
    """An alert that may be answered by a repair, and the codes that its rule points to."""

    at: datetime
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Span:
    """From ``begin`` to ``end``."""

    begin: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.end - self.begin


def work_order_rows(
    machines: Sequence[Machine], span: Span, chance: Chance, *, count: int, causes: Mapping[str, Sequence[Cause]]
) -> list[Row]:
    """``count`` work orders, in the order in which they were reported, numbered in it."""
    rng = chance.stream("work orders")
    ageing, renewed = rng.sample([one.id for one in machines if one.kind.name == CHILLER], 2)
    rows: list[Row] = []
    shares = [_SHARE.get(one.kind.name, 1.0) * rng.uniform(0.7, 1.3) for one in machines]
    for machine, number in zip(machines, _apportion(count, shares), strict=True):
        own = chance.stream(f"work orders {machine.id}")
        corrective = round(number * own.uniform(0.07, 0.30))
        rows += _planned(machine, span, own, number - corrective)
        trend = 3.0 if machine.id == ageing else (0.5 if machine.id == renewed else 1.2)
        rows += _repairs(machine, span, own, corrective, causes.get(machine.id, ()), trend=trend)
    rows.sort(key=lambda row: (row["reported"], row["equipment_id"], row["primary_code"]))
    number = rng.randint(10_000, 90_000)
    for row in rows:
        number += rng.randint(1, 17)
        row["wo_id"] = f"WO{number}"
    return rows


def _apportion(count: int, shares: Sequence[float]) -> list[int]:
    """``count`` split in proportion to the shares, by largest remainder."""
    exact = [count * share / sum(shares) for share in shares]
    parts = [int(one) for one in exact]
    by_remainder = sorted(range(len(parts)), key=lambda place: (parts[place] - exact[place], place))
    for place in by_remainder[: count - sum(parts)]:
        parts[place] += 1
    return parts


def _planned(machine: Machine, span: Span, rng: random.Random, count: int) -> list[Row]:
    """Work of the maintenance plan: each code at its own interval, seldom on the very day."""
    codes = [BY_CODE[code] for code in machine.kind.planned]
    rows: list[Row] = []
    for code, number in zip(codes, _apportion(count, [code.weight for code in codes]), strict=True):
        for place in range(number):
            due = span.begin + span.length * ((place + rng.uniform(0.25, 0.75)) / number)
            rows.append(_order(machine, code, _working_hour(due, rng), rng, span.end))
    return rows


def _repairs(
    machine: Machine, span: Span, rng: random.Random, count: int, causes: Sequence[Cause], *, trend: float
) -> list[Row]:
    """Repairs: up to a quarter answer an alert within two weeks, others come more often with age (``trend`` > 1)."""
    codes = [BY_CODE[code] for code in machine.kind.codes]
    weights = [code.weight for code in codes]
    rows: list[Row] = []
    answered = rng.sample(causes, min(len(causes), count // 4)) if causes else []
    for cause in answered:
        at = cause.at + timedelta(days=rng.uniform(0.5, 14))
        if at < span.end:
            rows.append(_order(machine, BY_CODE[rng.choice(cause.codes)], _working_hour(at, rng), rng, span.end))
    while len(rows) < count:
        at = span.begin + span.length * rng.random() ** (1 / trend)
        rows.append(_order(machine, rng.choices(codes, weights)[0], at, rng, span.end))
    return rows


def _working_hour(at: datetime, rng: random.Random) -> datetime:
    at = at.replace(hour=rng.randint(6, 16), minute=rng.choice((0, 0, 15, 30, 45)), second=0, microsecond=0)
    return at + timedelta(days=max(0, at.weekday() - 4)) if at.weekday() > 4 and rng.random() < 0.9 else at


def _order(machine: Machine, code: PrimaryCode, started: datetime, rng: random.Random, end: datetime) -> Row:
    started = min(started, end - timedelta(hours=12)).replace(second=0, microsecond=0)
    hours = rng.choice((0.5, 1.0, 1.5, 2.0, 3.0)) * (1 if code.preventive else rng.choice((1, 2, 3)))
    finished = started + timedelta(hours=hours)
    place = rng.randrange(len(code.details))
    return {
        "equipment_id": machine.id,
        "equipment_name": spelling(machine.name, rng),
        "description": f"{code.description} on {machine.name}: {code.details[place]}",
        "primary_code": code.code,
        "primary_code_description": code.description,
        "secondary_code": f"{code.code}{'abcd'[place]}",
        "component": "" if rng.random() < 0.02 else code.component,
        "preventive": code.preventive,
        "priority": rng.choice((4, 5)) if code.preventive else rng.choice((1, 2, 2, 3, 3)),
        "reported": min(_reported(code, started, finished, rng), end),
        "started": None if rng.random() < 0.015 else started,
        "finished": None if rng.random() < 0.01 else finished,
        "labor_hours": None if rng.random() < 0.03 else hours,
    }


def _reported(code: PrimaryCode, started: datetime, finished: datetime, rng: random.Random) -> datetime:
    """When the order was written: before the work; for one in twenty days to weeks after it."""
    if rng.random() < 0.05:
        return finished + timedelta(days=rng.randint(5, 60), minutes=rng.randrange(600))
    before = timedelta(days=rng.randint(1, 10)) if code.preventive else timedelta(minutes=rng.randint(10, 2880))
    return started - before


def spelling(name: str, rng: random.Random) -> str:
    """One of the ways in which people write a machine's name."""
    if rng.random() < 0.85:
        return name
    return rng.choice((name.upper().replace(" ", ""), name.lower(), name.upper(), name.replace(" ", "-")))
