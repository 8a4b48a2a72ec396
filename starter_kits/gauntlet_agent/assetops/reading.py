"""Reads a question or request: which machines, where, when, which sensors, which records. Words and patterns only.

Questions speak as operators do and never name a column (A14 of the requirements), so what is understood here is words;
which identifier, sensor or code they mean is looked up with the tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final

from gauntlet_agent.assetops import periods as dates

_IDENTIFIER: Final = re.compile(r"\b[A-Z]{2,4}\d{4,6}\b")
_NAME: Final = re.compile(  # a building before it ("CQPA AHU 1") is written in capitals
    r"\b(?:[A-Z]{3,6}\s+)?(?i:(?:chilled[\s_-]*water|cooling|heat|exhaust|supply|air|diesel)?[\s_-]*"
    r"(?:chiller|ahu|handler|handling[\s_-]*unit|pump|boiler|tower|fan|compressor|turbine|generator|transformer|"
    r"exchanger))[\s_#-]*\d{1,3}[A-Za-z]?\b"
)
_SITE: Final = re.compile(
    r"\b(?:[Ss]ite|SITE)\s+([A-Z][A-Za-z0-9_-]*)|\b([A-Z][A-Za-z0-9_-]*)(?:'s)?\s+(?:site|facility|plant)\b|\bat\s+([A-Z]{3,}[A-Z0-9]*)\b"
)
_QUOTED: Final = re.compile(r"[\"“‘'`]([^\"”’'`]{3,120})[\"”’'`]")
_NOT_SITES: Final = frozenset({"IoT", "The", "This", "Which", "What", "Any", "Each", "Our", "All"})
#: Words of operators, and the word of a sensor's name that they stand for.
_MEANS: Final = {
    "power": "power input",
    "electrical": "power input",
    "energy": "power input",
    "draw": "input",
    "consumption": "input",
    "incoming": "supply",
    "coming": "supply",
    "leaving": "supply",
    "outgoing": "supply",
    "entering": "return",
    "going": "return",
    "back": "return",
    "tons": "tonnage",
    "output": "tonnage",
    "capacity": "tonnage",
    "load": "loaded %",
    "percent": "%",
    "percentage": "%",
    "performance": "efficiency",
    "humidity": "humidity",
    "refrigerant": "liquid refrigerant",
    "speeds": "speed",
    "flows": "flow",
}
_SMALL: Final = frozenset({"to", "of", "the", "in", "and", "at", "a"})
_ENOUGH: Final = 0.6  # of a sensor's words, where its whole name does not occur
_GROUPS: Final = {"WORK_ORDER": r"work[- ]?orders?|jobs?", "ALERT": r"alerts?|alarms?", "ANOMALY": r"anomal\w+"}
_NUMBERS: Final = dict(
    zip(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), range(2, 11), strict=True)
)


def plain(name: str) -> str:
    """A name without case, spaces and signs, to compare spellings."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


@dataclass(frozen=True)
class Reading:
    """What the words of a text say.

    Attributes:
        text: the words
        today: the present day, where it is known; "last week" counts from it
    """

    text: str
    today: date | None = None

    @cached_property
    def words(self) -> str:
        """The text in small letters."""
        return " ".join(self.text.casefold().split())

    def has(self, pattern: str) -> bool:
        """Whether the words match a regular expression (written in small letters)."""
        return re.search(pattern, self.words) is not None

    @cached_property
    def assets(self) -> list[str]:
        """The machines as they are written: names first, as people read them; each identifier once."""
        found = [match.group().strip() for match in _NAME.finditer(self.text)]
        found += [match.group() for match in _IDENTIFIER.finditer(self.text)]
        return _unlike(found)

    @cached_property
    def site(self) -> str | None:
        """The site that is named."""
        for match in _SITE.finditer(self.text):
            name = next(group for group in match.groups() if group)
            if name not in _NOT_SITES:
                return name
        return None

    @cached_property
    def asset_class(self) -> str | None:
        """The kind of machine that is spoken of."""
        if self.has(r"\bchillers?\b"):
            return "Chiller"
        if self.has(r"\bahus?\b|air[- ]handl"):
            return "AHU"
        found = re.search(r"\bassets?(?: class)?\s+((?:[A-Z][a-z]+\s?){1,3})", self.text)
        return found[1].strip() if found else None

    @cached_property
    def timed(self) -> str:
        """The text without the clause that says which day to assume; the places of periods are places in it."""
        return dates.without_assumption(self.text)

    @cached_property
    def periods(self) -> list[dates.Period]:
        """The periods that are named, in order."""
        return dates.periods(self.timed, self.now)

    @cached_property
    def period(self) -> dates.Period | None:
        """From the first to the last day that is named."""
        return dates.one_period(self.timed, self.now)

    @cached_property
    def now(self) -> date | None:
        """The present day: the one that the text tells to assume, else the one given."""
        return dates.assumed_today(self.text) or self.today

    @property
    def needs_today(self) -> bool:
        """Whether the text counts from the present day, which is not known yet."""
        return self.now is None and dates.needs_today(self.text)

    @cached_property
    def kind(self) -> str | None:
        """Preventive or corrective work; None for any."""
        preventive = self.has(r"\bpreventive|\bplanned\b|\broutine\b|\bscheduled upkeep|\bupkeep\b")
        corrective = self.has(r"\bcorrective|\brepairs?\b|\bunplanned\b|\bbreakdowns?\b|\bfixes\b")
        if preventive == corrective:
            return None
        return "preventive" if preventive else "corrective"

    @cached_property
    def groups(self) -> list[str]:
        """The groups of logged events that are named."""
        return [group for group, pattern in _GROUPS.items() if self.has(rf"\b(?:{pattern})\b")]

    @cached_property
    def quoted(self) -> list[str]:
        """What stands in quotation marks."""
        return [match[1].strip() for match in _QUOTED.finditer(self.text)]

    @cached_property
    def files(self) -> list[str]:
        """Files that are named."""
        return re.findall(r"[\w./-]+\.(?:csv|json|parquet)\b", self.text)

    @cached_property
    def rule(self) -> str | None:
        """The identifier of a monitoring rule, such as RUL0014."""
        found = re.search(r"\bRUL[-_]?\d+\b", self.text, re.IGNORECASE)
        return found.group() if found else None

    def number_near(self, words: str, default: int) -> int:
        """The number nearest before some words, such as the 3 of "top three codes"; else the first one after them."""
        bare = self.words
        for asset in self.assets:  # the 6 of "Chiller 6" counts nothing
            bare = bare.replace(asset.casefold(), "it")
        for match in re.finditer(words, bare):
            before = re.findall(r"\w+", bare[: match.start()])[-4:]
            after = re.findall(r"\w+", bare[match.end() :])[:2]
            for word in (*reversed(before), *after):
                if word.isdigit() and len(word) < 4:
                    return int(word)
                if word in _NUMBERS:
                    return _NUMBERS[word]
        return default

    def one_of(self, names: Sequence[str], *, also: str = "") -> str | None:
        """The name that the text contains, in any spelling; the longest where several fit."""
        flat = plain(f"{self.text} {also}")
        fitting = [name for name in names if plain(name) and plain(name) in flat]
        return max(fitting, key=len, default=None)


def sensors_meant(text: str, names: Iterable[str], assets: Sequence[str] = ()) -> list[str]:
    """The sensors of a list that a text names, in the order of the text.

    A sensor's name may begin with its machine's ("Chiller 6 Tonnage") and hold its class again ("Chiller 6 Chiller %
    Loaded"); both are left out of the comparison. A longer name hides a shorter one inside it.
    """
    short = {name: _short(name, assets) for name in names}
    words = _spaced(text)
    found = [(words.find(part), name) for name, part in short.items() if part and part in words]
    if not found:
        return _nearest(words, short)
    hidden = {
        name for _, name in found for _, other in found if short[name] != short[other] and short[name] in short[other]
        and words.count(short[name]) <= words.count(short[other])
    }  # fmt: skip
    return [name for _, name in sorted(found) if name not in hidden]


def _nearest(words: str, short: Mapping[str, str]) -> list[str]:
    """The one sensor most of whose words are said, in the words of its name or in those of operators."""
    spoken = set(words.split())
    spoken |= {part for word in spoken for part in _MEANS.get(word, "").split()}
    best, score = None, (0.0, 0.0)
    for name, part in short.items():
        own = set(part.split()) - _SMALL
        if own and len(own & spoken) / len(own) >= _ENOUGH:
            fitting = (float(len(own & spoken)), len(own & spoken) / len(own))
            if fitting > score:
                best, score = name, fitting
    if best is None and "power" in spoken:  # a machine draws power in one place, whatever that is called
        drawing = [name for name, part in short.items() if "power" in part.split()]
        best = drawing[0] if len(drawing) == 1 else None
    return [best] if best is not None else []


def _short(name: str, assets: Sequence[str]) -> str:
    words = _spaced(name)
    for asset in sorted(assets, key=len, reverse=True):
        words = words.removeprefix(_spaced(asset)).strip()
    words = re.sub(r"^(?:[a-z]{3,6} )?(?:chiller|ahu)(?: \d+[a-z]?)? ", "", f"{words} ").strip()
    return re.sub(r"^(?:chiller|ahu) ", "", words)


def _spaced(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9% ]", " ", text.casefold()).split())


def _unlike(names: Iterable[str]) -> list[str]:
    """Each name once, whatever its spelling."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(plain(name), " ".join(name.split()))
    return list(seen.values())
