"""Answers a question about one machine and one period with the plant's tools.

The fields that an answer must have (`show["answer_format"]`) say what is asked; the words of the question say about
what. Each kind of answer has one function in RULES. A question that compares machines or periods has none here: that
is where your agent can be better than this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import reading

if TYPE_CHECKING:
    from gauntlet_agent import Episode

Answer = tuple[str, dict[str, Any]]
GROUP_NAMES = {"WORK_ORDER": "work_orders", "ALERT": "alerts", "ANOMALY": "anomalies"}


class Unanswerable(Exception):
    """The plant's records cannot answer the question; the message says why."""


@dataclass(frozen=True)
class Task:
    """What was understood of a question."""

    episode: Episode
    machine: str
    name: str
    days: reading.Days | None

    @property
    def window(self) -> dict[str, str]:
        """Machine and days as tool arguments."""
        if self.days is None:
            raise Unanswerable("The question does not say for which time.")
        return {"equipment": self.machine, **self.days.arguments}


def solve(episode: Episode) -> Answer:
    """Answer the question, or decline it where the tools show that there is no answer."""
    wanted = frozenset(episode.show.get("answer_format", {}))
    try:
        rule = RULES.get(wanted)
        if rule is None:
            raise Unanswerable("This agent has no rule for this kind of question.")
        return rule(understand(episode))
    except Unanswerable as reason:
        episode.note(str(reason))
        return f"I cannot answer this: {reason}", {"abstain": True}


def understand(episode: Episode) -> Task:
    """Find the machine and the days."""
    named = reading.machines(episode.text)
    if not named:
        raise Unanswerable("The question names no machine.")
    today = None
    if reading.needs_today(episode.text):
        today = date.fromisoformat(episode.call("current_date_time")["day"])
    first = {"agent": "WOAgent", "instruction": f"Find {named[0]} in the list of equipment", "depends_on": []}
    answer = {"agent": "WOAgent", "instruction": "Report what the records say", "depends_on": [0]}
    episode.plan([first, answer])  # until the rule for this kind of question makes a better one
    machine = find_machine(episode, named[0])
    return Task(episode, machine["id"], machine["name"], reading.days(episode.text, today))


def find_machine(episode: Episode, written: str) -> dict[str, str]:
    """The machine that is meant by what is written in the question."""
    listed: list[dict[str, str]] = episode.call("list_equipment", name=written)["equipment"]
    for machine in listed:
        if _plain(written) in (_plain(machine["id"]), _plain(machine["name"])):
            return machine
    raise Unanswerable(f"The plant has no {written}.")


def check_recorded(task: Task, groups: list[str]) -> None:
    """Refuse a time in which nothing of what is asked for was recorded at all: that is not the same as none."""
    coverage = task.episode.call("record_coverage")
    if task.days is None:
        return
    for group in groups:
        days = coverage.get(GROUP_NAMES[group])
        if days and days["from"] <= task.days.end.isoformat() and task.days.start.isoformat() <= days["to"]:
            return
    raise Unanswerable("Nothing was recorded in that time.")


def count_work_orders(task: Task) -> Answer:
    """How many work orders were finished."""
    kind = reading.kind(task.episode.text)
    what = "work orders" if kind == "any" else f"{kind} work orders"
    plan(task, "WOAgent", f"Get the {what} of {task.name} in the period asked for", "Count the records and answer")
    check_recorded(task, ["WORK_ORDER"])
    found = task.episode.call("get_work_orders", **task.window, kind=kind, limit=1)
    return f"{task.name}, {what}: {found['total']}.", {"work_orders": found["total"]}


def split_work_orders(task: Task) -> Answer:
    """How many work orders were preventive and how many corrective."""
    plan(
        task,
        "WOAgent",
        f"Get the preventive work orders of {task.name}",
        f"Get the corrective work orders of {task.name}",
        "Report how many there are of each",
    )
    check_recorded(task, ["WORK_ORDER"])
    counts = {
        kind: task.episode.call("get_work_orders", **task.window, kind=kind, limit=1)["total"]
        for kind in ("preventive", "corrective")
    }
    return f"Preventive: {counts['preventive']}, corrective: {counts['corrective']}.", counts


def count_events(task: Task) -> Answer:
    """How many events of each group were logged."""
    wanted = [group for group, name in GROUP_NAMES.items() if name in task.episode.show["answer_format"]]
    plan(
        task,
        "WOAgent",
        f"Get the events of {task.name} for the period",
        "Summarize the number of events in each group",
    )
    check_recorded(task, wanted)
    found = task.episode.call("get_events", **task.window, groups=wanted, limit=1)["by_group"]
    counts = {GROUP_NAMES[group]: found[GROUP_NAMES[group]] for group in wanted}
    said = ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in counts.items())
    return f"{task.name}, {said}.", counts


def count_days(task: Task) -> Answer:
    """On how many days something was logged."""
    groups = reading.groups(task.episode.text)
    plan(
        task,
        "WOAgent",
        f"Get the daily event counts of {task.name}",
        "Count the days on which there were events",
    )
    check_recorded(task, groups)
    found = task.episode.call("daily_event_counts", **task.window, groups=groups)
    return f"Days with events: {found['days_with_events']}.", {"days_with_events": found["days_with_events"]}


def find_date_range(task: Task) -> Answer:
    """When the first and the last event was logged."""
    groups = reading.groups(task.episode.text)
    plan(task, "WOAgent", f"Look up from when to when events of {task.name} were logged", "Report both days")
    ranges = task.episode.call("event_date_range", equipment=task.machine, groups=groups)["ranges"]
    times = [(one["first"], one["last"]) for one in ranges.values() if one["first"]]
    if not times:
        raise Unanswerable(f"No such event was ever logged for {task.name}.")
    first, last = min(one for one, _ in times)[:10], max(one for _, one in times)[:10]
    return f"From {first} to {last}.", {"first": first, "last": last}


def find_top_code(task: Task) -> Answer:
    """Which failure code is the most frequent."""
    plan(
        task,
        "WOAgent",
        f"Count the failure codes on the work orders of {task.name}",
        "Answer with the most frequent code",
    )
    check_recorded(task, ["WORK_ORDER"])
    kind = reading.kind(task.episode.text)
    return _top(task.episode.call("count_failure_codes", **task.window, kind=kind)["codes"], "code")


def find_top_rule(task: Task) -> Answer:
    """Which monitoring rule raised most alerts."""
    plan(task, "WOAgent", f"Get the alerts of {task.name} in that time", "Answer with the rule that fired most often")
    check_recorded(task, ["ALERT"])
    return _top(task.episode.call("get_alerts", **task.window, limit=1)["by_rule"], "rule")


def find_top_indicator(task: Task) -> Answer:
    """Which indicator was anomalous most often."""
    plan(task, "WOAgent", f"Get the anomalies of {task.name}", "Answer with the indicator that has most of them")
    check_recorded(task, ["ANOMALY"])
    return _top(task.episode.call("get_anomalies", **task.window, limit=1)["by_indicator"], "indicator")


def find_mean(task: Task) -> Answer:
    """The mean of a sensor's readings."""
    plan(
        task,
        "IoTAgent",
        f"List which sensors {task.name} has",
        "Get the readings of the sensor for that day",
        "Answer with their mean",
    )
    listed = task.episode.call("list_sensors", equipment=task.machine)["sensors"]
    recorded = [one["sensor"] for one in listed if one["readings"]]
    sensor = reading.sensor(task.episode.text, recorded)
    if sensor is None:
        raise Unanswerable(f"What is asked for is not recorded for {task.name}.")
    found = task.episode.call("summarize_sensor", **task.window, sensor=sensor)
    if found["mean"] is None:
        raise Unanswerable("There are no readings in that time.")
    return f"The mean of {sensor} is {found['mean']}.", {"mean": found["mean"]}


def plan(task: Task, agent: str, *steps: str) -> None:
    """Declare the steps, each after the one before it."""
    first = {"agent": agent, "instruction": f"Find {task.name} in the list of equipment", "depends_on": []}
    rest = [{"agent": agent, "instruction": step, "depends_on": [position]} for position, step in enumerate(steps)]
    task.episode.plan([first, *rest])


def _top(ranked: list[dict[str, Any]], name: str) -> Answer:
    """The first of a list that comes ordered by count."""
    if not ranked:
        raise Unanswerable("There is nothing to count in that time.")
    best = ranked[0]
    return f"{best[name]} ({best['count']}).", {name: best[name], "count": best["count"]}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


RULES: dict[frozenset[str], Callable[[Task], Answer]] = {
    frozenset({"work_orders"}): count_work_orders,
    frozenset({"preventive", "corrective"}): split_work_orders,
    frozenset({"work_orders", "alerts", "anomalies"}): count_events,
    frozenset({"alerts"}): count_events,
    frozenset({"anomalies"}): count_events,
    frozenset({"days_with_events"}): count_days,
    frozenset({"first", "last"}): find_date_range,
    frozenset({"code", "count"}): find_top_code,
    frozenset({"rule", "count"}): find_top_rule,
    frozenset({"indicator", "count"}): find_top_indicator,
    frozenset({"mean"}): find_mean,
}
