"""Questions that the records cannot answer, each with a near twin, of the same wording, that they can answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from quickstart_generator.event_questions import single_group_tools
from quickstart_generator.oracle import GROUPS, Days
from quickstart_generator.picking import Period, Picker, look_up, month_of, say_day, snake, year_of
from quickstart_generator.plant import Machine
from quickstart_generator.question import Call, Field, Question, refused
from quickstart_generator.vocabulary import UNRECORDED_SENSORS
from quickstart_generator.work_order_questions import count_of, count_text

Pair = tuple[Question, Question]
_COUNT = "integer, how many"
_WORK_TOOLS = ("get_work_orders", "count_failure_codes", "event_date_range", "get_events", "daily_event_counts")
_SENSOR_TOOLS = ("summarize_sensor", "get_sensor_readings")
_PERIOD_TOOLS = ("record_coverage", "event_date_range", "get_events", "daily_event_counts")


def unknown_equipment(picker: Picker) -> Pair | None:
    """A machine that the plant does not have, and one that it has."""
    period, stranger, machine = picker.year(), picker.stranger(), picker.machine()
    known = count_of(picker, machine, period, count_text(picker, machine, period))
    if known is None:
        return None
    unknown = replace(
        known,
        template="unknown_equipment",
        text=count_text(picker, stranger, period),
        plan=[
            ("WOAgent", f"Look for {stranger.name} in the list of equipment."),
            ("WOAgent", "Report that the plant has no such equipment."),
        ],
        calls=[replace(look_up(stranger), loose=("name",), refusals=refused(_WORK_TOOLS, stranger))],
        expected=f"The plant has no {stranger.name}: the question cannot be answered.",
        declined=True,
        machines=(stranger,),
    )
    return unknown, known


def outside_record(picker: Picker) -> Pair | None:
    """A year before monitoring began, and one in which it ran (sometimes with nothing to report)."""
    machine, group = picker.machine(), picker.rng.choice(("ALERT", "ANOMALY"))
    before = year_of(picker.rng.randint(picker.plant.begin.year + 1, picker.plant.monitored_from.year - 1))
    return _about_group(picker, machine, group, (before, picker.year(monitored=True)))


def _about_group(picker: Picker, machine: Machine, group: str, periods: tuple[Period, Period]) -> Pair:
    outside, inside = (
        _group_count(machine, group, period, _group_text(picker, machine, group, period)) for period in periods
    )
    found = picker.oracle.by_group(machine.id, periods[1].days)[GROUPS[group]]
    inside = replace(inside, fields={GROUPS[group]: Field(found, _COUNT)}, expected=f"{found} {GROUPS[group]}.")
    first, last = picker.oracle.coverage(group)
    declined = replace(
        outside,
        template="outside_record",
        expected=f"{GROUPS[group].capitalize()} were recorded from {first} to {last} only: cannot be answered.",
        declined=True,
        plan=[
            ("WOAgent", f"Check for which period the plant recorded {GROUPS[group]}."),
            ("WOAgent", f"Report that {periods[0].said} lies outside of the records."),
        ],
        calls=[Call("record_coverage", {}, "recorded_days", instead=_PERIOD_TOOLS[1:])],
    )
    return declined, inside


def _group_text(picker: Picker, machine: Machine, group: str, period: Period) -> str:
    who = picker.call_it(machine)
    return picker.one_of(
        f"How many {GROUPS[group]} were logged for {who} in {period.said}?",
        f"Tell me the number of {GROUPS[group]} on {who} in {period.said}.",
    )


def _group_count(machine: Machine, group: str, period: Period, text: str) -> Question:
    arguments = {"equipment": machine.id, **period.days.arguments, "groups": [group]}
    return Question(
        template="group_count",
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Find the equipment record of {machine.name}."),
            ("WOAgent", f"Retrieve the {GROUPS[group]} of {machine.name} for {period.said}."),
            ("WOAgent", "Count the events and report the number."),
        ],
        calls=[
            look_up(machine),
            Call("get_events", arguments, f"{GROUPS[group]}_found", machine=machine, instead=single_group_tools(group)),
        ],
        fields={GROUPS[group]: Field(0, _COUNT)},
        expected="",
        machines=(machine,),
    )


def future(picker: Picker) -> Pair | None:
    """A month that has not come yet, and the same month of a recorded year."""
    machine, month = picker.machine(), picker.rng.randint(1, 12)
    coming = month_of(picker.plant.end.year + picker.rng.randint(1, 2), month)
    recorded = month_of(picker.plant.end.year - 1, month)
    declined, known = _about_group(picker, machine, "ALERT", (coming, recorded))
    text = f"How many alerts will {picker.call_it(machine)} have in {coming.said}?"
    return replace(declined, template="future", text=text, category="Prediction"), known


def sensor_not_recorded(picker: Picker) -> Pair | None:
    """A quantity that nobody measures on the machine, and one that is measured."""
    machine = _with_sensors(picker)
    day = _usual_day(picker, machine)
    recorded = picker.rng.choice(_recorded(picker, machine))
    known = _sensor_question(picker, machine, recorded, day)
    if known is None:
        return None
    missing = picker.rng.choice(UNRECORDED_SENSORS)
    if picker.rng.random() < 0.4:  # the quantity is measured elsewhere, but not on this machine
        others = [one for one in picker.plant.machines if one.id not in picker.oracle.sensors]
        machine, missing = picker.rng.choice(others), recorded
    declined = replace(
        known,
        template="sensor_not_recorded",
        text=_sensor_text(picker, machine, missing, day),
        plan=[
            ("IoTAgent", f"List the sensors of {machine.name}."),
            ("IoTAgent", f"Report that {missing} is not recorded for {machine.name}."),
        ],
        calls=[replace(_list_sensors(machine), refusals=refused(_SENSOR_TOOLS, machine))],
        expected=f"{missing} is not recorded for {machine.id}: cannot be answered.",
        declined=True,
        machines=(machine,),
    )
    return declined, known


def sensor_gap(picker: Picker) -> Pair | None:
    """A day on which the recorder was down, and one on which it ran."""
    machine = _with_sensors(picker)
    sensor = picker.rng.choice(_recorded(picker, machine))
    silent = [day for day in _days(picker, machine) if picker.oracle.readings(machine.id, sensor, day).empty]
    if not silent:
        return None
    known = _sensor_question(picker, machine, sensor, _usual_day(picker, machine))
    if known is None:
        return None
    gap = picker.rng.choice(silent)
    declined = replace(
        known,
        template="sensor_gap",
        text=_sensor_text(picker, machine, sensor, gap),
        plan=[
            ("IoTAgent", f"List the sensors of {machine.name}."),
            ("IoTAgent", f"Retrieve the readings of {sensor} of {machine.name} for {say_day(gap.start)}."),
            ("IoTAgent", "Report that there are no readings on that day."),
        ],
        calls=[_list_sensors(machine), _summary(machine, sensor, gap)],
        expected=f"No reading of {sensor} of {machine.id} on {gap.start}: cannot be answered.",
        declined=True,
    )
    return declined, known


def _sensor_question(picker: Picker, machine: Machine, sensor: str, day: Days) -> Question | None:
    readings = picker.oracle.readings(machine.id, sensor, day).dropna()
    if len(readings) < 40:
        return None
    mean = float(readings.mean())
    return Question(
        template="sensor_mean",
        text=_sensor_text(picker, machine, sensor, day),
        category="Data Query",
        plan=[
            ("IoTAgent", f"List the sensors of {machine.name}."),
            ("IoTAgent", f"Retrieve the readings of {sensor} of {machine.name} for {say_day(day.start)}."),
            ("IoTAgent", "Average the readings and report the mean."),
        ],
        calls=[_list_sensors(machine), _summary(machine, sensor, day)],
        fields={"mean": Field(round(mean, 4), "number, empty readings left out", tolerance=max(0.01, abs(mean) / 1e3))},
        expected=f"The mean of {sensor} of {machine.id} on {day.start} is {mean:.4f}.",
        entity="Sensor",
        machines=(machine,),
    )


def _sensor_text(picker: Picker, machine: Machine, sensor: str, day: Days) -> str:
    who, said = picker.call_it(machine), say_day(day.start)
    return picker.one_of(
        f"What was the average {sensor.lower()} of {who} on {said}?",
        f"Give me the mean {sensor.lower()} measured on {who} on {said}.",
    )


def _list_sensors(machine: Machine) -> Call:
    arguments = {"equipment": machine.id}
    return Call(
        "list_sensors", arguments, f"sensors_of_{snake(machine)}", agent="IoTAgent", machine=machine,
        instead=_SENSOR_TOOLS,
    )  # fmt: skip


def _summary(machine: Machine, sensor: str, day: Days) -> Call:
    arguments = {"equipment": machine.id, "sensor": sensor, **day.arguments}
    return Call(
        "summarize_sensor", arguments, "reading_summary", agent="IoTAgent", machine=machine,
        instead=("get_sensor_readings",),
    )  # fmt: skip


def _with_sensors(picker: Picker) -> Machine:
    return picker.rng.choice([one for one in picker.plant.machines if one.id in picker.oracle.sensors])


def _recorded(picker: Picker, machine: Machine) -> list[str]:
    table = picker.oracle.sensors[machine.id]
    return [str(name) for name in table.columns if table[name].notna().any()]


def _days(picker: Picker, machine: Machine) -> list[Days]:
    """Every day from the first to the last reading of a machine."""
    index = picker.oracle.sensors[machine.id].index
    first, last = index.min().date(), index.max().date()
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return [Days(day, day) for day in days]


def _usual_day(picker: Picker, machine: Machine) -> Days:
    """A day on which the recorder ran."""
    sensor = _recorded(picker, machine)[0]
    days = _days(picker, machine)
    return picker.rng.choice([day for day in days if len(picker.oracle.readings(machine.id, sensor, day)) > 90])
