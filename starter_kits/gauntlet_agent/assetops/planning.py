"""What a plan is made of, and the parts of a question that a plan's sentences use.

Every step is an instruction in plain language for one agent, with the earlier steps that it needs, so that the same
plan can be declared, reviewed, executed by rules and executed by a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from gauntlet_agent.assetops.reading import Reading, plain

_GROUPS: Final = {"WORK_ORDER": "work orders", "ALERT": "alerts", "ANOMALY": "anomalies"}


@dataclass(frozen=True)
class Step:
    """One step of a plan (A26 of the requirements).

    Attributes:
        depends_on: 0-based positions of the steps whose results it needs
        expected: what it should hand over
    """

    agent: str
    task: str
    depends_on: tuple[int, ...] = ()
    expected: str = ""

    def as_plan(self) -> dict[str, Any]:
        """The step as the gateway takes it."""
        return {"agent": self.agent, "instruction": self.task, "depends_on": list(self.depends_on)}


@dataclass(frozen=True)
class Phrases:
    """A question's parts as a plan's sentences use them."""

    reading: Reading

    @cached_property
    def machines(self) -> list[str]:
        """The machines, as people write names: Chiller 6, not CHILLER6."""
        names = [_tidy(name) for name in self.reading.assets]
        return list({plain(name): name for name in names}.values())

    @property
    def machine(self) -> str:
        """The first machine."""
        return self.machines[0] if self.machines else "the equipment"

    @cached_property
    def times(self) -> list[str]:
        """The periods in the question's own words."""
        found = [self.reading.timed[slice(*one.place)] for one in self.reading.periods]
        return [f"the {one}" if one.casefold().startswith("week") else one for one in found] or self._relative

    @property
    def time(self) -> str:
        """The periods together; where none is named, the time before the present day, or the whole record."""
        now = self.reading.now
        return " and ".join(self.times) or (f"the time before {now.isoformat()}" if now else "the whole record")

    @property
    def span(self) -> str:
        """The longest period that is named."""
        periods = self.reading.periods
        if not periods:
            return self.time
        return self.times[max(range(len(periods)), key=lambda place: periods[place].end - periods[place].start)]

    @property
    def subject(self) -> str:
        """What a question about failure modes is about: a machine, or a kind of machines."""
        if self.machines:
            return self.machine
        return self.found(
            (
                r"\basset ([A-Z][\w ]+?)(?: are\b|\.|\?|,|$)",
                r"\bways can an? ([\w ]+?) fail",
                r"\bholds? for (?:an? |the )?([\w ]+?)(?:\.|\?|$)",
                f"={self.reading.asset_class or 'the asset'}",
            )
        )

    def found(self, patterns: Sequence[str]) -> str:
        """What the first pattern that matches finds in the text, as it is written there; "=..." is taken as it is."""
        for pattern in patterns:
            if pattern.startswith("="):
                return pattern[1:]
            match = re.search(pattern, self.reading.text, re.IGNORECASE)
            if match:
                return match[1].strip(" .,?")
        return self.reading.asset_class or "that is asked for"

    def words(self) -> dict[str, str]:
        """All of these parts by the names that a recipe's sentences use."""
        reading = self.reading
        first, second = (*self.times, self.time, self.time)[:2]
        quoted = [name for name in reading.quoted if "." not in name and name != "timestamp"]
        what = _quantity(reading) or "readings"
        return {
            "machine": self.machine,
            "machines": ", ".join(self.machines),
            "site": reading.site or "the site",
            "time": self.time,
            "time1": first,
            "time2": second,
            "span": self.span,
            "what": what,
            "orders": f"{reading.kind} work orders" if reading.kind else "work orders",
            "groups": " and ".join(_GROUPS[group] for group in reading.groups or _GROUPS),
            "group": _GROUPS[next(iter(reading.groups), "ALERT")],
            "subject": self.subject,
            "file": next(iter(reading.files), "the file"),
            "column": next(iter(quoted), what),
        }

    @property
    def _relative(self) -> list[str]:
        found = re.search(r"\b(?:last|previous) (?:week|month|year)\b|\bthe month before last\b", self.reading.words)
        return [found[0]] if found else []


_NOUNS: Final = frozenset({"fan", "pump", "air", "heat", "water", "tower"})
_QUANTITY: Final = re.compile(
    r"(?:average|mean|readings? of the|data of the|how high did the|last (?:month|week)'s|what was the|tell me the|"
    r"predict the|forecast the|forecast for the|anomal\w+ (?:in|of) the|values? of the|its|the)\s+"
    r"((?:(?!\b(?:the|of|average|mean)\b)[\w%'-]+\s+){1,8}?)(?:of|that|from|for|get|was|on|in|to)\b",
    re.IGNORECASE,
)
_UNITS: Final = re.compile(
    r"\b(?:temperatures?|power|energy|tonnage|output|load(?:ed)?|flow|efficiency|status|pressure|humidity|speed|position|"
    r"setpoint|valve|level|vibration|voltage|current|damper|consumption|schedule|performance|count|emission|purity)\b|%",
    re.IGNORECASE,
)


def _quantity(reading: Reading) -> str | None:
    for match in _QUANTITY.finditer(reading.text):
        words = " ".join(match[1].split())
        if _UNITS.search(words):
            return words
    return None


def _tidy(name: str) -> str:
    if re.fullmatch(r"[A-Z]{2,4}\d{4,}", name):
        return name
    parts = re.fullmatch(r"(.*?)[\s_#-]*(\d+[A-Za-z]?)", name.strip())
    if parts is None:
        return name
    spaced = re.sub(r"(?i)(chilled|water|cooling|heat|exhaust|air|diesel)(?=[a-z])", r"\1 ", parts[1].replace("_", " "))
    return f"{' '.join(_written(word) for word in spaced.split())} {parts[2]}"


def _written(word: str) -> str:
    """A word of a name: a building's short name stays in capitals, as AHU does."""
    if word.casefold() == "ahu":
        return "AHU"
    return word if word.isupper() and word.casefold() not in _NOUNS and len(word) < 6 else word.capitalize()
