"""Questions about the event log, alerts of monitoring rules and anomalies of performance indicators."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from assetops_scenarios.picking import Period, Picker, month_of, say_day, snake
from assetops_scenarios.question import CODE, WO, Call, Field, Question
from assetops_scenarios.records import GROUPS, Days, Machine
from assetops_scenarios.work_questions import COUNT, after, look_up

SAID: Final = {"WORK_ORDER": "work orders", "ALERT": "alerts", "ANOMALY": "anomalies"}
_OF_GROUP: Final = {
    "WORK_ORDER": ("list_events", "daily_event_counts", *CODE),
    "ALERT": ("list_events", "list_alerts", "daily_event_counts", *CODE),
    "ANOMALY": ("list_events", "list_anomalies", "daily_event_counts", *CODE),
}


def logged(machine: Machine, days: Days, group: str | None = None) -> Call:
    """The call that lists what the event log holds of a machine."""
    arguments = {"equipment_id": machine.id, **days.arguments, **({"group": group} if group else {})}
    others = _OF_GROUP[group][1:] if group else ("daily_event_counts", *CODE)
    output = f"{SAID.get(group or '', 'events').replace(' ', '_')}_of_{snake(machine.name)}"
    return Call("list_events", arguments, output, machine=machine, instead=others)


def summary(picker: Picker) -> Question | None:
    """How many events of each group were logged in a year, a month or a first week."""
    machine = picker.monitored()
    period = picker.rng.choice(
        (lambda: picker.year(monitored=True), lambda: picker.month(monitored=True), picker.first_week)
    )()
    return summary_of(picker, machine, period)


def summary_of(picker: Picker, machine: Machine, period: Period) -> Question:
    """The events of that machine and time by group."""
    counts = picker.work.by_group(machine.id, period.days)
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Get all the events of {who} for {period.said} and summarise them by group: work orders, alerts, anomalies.",
        f"Provide a summary of what was logged for {who} in {period.said}: how many work orders, alerts and anomalies?",
    )
    return Question(
        template="events_by_group",
        text=text,
        category="Knowledge Query",
        stage=3,
        plan=[
            (WO, f"Retrieve all events of {machine.name} logged in {period.said}."),
            (WO, "Group the events into work orders, alerts and anomalies, and count each group."),
            (WO, "Report the three counts."),
        ],
        calls=[look_up(machine), logged(machine, period.days)],
        fields={name: Field(count, COUNT) for name, count in counts.items()},
        expected=", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()) + ".",
        machines=(machine,),
    )


def days_with_events(picker: Picker) -> Question | None:
    """On how many days something of some groups was logged."""
    machine = picker.monitored()
    period = picker.rng.choice((picker.year, picker.month))(monitored=True)
    groups = picker.rng.choice((["ALERT", "ANOMALY"], ["ALERT", "ANOMALY"], ["ALERT"], list(GROUPS)))
    return days_of(picker, machine, period, groups)


def days_of(picker: Picker, machine: Machine, period: Period, groups: list[str]) -> Question:
    """The days of that machine and time with events of the groups."""
    said = " and ".join(SAID[group] for group in groups)
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Get the daily count of {said} for {who} in {period.said}: on how many days was there at least one?",
        f"On how many days of {period.said} did {who} have {said} in its log?",
    )
    found = picker.work.days_with_events(machine.id, period.days, groups)
    call = Call(
        "daily_event_counts",
        {"equipment_id": machine.id, **period.days.arguments},
        f"daily_counts_of_{snake(machine.name)}",
        machine=machine,
        instead=("list_events", *(("list_alerts", "list_anomalies") if "WORK_ORDER" not in groups else ()), *CODE),
    )
    return Question(
        template="days_with_events",
        text=text,
        category="Knowledge Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the daily counts of {said} of {machine.name} for {period.said}."),
            (WO, "Count the days with at least one such event and report the number."),
        ],
        calls=[look_up(machine), call],
        fields={"days_with_events": Field(found, "integer, number of days with at least one such event")},
        expected=f"On {found} of the {(period.days.end - period.days.start).days + 1} days of {period.said}.",
        machines=(machine,),
    )


def date_range(picker: Picker) -> Question | None:
    """When the first and the last alert, or anomaly, of a year was logged."""
    machine, period = picker.monitored(), picker.year(monitored=True)
    group = picker.rng.choice(("ALERT", "ANOMALY"))
    times = picker.work.logged(machine.id, period.days, [group])["at"]
    if len(times) < 2:
        return None
    first, last = times.min().date(), times.max().date()
    who = picker.call_it(machine)
    text = picker.one_of(
        f"On which day of {period.said} were the first and the last {SAID[group]} of {who} logged?",
        f"Between which two days did {who} have {SAID[group]} in {period.said}? I need the first and the last day.",
    )
    return Question(
        template="first_and_last_event",
        text=text,
        category="Data Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the {SAID[group]} of {machine.name} logged in {period.said}."),
            (WO, "Find the first and the last day and report both."),
        ],
        calls=[look_up(machine), logged(machine, period.days, group)],
        fields={
            "first": Field(first.isoformat(), "date, YYYY-MM-DD"),
            "last": Field(last.isoformat(), "date, YYYY-MM-DD"),
        },
        expected=f"From {say_day(first)} to {say_day(last)}.",
        machines=(machine,),
    )


def compare_months(picker: Picker) -> Question | None:
    """Which of two months had more alerts, and by how many."""
    machine = picker.monitored()
    left, right = picker.month(monitored=True), picker.month(monitored=True)
    counts = [len(picker.work.logged(machine.id, one.days, ["ALERT"])) for one in (left, right)]
    if left == right or counts[0] == counts[1]:
        return None
    better = left if counts[0] > counts[1] else right
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Did {who} have more alerts in {left.said} or in {right.said}, and how many more?",
        f"Compare the alerts of {who} in {left.said} and {right.said}: which month had more, and by how many?",
    )
    listed = look_up(machine)
    month = better.days.start
    return Question(
        template="compare_months",
        text=text,
        category="Complex Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for {left.said}."),
            (WO, f"Retrieve the alerts of {machine.name} for {right.said}."),
            (WO, "Compare the two counts and report the month with more alerts and the difference."),
        ],
        calls=[listed, *[_named(after(logged(machine, one.days, "ALERT"), listed), one) for one in (left, right)]],
        fields={
            "month": Field(f"{month.year}-{month.month:02d}", "month, YYYY-MM"),
            "difference": Field(abs(counts[0] - counts[1]), COUNT),
        },
        expected=f"{better.said}, with {abs(counts[0] - counts[1])} alerts more.",
        machines=(machine,),
    )


def _named(call: Call, period: Period) -> Call:
    return replace(call, output=f"{call.output}_in_{snake(period.said)}")


def top_rule(picker: Picker) -> Question | None:
    """Which monitoring rule raised most alerts; only where one stands alone."""
    machine, period = picker.monitored(), picker.rng.choice((picker.year, picker.month))(monitored=True)
    rules = picker.work.rules(machine.id, period.days)
    if rules.empty or (len(rules) > 1 and rules.iloc[0] == rules.iloc[1]):
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which monitoring rule raised the most alerts for {who} in {period.said}, and how many?",
        f"What was the most common alert rule on {who} during {period.said}? Tell me its identifier and the count.",
    )
    rule, times = str(rules.index[0]), int(rules.iloc[0])
    return Question(
        template="top_rule",
        text=text,
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for {period.said}."),
            (WO, "Count the alerts by monitoring rule and rank the rules."),
            (WO, "Report the rule with the most alerts and its count."),
        ],
        calls=[look_up(machine), alerts(machine, period.days)],
        fields={"rule": Field(rule, "text, the rule's identifier"), "count": Field(times, COUNT)},
        expected=f"{rule}, with {times} alerts of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def alerts(machine: Machine, days: Days) -> Call:
    """The call that lists alerts with their rules."""
    return Call(
        "list_alerts",
        {"equipment_id": machine.id, **days.arguments},
        f"alerts_of_{snake(machine.name)}",
        machine=machine,
        instead=("list_events", *CODE),
    )


def anomalies(machine: Machine, days: Days) -> Call:
    """The call that lists anomalies with their indicators."""
    return Call(
        "list_anomalies",
        {"equipment_id": machine.id, **days.arguments},
        f"anomalies_of_{snake(machine.name)}",
        machine=machine,
        instead=("list_events", *CODE),
    )


def top_indicator(picker: Picker) -> Question | None:
    """Which performance indicator was anomalous most often; only where one stands alone."""
    watched = picker.work.watched("ANOMALY")
    machine = picker.records.machine(picker.rng.choice(watched))
    period = picker.rng.choice((picker.year, picker.month))(monitored=True)
    found = picker.work.indicators(machine.id, period.days)
    if found.empty or (len(found) > 1 and found.iloc[0] == found.iloc[1]):
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which performance indicator of {who} left its bounds most often in {period.said}, and how often?",
        f"Looking at the anomalies of {who} in {period.said}: which indicator has most of them, and how many?",
    )
    name, times = str(found.index[0]), int(found.iloc[0])
    return Question(
        template="top_indicator",
        text=text,
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the anomalies of {machine.name} for {period.said}."),
            (WO, "Count the anomalies by performance indicator."),
            (WO, "Report the indicator with the most anomalies and its count."),
        ],
        calls=[look_up(machine), anomalies(machine, period.days)],
        fields={"indicator": Field(name, "text, the indicator's name"), "count": Field(times, COUNT)},
        expected=f"{name}, anomalous {times} times.",
        machines=(machine,),
    )


def group_count(picker: Picker, machine: Machine, group: str, period: Period) -> Question:
    """How many alerts or anomalies were logged; shared with the questions that must be declined."""
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many {SAID[group]} were logged for {who} in {period.said}?",
        f"Tell me the number of {SAID[group]} on {who} in {period.said}.",
    )
    found = len(picker.work.logged(machine.id, period.days, [group]))
    return Question(
        template="group_count",
        text=text,
        category="Knowledge Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the {SAID[group]} of {machine.name} for {period.said}."),
            (WO, "Count the events and report the number."),
        ],
        calls=[look_up(machine), logged(machine, period.days, group)],
        fields={GROUPS[group]: Field(found, COUNT)},
        expected=f"{found} {SAID[group]}.",
        machines=(machine,),
    )


def recent_alerts(picker: Picker) -> Question | None:
    """How many alerts there were in the month before the present one."""
    machine, now = picker.monitored(), picker.records.now
    number = now.year * 12 + now.month - 2
    period = month_of(number // 12, number % 12 + 1)
    begin, end = picker.work.coverage("ALERT")
    if not (begin <= period.days.start and period.days.end <= end):
        return None
    who = picker.call_it(machine)
    found = len(picker.work.logged(machine.id, period.days, ["ALERT"]))
    return Question(
        template="alerts_last_month",
        text=picker.one_of(f"How many alerts did {who} have last month?", f"Count last month's alerts of {who}."),
        category="Data Query",
        stage=3,
        plan=[
            (WO, "Get the current date of the site."),
            (WO, f"Retrieve the alerts of {machine.name} of the month before and count them."),
        ],
        calls=[
            Call("currentdatetime", {}, "present_moment", instead=("current_time_english",)),
            logged(machine, period.days, "ALERT"),
        ],
        fields={"alerts": Field(found, COUNT)},
        expected=f"{found} alerts in {period.said}.",
        machines=(machine,),
        capabilities=("temporal",),
    )
