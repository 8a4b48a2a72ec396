"""Draws machines, periods and wordings from a seeded generator, and says periods as people say them."""

from __future__ import annotations

import calendar
import random
from dataclasses import dataclass, field
from datetime import date, timedelta

from quickstart_generator.oracle import Days, PlantOracle
from quickstart_generator.plant import Machine, Plant
from quickstart_generator.question import Call


@dataclass(frozen=True)
class Period:
    """Days, and how they are said after "in", "of" or "for"."""

    days: Days
    said: str


@dataclass
class Picker:
    """What a template draws from."""

    plant: Plant
    oracle: PlantOracle
    rng: random.Random
    asked: set[str] = field(default_factory=set)

    def machine(self) -> Machine:
        """Some machine of the plant."""
        return self.rng.choice(self.plant.machines)

    def machines(self, count: int) -> list[Machine]:
        """Some different machines."""
        return self.rng.sample(self.plant.machines, count)

    def stranger(self) -> Machine:
        """A machine that the plant does not have, named like those that it has."""
        taken = {one.name for one in self.plant.machines}
        free = [number for number in range(1, 30) if f"Chiller {number}" not in taken]
        number = self.rng.choice(free)
        series = self.plant.machines[0].id[:5]
        return Machine(f"{series}{number:03d}", f"Chiller {number}")

    def call_it(self, machine: Machine) -> str:
        """The machine as somebody writes it."""
        name = machine.name
        return self.rng.choice((machine.id, machine.id, name, name, name, name.upper().replace(" ", "")))

    def one_of(self, *wordings: str) -> str:
        """One of several ways to say a thing."""
        return self.rng.choice(wordings)

    def year(self, *, monitored: bool = False) -> Period:
        """A whole year of the record; of its monitored part where asked for."""
        first = (self.plant.monitored_from if monitored else self.plant.begin).year + (0 if monitored else 1)
        return year_of(self.rng.randint(first, self.plant.end.year - 1))

    def month(self, *, monitored: bool = False) -> Period:
        """A whole month of the record."""
        year = self.year(monitored=monitored).days.start.year
        return month_of(year, self.rng.randint(1, 12))

    def first_week(self) -> Period:
        """The first seven days of a month of the monitored record."""
        month = self.month(monitored=True)
        start = month.days.start
        return Period(Days(start, start + timedelta(days=6)), f"the first week of {month.said}")

    def span(self, *, monitored: bool = False) -> Period:
        """Some weeks or months between two days."""
        month = self.month(monitored=monitored)
        start = month.days.start + timedelta(days=self.rng.randrange(28))
        end = start + timedelta(days=self.rng.randint(30, 150))
        return Period(Days(start, end), f"the time from {say_day(start)} to {say_day(end)}")

    def quarter(self, *, monitored: bool = False) -> Period:
        """A quarter of a year of the record."""
        year = self.year(monitored=monitored).days.start.year
        number = self.rng.randint(1, 4)
        start = date(year, 3 * number - 2, 1)
        end = date(year, 3 * number, calendar.monthrange(year, 3 * number)[1])
        return Period(Days(start, end), f"the {('first', 'second', 'third', 'fourth')[number - 1]} quarter of {year}")


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


def look_up(machine: Machine, agent: str = "WOAgent") -> Call:
    """The call with which every solution may begin: which machine is meant."""
    return Call("list_equipment", {"name": machine.name}, f"{snake(machine)}_record", agent=agent)


def snake(machine: Machine) -> str:
    """The machine's name as part of a variable's name."""
    return machine.name.lower().replace(" ", "_")
