"""Questions about work orders: how many, of which kind, with which codes, when, and on which machine most of them."""

from __future__ import annotations

import calendar
from dataclasses import replace
from typing import Final

from assetops_scenarios.picking import Period, Picker, month_of, snake, year_of
from assetops_scenarios.question import CODE, WO, Call, Field, Question
from assetops_scenarios.records import Days, Machine

COUNT: Final = "integer, how many"


def orders(machine: Machine, days: Days, kind: str | None = None) -> Call:
    """The call that lists a machine's work orders of a period."""
    arguments = {"equipment_id": machine.id, **days.arguments, **({"kind": kind} if kind else {})}
    return Call(
        "list_workorders",
        arguments,
        f"{kind or 'all'}_work_orders_of_{snake(machine.name)}",
        machine=machine,
        instead=("count_workorders", *CODE),
    )


def look_up(machine: Machine) -> Call:
    """The call with which every solution may begin: which machine is meant."""
    return Call("list_equipment", {}, "equipment_of_the_site", needed=False)


def count(picker: Picker) -> Question | None:
    """How many work orders were finished in a year, a quarter or some weeks."""
    machine = picker.maintained()
    period = picker.rng.choice((picker.year, picker.year, picker.quarter, picker.span))()
    return count_of(picker, machine, period)


def count_of(picker: Picker, machine: Machine, period: Period) -> Question:
    """The number of jobs, for a machine that may or may not exist."""
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many jobs on the work order list were completed for {who} in {period.said}?",
        f"Give me the number of work orders completed on {who} in {period.said}.",
        f"Get the work orders of equipment {who} for {period.said} and tell me how many were completed.",
    )
    found = len(picker.work.finished(machine.id, period.days))
    return Question(
        template="work_order_count",
        text=text,
        category="Knowledge Query",
        stage=4,
        plan=[
            (WO, f"Find the equipment record of {machine.name}."),
            (WO, f"Retrieve all work orders of {machine.name} completed in {period.said}."),
            (WO, "Count the work orders and report the number."),
        ],
        calls=[look_up(machine), orders(machine, period.days)],
        fields={"work_orders": Field(found, COUNT)},
        expected=f"{found} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
    )


def by_kind(picker: Picker) -> Question | None:
    """How many preventive, or corrective, work orders were finished in a year."""
    kind = picker.rng.choice(("preventive", "corrective"))
    return kind_of(picker, picker.maintained(), picker.year(), kind)


def kind_of(picker: Picker, machine: Machine, period: Period, kind: str) -> Question:
    """The number of jobs of that kind."""
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many {kind} work orders were completed for {who} in {period.said}?",
        f"I would like to know how much {kind} work was done on {who} in {period.said}: the number of completed jobs.",
        f"Retrieve the {kind} work order details of {who} completed in {period.said} and count them.",
    )
    found = len(picker.work.finished(machine.id, period.days, kind))
    return Question(
        template="work_orders_of_kind",
        text=text,
        category="Knowledge Query",
        stage=4,
        plan=[
            (WO, f"Retrieve the {kind} work orders of {machine.name} for {period.said}."),
            (WO, f"Count the {kind} work orders and report the number."),
        ],
        calls=[look_up(machine), orders(machine, period.days, kind)],
        fields={"work_orders": Field(found, COUNT)},
        expected=f"{found} {kind} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
    )


def split(picker: Picker) -> Question | None:
    """How many preventive and how many corrective work orders were finished."""
    machine = picker.maintained()
    period = picker.rng.choice((picker.year, picker.span))()
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Of the work completed on {who} in {period.said}, how much was planned upkeep and how much was repair?",
        f"Split the work orders of {who} completed in {period.said} into preventive and corrective.",
        f"How many preventive and how many corrective jobs were completed on {who} in {period.said}?",
    )
    preventive, corrective = (
        len(picker.work.finished(machine.id, period.days, kind)) for kind in ("preventive", "corrective")
    )
    listed = look_up(machine)
    return Question(
        template="preventive_and_corrective",
        text=text,
        category="Data Query",
        stage=4,
        plan=[
            (WO, f"Find the equipment record of {machine.name}."),
            (WO, f"Retrieve the preventive work orders of {machine.name} completed in {period.said}."),
            (WO, f"Retrieve the corrective work orders of {machine.name} completed in {period.said}."),
            (WO, "Report both counts."),
        ],
        calls=[
            listed,
            after(orders(machine, period.days, "preventive"), listed),
            after(orders(machine, period.days, "corrective"), listed),
        ],
        fields={"preventive": Field(preventive, COUNT), "corrective": Field(corrective, COUNT)},
        expected=f"{preventive} preventive and {corrective} corrective work orders of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def distribution(picker: Picker) -> Question | None:
    """How the jobs of a year are spread over failure codes."""
    machine, period = picker.maintained(), picker.year()
    codes = picker.work.codes(machine.id, period.days)
    if not 2 <= len(codes) <= 12:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"I would like to check the work order distribution of {who} in {period.said}: which failure codes came up?",
        f"Which failure codes stand on the jobs completed on {who} in {period.said}, and how many jobs have one?",
    )
    total = int(codes.sum())
    return Question(
        template="code_distribution",
        text=text,
        category="Inference Query",
        stage=2,
        plan=[
            (WO, f"Retrieve the work orders of {machine.name} completed in {period.said}."),
            (WO, "Group the work orders by failure code and count them."),
            (WO, "Report the codes and the number of work orders with a code."),
        ],
        calls=[look_up(machine), grouped(machine, period.days, "primary_code")],
        fields={
            "codes": Field(sorted(map(str, codes.index)), "list of text, each failure code once"),
            "work_orders": Field(total, "integer, how many completed jobs have a failure code"),
        },
        expected=f"{len(codes)} failure codes on {total} work orders of {machine.id} in {period.said}: "
        + ", ".join(f"{code} {times} times" for code, times in codes.items())
        + ".",
        machines=(machine,),
    )


def grouped(machine: Machine, days: Days, by: str, kind: str | None = None) -> Call:
    """The call that counts a machine's work orders by something."""
    arguments = {
        "equipment_id": machine.id,
        **days.arguments,
        **({"kind": kind} if kind else {}),
        "group_by": by,
    }
    return Call(
        "count_workorders",
        arguments,
        f"work_orders_of_{snake(machine.name)}_by_{by}",
        machine=machine,
        instead=("list_workorders", *CODE),
    )


def top_code(picker: Picker) -> Question | None:
    """Which failure code was used most often; only where one stands alone at the top."""
    machine, period = picker.maintained(), picker.year()
    kind = picker.rng.choice((None, "preventive", "corrective"))
    codes = picker.work.codes(machine.id, period.days, kind)
    if len(codes) < 2 or codes.iloc[0] == codes.iloc[1]:
        return None
    who, jobs = picker.call_it(machine), f"{kind} jobs" if kind else "jobs"
    text = picker.one_of(
        f"What was the most frequent failure code on the {jobs} completed for {who} in {period.said}?",
        f"Looking at the {jobs} completed on {who} in {period.said}, which failure code came up most often, "
        "and how many times?",
    )
    code, times = str(codes.index[0]), int(codes.iloc[0])
    return Question(
        template="top_failure_code",
        text=text,
        category="Inference Query",
        stage=2,
        plan=[
            (WO, f"Retrieve the {jobs} of {machine.name} completed in {period.said} with their failure codes."),
            (WO, "Count how often each failure code occurs and rank the codes."),
            (WO, "Report the most frequent failure code and its count."),
        ],
        calls=[look_up(machine), grouped(machine, period.days, "primary_code", kind)],
        fields={"code": Field(code, "text, the failure code"), "count": Field(times, COUNT)},
        expected=f"{code}, on {times} work orders of {machine.id} in {period.said}.",
        machines=(machine,),
    )


def busiest_month(picker: Picker) -> Question | None:
    """In which month of a year most work was finished; only where one month stands alone."""
    machine, period = picker.maintained(), picker.year()
    months = picker.work.finished(machine.id, period.days)["at"].dt.month.value_counts()
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
        stage=2,
        plan=[
            (WO, f"Retrieve all work orders of {machine.name} completed in {period.said}."),
            (WO, "Group the work orders by month of completion and count them."),
            (WO, "Report the month with the highest count."),
        ],
        calls=[look_up(machine), grouped(machine, period.days, "month")],
        fields={"month": Field(f"{year}-{month:02d}", "month, YYYY-MM"), "count": Field(most, COUNT)},
        expected=f"{calendar.month_name[month]} {year}, with {most} work orders of {machine.id}.",
        machines=(machine,),
    )


def last_month(picker: Picker) -> Question | None:
    """How many work orders were finished in the month before the site's present one."""
    machine, now = picker.maintained(), picker.records.now
    ago = picker.rng.choice((1, 2))
    number = now.year * 12 + now.month - 1 - ago
    period = month_of(number // 12, number % 12 + 1)
    said = "last month" if ago == 1 else "the month before last"
    who = picker.call_it(machine)
    text = picker.one_of(
        f"How many work orders did we complete on {who} {'in ' if ago == 2 else ''}{said}?",
        f"Count the jobs completed on {who} {'in ' if ago == 2 else ''}{said}.",
    )
    found = len(picker.work.finished(machine.id, period.days))
    return Question(
        template="last_month",
        text=text,
        category="Data Query",
        stage=3,
        plan=[
            (WO, "Get the current date of the site."),
            (WO, f"Work out which dates {said} covers."),
            (WO, f"Retrieve the work orders of {machine.name} completed in that month and count them."),
        ],
        calls=[
            Call("currentdatetime", {}, "present_moment", instead=("current_time_english",)),
            orders(machine, period.days),
        ],
        fields={"work_orders": Field(found, COUNT)},
        expected=f"{found} work orders of {machine.id} were finished in {period.said}.",
        machines=(machine,),
        capabilities=("temporal",),
    )


def rank(picker: Picker) -> Question | None:
    """Which of three machines had most finished work; only where one stands alone."""
    busy = picker.work.busy()
    machines = [picker.records.machine(one) for one in picker.rng.sample(busy, 3)]
    period, kind = picker.year(), picker.rng.choice((None, "corrective"))
    counts = {one.id: len(picker.work.finished(one.id, period.days, kind)) for one in machines}
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if ranked[0][1] == ranked[1][1]:
        return None
    names = [picker.call_it(one) for one in machines]
    jobs = f"{kind} work" if kind else "work"
    text = picker.one_of(
        f"Which of {names[0]}, {names[1]} and {names[2]} needed the most {jobs} in {period.said}, by completed jobs?",
        f"Compare {names[0]}, {names[1]} and {names[2]}: on which one was the most {jobs} completed in {period.said}?",
    )
    listed = look_up(machines[0])
    return Question(
        template="most_work",
        text=text,
        category="Complex Query",
        stage=4,
        plan=[
            (WO, "Find the equipment records of the machines."),
            *[(WO, f"Retrieve the {jobs} orders of {one.name} completed in {period.said}.") for one in machines],
            (WO, "Compare the counts and report the machine with the most."),
        ],
        calls=[listed, *[after(orders(one, period.days, kind), listed) for one in machines]],
        fields={
            "equipment": Field(ranked[0][0], "text, the equipment's identifier"),
            "count": Field(ranked[0][1], COUNT),
        },
        expected=f"{ranked[0][0]}, with {ranked[0][1]} work orders in {period.said}.",
        machines=tuple(machines),
    )


def after(call: Call, *before: Call) -> Call:
    """The call as one that follows others, not the one written before it."""
    return replace(call, after=tuple(one.output for one in before))


def code_meaning(picker: Picker) -> Question | None:
    """What the most frequent code of a year means, and how often it was used in another year."""
    machine, period = picker.maintained(), picker.year()
    codes = picker.work.codes(machine.id, period.days)
    first, last = picker.work.years()
    other = year_of(picker.rng.randint(first, last))
    if len(codes) < 2 or codes.iloc[0] == codes.iloc[1] or other == period:
        return None
    code = str(codes.index[0])
    if code not in picker.records.primary_codes:
        return None
    times = int(picker.work.codes(machine.id, other.days).get(code, 0))
    who = picker.call_it(machine)
    text = (
        f"Take the failure code that came up most often on {who} in {period.said}: which one is it, "
        f"and on how many jobs of {other.said} did it come up again?"
    )
    return Question(
        template="code_in_another_year",
        text=text,
        category="Complex Query",
        stage=2,
        plan=[
            (WO, f"Count the failure codes of {machine.name} in {period.said} and take the most frequent one."),
            (WO, f"Count how often this code occurs on the work orders of {machine.name} in {other.said}."),
            (WO, "Report the code and the second count."),
        ],
        calls=[
            look_up(machine),
            grouped(machine, period.days, "primary_code"),
            Call(
                "count_workorders",
                {"equipment_id": machine.id, **other.days.arguments, "group_by": "primary_code"},
                f"code_counts_of_{other.said}",
                machine=machine,
                instead=("list_workorders", *CODE),
            ),
        ],
        fields={"code": Field(code, "text, the failure code"), "count": Field(times, COUNT)},
        expected=f"{code} ({picker.records.primary_codes[code]}), {times} times in {other.said}.",
        machines=(machine,),
    )
