"""Questions about finished work orders: how many, of which kind, with which failure codes, when most of them."""

from __future__ import annotations

import calendar

from quickstart_generator.oracle import Days
from quickstart_generator.picking import Period, Picker, look_up, month_of, snake
from quickstart_generator.plant import Machine
from quickstart_generator.question import Call, Field, Question

_COUNT = "integer, how many"


def count_text(picker: Picker, machine: Machine, period: Period) -> str:
    """Ask for the number of work orders; shared with the question about a machine that does not exist."""
    who = picker.call_it(machine)
    return picker.one_of(
        f"How many jobs on the work order list were completed for {who} in {period.said}?",
        f"Give me the number of work orders completed on {who} in {period.said}.",
        f"I need the count of maintenance jobs finished on {who} during {period.said}.",
        f"Get the work orders of equipment {who} completed in {period.said} and tell me how many there are.",
    )


def count(picker: Picker) -> Question | None:
    """How many work orders were finished in a year, a quarter or some weeks."""
    machine = picker.machine()
    period = picker.rng.choice((picker.year, picker.year, picker.quarter, picker.span))()
    return count_of(picker, machine, period, count_text(picker, machine, period))


def count_of(picker: Picker, machine: Machine, period: Period, text: str) -> Question | None:
    """The question of that text, with its answer."""
    found = len(picker.oracle.finished(machine.id, period.days))
    return Question(
        template="work_order_count",
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Retrieve all work orders of {machine.name} completed in {period.said}."),
            ("WOAgent", "Count the work orders and report the number."),
        ],
        calls=[look_up(machine), _orders(machine, period.days)],
        fields={"work_orders": Field(found, _COUNT)},
        expected=f"{found} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
    )


def by_kind(picker: Picker) -> Question | None:
    """How many preventive, or corrective, work orders were finished in a year."""
    machine, period = picker.machine(), picker.year()
    kind = picker.rng.choice(("preventive", "corrective"))
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many {kind} work orders were completed for {who} in {period.said}?",
        f"I would like to know how much {kind} work was done on {who} in {period.said}: the number of completed jobs.",
        f"Retrieve the {kind} work order details of {who} completed in {period.said} and count them.",
    )
    found = len(picker.oracle.finished(machine.id, period.days, kind))
    return Question(
        template="work_orders_of_kind",
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Retrieve the {kind} work orders of {machine.name} for {period.said}."),
            ("WOAgent", f"Count the {kind} work orders and report the number."),
        ],
        calls=[look_up(machine), _orders(machine, period.days, kind)],
        fields={"work_orders": Field(found, _COUNT)},
        expected=f"{found} {kind} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
    )


def split(picker: Picker) -> Question | None:
    """How many preventive and how many corrective work orders were finished."""
    machine = picker.machine()
    period = picker.rng.choice((picker.year, picker.span))()
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Of the work completed on {who} in {period.said}, how much was planned upkeep and how much was repair?",
        f"Split the work orders of {who} completed in {period.said} into preventive and corrective.",
        f"How many preventive and how many corrective jobs were completed on {who} in {period.said}?",
    )
    preventive = len(picker.oracle.finished(machine.id, period.days, "preventive"))
    corrective = len(picker.oracle.finished(machine.id, period.days, "corrective"))
    return Question(
        template="preventive_and_corrective",
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Retrieve the preventive work orders of {machine.name} completed in {period.said}."),
            ("WOAgent", f"Retrieve the corrective work orders of {machine.name} completed in {period.said}."),
            ("WOAgent", "Report both counts."),
        ],
        calls=[
            look_up(machine),
            _orders(machine, period.days, "preventive"),
            _orders(machine, period.days, "corrective"),
        ],
        fields={"preventive": Field(preventive, _COUNT), "corrective": Field(corrective, _COUNT)},
        expected=f"{preventive} preventive and {corrective} corrective work orders of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def top_code(picker: Picker) -> Question | None:
    """Which failure code was used most often; only where one stands alone at the top."""
    machine, period = picker.machine(), picker.year()
    kind = picker.rng.choice((None, "preventive", "corrective"))
    codes = picker.oracle.codes(machine.id, period.days, kind)
    if len(codes) < 2 or codes.iloc[0] == codes.iloc[1]:
        return None
    who, jobs = picker.call_it(machine), f"{kind} jobs" if kind else "jobs"
    text = picker.one_of(
        f"What was the most frequent failure code on the {jobs} completed for {who} in {period.said}?",
        f"Looking at the {jobs} completed on {who} in {period.said}, which failure code came up most often, "
        "and how many times?",
        f"Which failure code dominates the {jobs} completed on {who} during {period.said}?",
    )
    code, times = str(codes.index[0]), int(codes.iloc[0])
    arguments = {"equipment": machine.id, **period.days.arguments, "kind": kind or "any"}
    return Question(
        template="top_failure_code",
        text=text,
        category="Inference Query",
        plan=[
            ("WOAgent", f"Retrieve the {jobs} of {machine.name} completed in {period.said} with their failure codes."),
            ("WOAgent", "Count how often each failure code occurs and rank the codes."),
            ("WOAgent", "Report the most frequent failure code and its count."),
        ],
        calls=[
            look_up(machine),
            Call("count_failure_codes", arguments, "code_counts", machine=machine, instead=("get_work_orders",)),
        ],
        fields={"code": Field(code, "text, the failure code"), "count": Field(times, _COUNT)},
        expected=f"{code}, on {times} work orders of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def busiest_month(picker: Picker) -> Question | None:
    """In which month of a year most work was finished; only where one month stands alone."""
    machine, period = picker.machine(), picker.year()
    orders = picker.oracle.finished(machine.id, period.days)
    months = orders["at"].dt.month.value_counts()
    if len(months) < 2 or months.iloc[0] == months.iloc[1]:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"In which month of {period.said} were the most jobs completed on {who}?",
        f"When in {period.said} was the maintenance crew busiest with {who}? Name the month with the most completed "
        "work orders.",
    )
    year, month, most = period.days.start.year, int(months.index[0]), int(months.iloc[0])
    return Question(
        template="busiest_month",
        text=text,
        category="Inference Query",
        plan=[
            ("WOAgent", f"Retrieve all work orders of {machine.name} completed in {period.said}."),
            ("WOAgent", "Group the work orders by month of completion and count them."),
            ("WOAgent", "Report the month with the highest count."),
        ],
        calls=[look_up(machine), _orders(machine, period.days)],
        fields={"month": Field(f"{year}-{month:02d}", "month, YYYY-MM"), "count": Field(most, _COUNT)},
        expected=f"{calendar.month_name[month]} {year}, with {most} work orders of {machine.id}.",
        machines=(machine,),
    )


def last_month(picker: Picker) -> Question | None:
    """How many work orders were finished in the month before the plant's present one."""
    machine, today = picker.machine(), picker.oracle.today()
    ago = picker.rng.choice((1, 2))
    month_number = today.year * 12 + today.month - 1 - ago
    period = month_of(month_number // 12, month_number % 12 + 1)
    said = "last month" if ago == 1 else "the month before last"
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many work orders did we complete on {who} {'in ' if ago == 2 else ''}{said}?",
        f"Count the jobs completed on {who} {'in ' if ago == 2 else ''}{said}.",
    )
    found = len(picker.oracle.finished(machine.id, period.days))
    return Question(
        template="last_month",
        text=text,
        category="Data Query",
        plan=[
            ("WOAgent", "Get the current date of the plant."),
            ("WOAgent", f"Work out which dates {said} covers."),
            ("WOAgent", f"Retrieve the work orders of {machine.name} completed in that month and count them."),
        ],
        calls=[Call("current_date_time", {}, "present_day"), _orders(machine, period.days)],
        fields={"work_orders": Field(found, _COUNT)},
        expected=f"{found} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
    )


def rank(picker: Picker) -> Question | None:
    """Which of three machines had most finished work; only where one stands alone."""
    machines, period = picker.machines(3), picker.year()
    kind = picker.rng.choice((None, "corrective"))
    counts = {one.id: len(picker.oracle.finished(one.id, period.days, kind)) for one in machines}
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if ranked[0][1] == ranked[1][1]:
        return None
    names = [picker.call_it(one) for one in machines]
    jobs = f"{kind} work" if kind else "work"
    text = picker.one_of(
        f"Which of {names[0]}, {names[1]} and {names[2]} needed the most {jobs} in {period.said}, by completed jobs?",
        f"Compare {names[0]}, {names[1]} and {names[2]}: on which one was the most {jobs} completed in {period.said}?",
    )
    calls = [Call("list_equipment", {}, "plant_equipment")]
    calls += [_orders(one, period.days, kind) for one in machines]
    return Question(
        template="most_work",
        text=text,
        category="Complex Query",
        plan=[
            ("WOAgent", "Find the equipment records of the machines."),
            *[("WOAgent", f"Retrieve the {jobs} orders of {one.name} completed in {period.said}.") for one in machines],
            ("WOAgent", "Compare the counts and report the machine with the most."),
        ],
        calls=calls,
        fields={
            "equipment": Field(ranked[0][0], "text, the equipment's identifier"),
            "count": Field(ranked[0][1], _COUNT),
        },
        expected=f"{ranked[0][0]}, with {ranked[0][1]} work orders in {period.said}.",
        machines=tuple(machines),
    )


def _orders(machine: Machine, days: Days, kind: str | None = None) -> Call:
    arguments = {"equipment": machine.id, **days.arguments, "kind": kind or "any"}
    output = f"{kind or 'all'}_work_orders_of_{snake(machine)}"
    return Call("get_work_orders", arguments, output, machine=machine, instead=("count_failure_codes",))
