"""Questions about the event log: work order events, alerts and anomalies by group, day, week and month."""

from __future__ import annotations

from quickstart_generator.oracle import GROUPS, Days
from quickstart_generator.picking import Period, Picker, look_up, month_of, snake
from quickstart_generator.plant import Machine
from quickstart_generator.question import Call, Field, Question

_COUNT = "integer, how many"
_SAID = {"WORK_ORDER": "work order events", "ALERT": "alerts", "ANOMALY": "anomalies"}


def by_group_year(picker: Picker) -> Question | None:
    """How many events of each group were logged in a year."""
    return _by_group(picker, picker.year(monitored=picker.rng.random() < 0.8), "events_by_group_year")


def by_group_month(picker: Picker) -> Question | None:
    """How many events of each group were logged in a month or between two days."""
    period = picker.rng.choice((picker.month, picker.month, picker.span))(monitored=True)
    return _by_group(picker, period, "events_by_group_month")


def first_week(picker: Picker) -> Question | None:
    """How many events of each group were logged in the first week of a month."""
    return _by_group(picker, picker.first_week(), "events_of_first_week")


def _by_group(picker: Picker, period: Period, template: str) -> Question | None:
    machine = picker.machine()
    counts = picker.oracle.by_group(machine.id, period.days)
    if not any(counts.values()) and picker.rng.random() < 0.8:
        return None  # a machine on which nothing happened is asked about, but seldom
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Summarize what was logged for {who} in {period.said}: how many work order events, alerts and anomalies?",
        f"Get all the events of {who} for {period.said} and give me a summary by work orders, alerts and anomalies.",
        f"What happened on {who} in {period.said}? Count the logged events by group.",
    )
    return Question(
        template=template,
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Retrieve all events of {machine.name} for {period.said}."),
            ("WOAgent", "Group the events into work orders, alerts and anomalies and count each group."),
            ("WOAgent", "Report the summary by event group."),
        ],
        calls=[look_up(machine), _events(machine, period.days)],
        fields={name: Field(counts[name], _COUNT) for name in GROUPS.values()},
        expected=", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in GROUPS.values()),
        machines=(machine,),
    )


def days_with_events(picker: Picker) -> Question | None:
    """On how many days at least one event of some groups was logged."""
    machine = picker.machine()
    period = picker.rng.choice((picker.month, picker.year, picker.quarter))(monitored=True)
    groups = picker.rng.choice((["ALERT", "ANOMALY"], ["ALERT", "ANOMALY"], ["ALERT"], list(GROUPS)))
    found = picker.oracle.days_with_events(machine.id, period.days, groups)
    if found < 2:
        return None
    who, said = picker.call_it(machine), _join([_SAID[group] for group in groups])
    text = picker.one_of(
        f"On how many days in {period.said} did {who} have {said}?",
        f"Get the daily count of {said} for {who} in {period.said}. How many days have any?",
        f"How many days of {period.said} saw {said.replace(' and ', ' or ')} logged on {who}?",
    )
    call = _events(machine, period.days, groups, tool="daily_event_counts", output="daily_counts")
    return Question(
        template="days_with_events",
        text=text,
        category="Data Query",
        plan=[
            ("WOAgent", f"Retrieve the {said} of {machine.name} for {period.said}."),
            ("WOAgent", "Group the events by day and count them."),
            ("WOAgent", "Report the number of days that have events."),
        ],
        calls=[look_up(machine), call],
        fields={"days_with_events": Field(found, "integer, number of days")},
        expected=f"{found} days with {said} of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def date_range(picker: Picker) -> Question | None:
    """When the first and the last event of a group was logged."""
    machine, group = picker.machine(), picker.rng.choice(list(GROUPS))
    found = picker.oracle.first_and_last(machine.id, group)
    if found is None or found[0] == found[1]:
        return None
    who, said = picker.call_it(machine), _SAID[group]
    text = picker.one_of(
        f"From which day to which day do we have {said} logged for {who}?",
        f"When were the first and the last of the {said} of {who} logged?",
    )
    return Question(
        template="date_range",
        text=text,
        category="Data Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Look up the date range of the {said} of {machine.name}."),
            ("WOAgent", "Report the first and the last day."),
        ],
        calls=[
            look_up(machine),
            Call(
                "event_date_range",
                {"equipment": machine.id, "groups": [group]},
                "event_range",
                machine=machine,
                instead=("get_events", "daily_event_counts"),
            ),
        ],
        fields={
            "first": Field(found[0].isoformat(), "day, YYYY-MM-DD"),
            "last": Field(found[1].isoformat(), "day, YYYY-MM-DD"),
        },
        expected=f"From {found[0]} to {found[1]}.",
        machines=(machine,),
    )


def compare_months(picker: Picker) -> Question | None:
    """Which of two months had more alerts or anomalies, and by how many."""
    machine, group = picker.machine(), picker.rng.choice(("ALERT", "ALERT", "ANOMALY"))
    one = picker.month(monitored=True)
    other = month_of(one.days.start.year, picker.rng.randint(1, 12))
    counts = [picker.oracle.by_group(machine.id, period.days)[GROUPS[group]] for period in (one, other)]
    if counts[0] == counts[1] or min(counts) == 0:
        return None
    who, said = picker.call_it(machine), _SAID[group]
    text = picker.one_of(
        f"Did {who} have more {said} logged in {one.said} or in {other.said}, and by how many?",
        f"Compare the {said} logged for {who} in {one.said} with those in {other.said}: which month had more, and "
        "what is the difference?",
    )
    more = one if counts[0] > counts[1] else other
    return Question(
        template="compare_months",
        text=text,
        category="Complex Query",
        plan=[
            ("WOAgent", f"Retrieve the {said} of {machine.name} for {one.said}."),
            ("WOAgent", f"Retrieve the {said} of {machine.name} for {other.said}."),
            ("WOAgent", "Compare both counts and report the month with more and the difference."),
        ],
        calls=[look_up(machine), *(_month_call(machine, period, group) for period in (one, other))],
        fields={
            "month": Field(more.days.start.strftime("%Y-%m"), "month, YYYY-MM"),
            "difference": Field(abs(counts[0] - counts[1]), _COUNT),
        },
        expected=f"{more.said}, by {abs(counts[0] - counts[1])}.",
        machines=(machine,),
    )


def top_rule(picker: Picker) -> Question | None:
    """Which monitoring rule raised most alerts; only where one stands alone and both tables agree."""
    machine, period = picker.machine(), picker.year(monitored=True)
    rules = picker.oracle.rules(machine.id, period.days)
    logged = picker.oracle.logged(machine.id, period.days, ["ALERT"])["event_type"].value_counts()
    if len(rules) < 2 or rules.iloc[0] == rules.iloc[1] or logged.to_dict() != rules.to_dict():
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which monitoring rule raised the most alerts on {who} in {period.said}?",
        f"What kind of alert bothered {who} most in {period.said}? Give the rule and how often it fired.",
    )
    return _most_frequent(machine, period, text, "get_alerts", "rule", str(rules.index[0]), int(rules.iloc[0]))


def top_indicator(picker: Picker) -> Question | None:
    """Which performance indicator was anomalous most often; only where one stands alone."""
    machine, period = picker.machine(), picker.year(monitored=True)
    found = picker.oracle.indicators(machine.id, period.days)
    if len(found) < 2 or found.iloc[0] == found.iloc[1]:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which performance indicator of {who} was outside its bounds most often in {period.said}?",
        f"Which indicator of {who} showed the most anomalies in {period.said}, and how many?",
    )
    return _most_frequent(machine, period, text, "get_anomalies", "indicator", str(found.index[0]), int(found.iloc[0]))


def _most_frequent(
    machine: Machine, period: Period, text: str, tool: str, field: str, value: str, times: int
) -> Question:
    said = "alerts" if tool == "get_alerts" else "anomalies"
    arguments = {"equipment": machine.id, **period.days.arguments}
    return Question(
        template=f"top_{field}",
        text=text,
        category="Anomaly Detection Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Retrieve the {said} of {machine.name} for {period.said}."),
            ("WOAgent", f"Count the {said} by {field} and report the most frequent one."),
        ],
        calls=[look_up(machine), Call(tool, arguments, f"{said}_found", machine=machine, instead=("get_events",))],
        fields={field: Field(value, f"text, the {field} as the records give it"), "count": Field(times, _COUNT)},
        expected=f"{value}, {times} times.",
        machines=(machine,),
    )


def _month_call(machine: Machine, period: Period, group: str) -> Call:
    output = f"{GROUPS[group]}_{period.days.start:%Y_%m}"
    return _events(machine, period.days, [group], output=output)


def _events(
    machine: Machine,
    days: Days,
    groups: list[str] | None = None,
    *,
    tool: str = "get_events",
    output: str | None = None,
) -> Call:
    arguments = {"equipment": machine.id, **days.arguments, **({"groups": groups} if groups else {})}
    instead = single_group_tools(groups[0]) if groups and len(groups) == 1 else ("daily_event_counts",)
    instead = tuple(name for name in ("get_events", *instead) if name != tool)
    return Call(tool, arguments, output or f"events_of_{snake(machine)}", machine=machine, instead=instead)


def single_group_tools(group: str) -> tuple[str, ...]:
    """Tools beside get_events that give the events of one group."""
    own = {"ALERT": ("get_alerts",), "ANOMALY": ("get_anomalies",)}.get(group, ())
    return ("daily_event_counts", *own)


def _join(names: list[str]) -> str:
    """Names as a list in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
