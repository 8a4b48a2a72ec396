"""Draws machines, periods and wordings from a seeded generator, and says things as the people of a site say them."""

from __future__ import annotations

import calendar
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, TypeVar

from assetops_data import Injected

from assetops_scenarios.records import Days, Machine, Records
from assetops_scenarios.sensor_oracle import FailureOracle, SensorOracle
from assetops_scenarios.work_oracle import WorkOracle

T = TypeVar("T")

# What operators call a sensor; the longest name that a sensor ends with decides. Others go by their own name.
SENSOR_WORDS: Final = {
    "condenser water supply temperature": (
        "temperature of the condenser water coming in",
        "incoming condenser water temperature",
    ),
    "condenser water return to tower temperature": ("temperature of the condenser water going back to the tower",),
    "condenser water flow": ("condenser water flow", "flow through the condenser"),
    "liquid refrigerant evaporator temperature": ("refrigerant temperature in the evaporator",),
    "setpoint temperature": ("temperature setpoint",),
    "power input": ("power draw", "electrical power"),
    "supply fan power": ("fan power", "power of the supply fan"),
    "tonnage": ("tonnage", "cooling output in tons"),
    "chiller efficiency": ("efficiency",),
    "% loaded": ("load in percent", "percentage of full load"),
    "cooling coil valve position": ("position of the cooling valve",),
    "supply air flow": ("supply air flow", "air flow"),
    "filter differential pressure": ("pressure over the filter",),
    "static pressure": ("static pressure in the duct",),
    "supply air setpoint": ("setpoint of the supply air",),
}


@dataclass(frozen=True)
class Period:
    """Days, and how they are said after "in", "of" or "for"."""

    days: Days
    said: str


@dataclass
class Picker:
    """What a template draws from."""

    records: Records
    rng: random.Random
    injected: tuple[Injected, ...] = ()  # anomalies that stand in no table; unknown for imported records
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.work = WorkOracle(self.records)
        self.sensors = SensorOracle(self.records)
        self.failures = FailureOracle(self.records)

    def one_of(self, *wordings: str) -> str:
        """One of several ways to say a thing."""
        return self.rng.choice(wordings)

    def some(self, things: Sequence[T]) -> T | None:
        """One of the things; None where there are none."""
        return self.rng.choice(things) if things else None

    def call_it(self, machine: Machine) -> str:
        """The machine as somebody writes it."""
        name = machine.name
        return self.rng.choice((machine.id, name, name, name, name.upper().replace(" ", ""), name.lower()))

    def maintained(self) -> Machine:
        """A machine with a long list of work orders."""
        busy = self.work.busy()
        return self.records.machine(self.rng.choice(busy[: max(3, len(busy) * 2 // 3)]))

    def monitored(self) -> Machine:
        """A machine of which alerts were logged."""
        return self.records.machine(self.rng.choice(self.work.watched("ALERT")))

    def measured(self) -> Machine:
        """A machine of which readings are recorded."""
        return self.rng.choice(self.sensors.recorded())

    def powered(self) -> Machine:
        """A machine whose electrical power is recorded."""
        return self.rng.choice([one for one in self.sensors.recorded() if self.sensors.power(one.id)])

    def stranger(self) -> Machine:
        """A machine that the site does not have, named like those that it has."""
        like = self.rng.choice(self.records.machines)
        names = {one.name for one in self.records.machines} | {one.id for one in self.records.machines}
        word = like.name.rstrip("0123456789 ") or like.name
        while True:
            number = self.rng.randint(2, 60)
            name, identifier = f"{word} {number}", f"{like.id[:-3]}{number + 100:03d}"
            if name not in names and identifier not in names:
                return Machine(identifier, name, like.site, like.asset_class)

    def say_sensor(self, sensor: str) -> str:
        """The sensor as an operator calls it."""
        fitting = [words for words in SENSOR_WORDS if sensor.lower().endswith(words)]
        return self.rng.choice(SENSOR_WORDS[max(fitting, key=len)]) if fitting else sensor.lower()

    def say_site(self, machine: Machine) -> str:
        """The machine's site as somebody writes it."""
        return self.one_of(f"the {machine.site} site", f"site {machine.site}", machine.site)

    def year(self, *, monitored: bool = False) -> Period:
        """A whole year of the record; of its monitored part where asked for."""
        first, last = self.work.years()
        if monitored:
            begin, end = self.work.coverage("ALERT")
            first, last = begin.year + (begin > date(begin.year, 1, 1)), end.year - (end < date(end.year, 12, 31))
        return year_of(self.rng.randint(first, max(first, last)))

    def month(self, *, monitored: bool = False) -> Period:
        """A whole month of the record."""
        return month_of(self.year(monitored=monitored).days.start.year, self.rng.randint(1, 12))

    def quarter(self) -> Period:
        """A quarter of a year of the record."""
        year, number = self.year().days.start.year, self.rng.randint(1, 4)
        start = date(year, 3 * number - 2, 1)
        end = date(year, 3 * number, calendar.monthrange(year, 3 * number)[1])
        return Period(Days(start, end), f"the {('first', 'second', 'third', 'fourth')[number - 1]} quarter of {year}")

    def span(self, *, monitored: bool = False) -> Period:
        """Some weeks or months between two days."""
        start = self.month(monitored=monitored).days.start + timedelta(days=self.rng.randrange(28))
        end = start + timedelta(days=self.rng.randint(30, 150))
        return Period(Days(start, end), f"the time from {say_day(start)} to {say_day(end)}")

    def first_week(self) -> Period:
        """The first seven days of a month of the monitored record."""
        month = self.month(monitored=True)
        start = month.days.start
        return Period(Days(start, start + timedelta(days=6)), f"the first week of {month.said}")

    def day_of(self, machine: Machine) -> date:
        """A day of the machine's telemetry, neither its first nor its last."""
        span = self.sensors.span(machine.id)
        return span.start + timedelta(days=self.rng.randint(1, max(1, (span.end - span.start).days - 1)))

    def telemetry_month(self, machine: Machine) -> Period:
        """A whole month of the machine's telemetry; the record itself where it is shorter."""
        span = self.sensors.span(machine.id)
        months = []
        number = span.start.year * 12 + span.start.month - 1
        while number <= span.end.year * 12 + span.end.month - 1:
            one = month_of(number // 12, number % 12 + 1)
            if one.days.start >= span.start and one.days.end <= span.end:
                months.append(one)
            number += 1
        if not months:
            return Period(span, f"the time from {say_day(span.start)} to {say_day(span.end)}")
        return self.rng.choice(months)


def year_of(year: int) -> Period:
    """A calendar year."""
    return Period(Days(date(year, 1, 1), date(year, 12, 31)), str(year))


def month_of(year: int, month: int) -> Period:
    """A calendar month."""
    last = calendar.monthrange(year, month)[1]
    return Period(Days(date(year, month, 1), date(year, month, last)), f"{calendar.month_name[month]} {year}")


def say_day(day: date) -> str:
    """A day as people write it: 3 March 2021."""
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def snake(words: str) -> str:
    """Words as part of a variable's name."""
    return "_".join("".join(letter if letter.isalnum() else " " for letter in words.lower()).split())
