"""A sub-agent without a language model: it reads the request and takes the first skill whose words fit.

A skill is one function. It returns a report, or raises :class:`Unanswerable` where the tools show that there is no
answer, which is an answer too: a question about data that nobody recorded has to be declined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, Final

from gauntlet_agent.assetops.desk import Desk, NotMyTool
from gauntlet_agent.assetops.periods import Period
from gauntlet_agent.assetops.reading import Reading, plain
from gauntlet_agent.assetops.report import Report, Request, Review
from gauntlet_agent.errors import BudgetExceeded, ToolError

ALWAYS: Final = Period(date(1900, 1, 1), date(2100, 12, 31))
_MACHINE: Final = ("equipment_id", "assetnum", "equipment_name")  # what earlier steps call the machine
#: What tools call the list that they are about, the more particular ones first.
_LISTS: Final = (
    *("work_orders", "alerts", "anomalies", "events", "days", "equipment", "mapping", "alert_rules", "relevance"),
    *("failure_modes", "sensors", "assets", "sites", "models", "tasks", "ai_tasks", "rows", "groups"),
)
MOST_PAGES: Final = 12  # of one list; an episode's tool calls are limited


class Unanswerable(Exception):
    """The records cannot answer; the message says why.

    Attributes:
        suggestions: what the parent could do about it; empty where nobody can
    """

    def __init__(self, reason: str, *suggestions: str) -> None:
        super().__init__(reason)
        self.suggestions = suggestions


@dataclass(frozen=True)
class Skill:
    """Something that a sub-agent can do.

    Attributes:
        when: regular expression that the request's words must match
        unless: one that they must not match
    """

    name: str
    when: str
    do: Callable[[Work], Report]
    unless: str = r"(?!)"

    def fits(self, reading: Reading) -> bool:
        """Whether the request asks for this."""
        return reading.has(self.when) and not reading.has(self.unless)


@dataclass(frozen=True)
class Work:
    """One request on a desk."""

    desk: Desk
    request: Request
    reading: Reading

    @property
    def known(self) -> Mapping[str, Any]:
        """What earlier steps found."""
        return self.request.known

    @property
    def words(self) -> str:
        """The request with the question that it is a part of, in which what the request leaves out may stand."""
        return f"{self.reading.text} {self.known.get('question') or ''}"

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; see :meth:`Desk.call`."""
        return self.desk.call(tool, **arguments)

    def all_rows(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """All rows of a list that comes in pages, as far as the page limit goes."""
        size = page_size(self.desk, tool)
        rows: list[dict[str, Any]] = []
        for _ in range(MOST_PAGES):
            page = self.call(tool, **arguments, limit=size, offset=len(rows) or None)
            found = rows_of(page)
            rows += found
            if not found or len(found) < size or len(rows) >= total_of(page, default=len(rows) + 1):
                break
        return rows

    @cached_property
    def asset(self) -> str:
        """The machine that is asked about, as written; asked of the parent where the request names none.

        Raises:
            Unanswerable: nobody says which.
        """
        named = self.reading.assets or [str(self.known[key]) for key in _MACHINE if self.known.get(key)]
        named = named or self._asked("Which equipment is it about?").assets
        if not named:
            raise Unanswerable("The request names no equipment.", "Name the equipment.")
        return named[0]

    @cached_property
    def period(self) -> Period:
        """The time that is asked about; asked of the parent where the request names none.

        Raises:
            Unanswerable: nobody says which.
        """
        period = _meant(self.dated) or _known_period(self.known)
        period = period or self._asked("Which period is it about?").period
        if period is None:
            raise Unanswerable("The request does not say for which time.", "Say from when to when.")
        return period

    @cached_property
    def dated(self) -> Reading:
        """The reading with the present day in it, where the words count from that."""
        if not self.reading.needs_today:
            return self.reading
        return replace(self.reading, today=self.today)

    @cached_property
    def today(self) -> date:
        """The present day of the plant.

        Raises:
            Unanswerable: no tool tells it.
        """
        if not self.desk.has("currentdatetime"):
            raise Unanswerable("No tool tells the present day.")
        found = re.search(r"\d{4}-\d{2}-\d{2}", str(self.call("currentdatetime")))
        if found is None:
            raise Unanswerable("The present day cannot be read from what the tool says.")
        return date.fromisoformat(found.group())

    def _asked(self, question: str) -> Reading:
        return Reading(self.desk.ask(question) or "", self.reading.today)


class RuleAgent:
    """A sub-agent by rules."""

    def __init__(self, name: str, skills: Sequence[Skill]) -> None:
        self.name = name
        self._skills = skills

    def work(self, request: str, desk: Desk) -> Report:
        """Do what a request asks for and report; never raises for what tools or records lack."""
        asked = Request.read(request)
        reading = Reading(asked.words)
        skill = next((one for one in self._skills if one.fits(reading)), None)
        if skill is None:
            return Report.failed(f"{self.name} has no skill for: {asked.words}", "Ask another agent, or ask otherwise.")
        try:
            return skill.do(Work(desk, asked, reading))
        except Unanswerable as reason:
            return Report.failed(str(reason), *reason.suggestions)
        except (ToolError, NotMyTool) as error:
            return Report.failed(f"A tool failed: {error}", "Correct what the tool complains about.")
        except BudgetExceeded as error:
            return Report(error.message, Review("failed", "A limit of the episode is reached."), "Why not.")


def _meant(reading: Reading) -> Period | None:
    """The period in a request's words; where it says "all", the whole record."""
    return reading.period or (ALWAYS if reading.has(r"\ball\b|\bwhole record\b|\bever\b") else None)


def _known_period(known: Mapping[str, Any]) -> Period | None:
    """The period of what earlier steps found."""
    try:
        return Period(date.fromisoformat(str(known["start"])[:10]), date.fromisoformat(str(known["end"])[:10]))
    except (KeyError, ValueError):
        return None


def main_list(answer: Any) -> list[Any]:
    """The list that a tool's answer is about: the answer itself, or the list under one of the names that tools use.

    Beside it an answer may hold other lists, such as counts by rule, which are not meant.
    """
    if isinstance(answer, list):
        return answer
    if not isinstance(answer, Mapping):
        return []
    lists = {name: value for name, value in answer.items() if isinstance(value, list)}
    named = next((name for name in _LISTS if name in lists), None)
    return lists[named] if named is not None else max(lists.values(), key=len, default=[])


def rows_of(answer: Any) -> list[dict[str, Any]]:
    """The rows in what a tool gave."""
    return [row for row in main_list(answer) if isinstance(row, dict)]


def names_of(answer: Any, *keys: str) -> list[str]:
    """Names in what a tool gave: a list of texts, or the first of these fields that each row has; each once."""
    found = []
    for one in main_list(answer):
        row = one if isinstance(one, dict) else {}
        found.append(one if isinstance(one, str) else next((str(row[key]) for key in keys if row.get(key)), ""))
    return [name for name in dict.fromkeys(found) if name]


def total_of(answer: Any, *, default: int = 0) -> int:
    """How many there are in all, where a tool says so."""
    if isinstance(answer, Mapping):
        for key in ("total", "count", "total_count", "total_observations"):
            if isinstance(answer.get(key), int):
                return int(answer[key])
    return default


def page_size(desk: Desk, tool: str) -> int:
    """The largest page that a tool's schema allows."""
    schema = desk.tools[tool].input_schema if tool in desk.tools else {}
    limit = schema.get("properties", {}).get("limit", {})
    places = [limit, *(one for one in limit.get("anyOf", []) if isinstance(one, dict))]
    return next((int(one["maximum"]) for one in places if isinstance(one.get("maximum"), int | float)), 100)


def same_machine(written: str, *names: Any) -> bool:
    """Whether a machine's names fit what is written, in any spelling; a site or building before it may be missing."""
    wanted = plain(written)
    return any(wanted == plain(str(name)) for name in names if name) or any(
        wanted.endswith(plain(str(name))) or plain(str(name)).endswith(wanted)
        for name in names
        if name
        and re.fullmatch(r"[a-z]+", (wanted.removesuffix(plain(str(name))) or plain(str(name)).removesuffix(wanted)))
    )


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names by count, most first; equal counts by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def said(items: Iterable[str], *, most: int = 12) -> str:
    """A list in a sentence."""
    names = list(items)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"
