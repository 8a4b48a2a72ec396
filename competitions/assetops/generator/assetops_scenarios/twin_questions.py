"""Questions that the records cannot answer, each with a near twin, of the same wording, that they can answer.

As 507 and 511 of the paper: the surface is the same and the right behaviour is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from assetops_scenarios.event_questions import SAID, group_count
from assetops_scenarios.fmsr_questions import MODES, class_as_machine, known, modes_call
from assetops_scenarios.iot_questions import history, mean_of, mean_text, measured_sensors, unneeded
from assetops_scenarios.picking import Picker, month_of, say_day, year_of
from assetops_scenarios.question import CODE, FMSR, IOT, WO, Call, Field, Question
from assetops_scenarios.records import Days, Machine
from assetops_scenarios.work_questions import count_of

Pair = tuple[Question, Question]
_WORK_TOOLS: Final = ("list_workorders", "count_workorders", "list_events", "list_alerts", "list_anomalies", *CODE)
_UNMEASURED: Final = ("oil debris count", "noise level", "ultrasonic emission", "refrigerant purity", "humidity")
# Kinds of assets that a failure mode library of building services does not have.
_FOREIGN: Final = ("Wind Turbine", "Escalator", "Conveyor Belt", "Gas Turbine", "Bridge Crane", "Robot Arm")


def unknown_equipment(picker: Picker) -> Pair | None:
    """A machine that the site does not have, and one that it has."""
    period, stranger, machine = picker.year(), picker.stranger(), picker.maintained()
    unknown = count_of(picker, stranger, period)
    declined = replace(
        unknown,
        template="unknown_equipment",
        plan=[
            (WO, f"Look for {stranger.name} in the list of equipment."),
            (WO, "Report that there is no such equipment."),
        ],
        calls=[
            Call(
                "list_equipment",
                {},
                "equipment_of_the_site",
                instead=(*_WORK_TOOLS, "get_asset", "registry_assets", "assets"),
                refused=True,
            )
        ],
        expected=f"There is no {stranger.name}: the question cannot be answered.",
        declined=True,
        machines=(stranger,),
    )
    return declined, count_of(picker, machine, period)


def outside_record(picker: Picker) -> Pair | None:
    """A year before monitoring began, and one in which it ran (sometimes with nothing to report)."""
    group = picker.rng.choice(("ALERT", "ANOMALY"))
    machine = picker.monitored()
    begin, _ = picker.work.coverage(group)
    first = picker.work.years()[0]
    before = year_of(picker.rng.randint(min(first, begin.year - 1), begin.year - 1))
    inside = group_count(picker, machine, group, picker.year(monitored=True))
    return _out_of(picker, group_count(picker, machine, group, before), group, before.said, "outside_record"), inside


def _out_of(picker: Picker, asked: Question, group: str, said: str, template: str) -> Question:
    first, last = picker.work.coverage(group)
    return replace(
        asked,
        template=template,
        plan=[
            (WO, f"Check for which time {SAID[group]} are on record."),
            (WO, f"Report that {said} lies outside of the record."),
        ],
        calls=[Call("list_events", {"group": group}, f"recorded_{SAID[group]}", instead=_WORK_TOOLS, refused=True)],
        expected=f"No {SAID[group]} of {said} are on record, only those from {say_day(first)} to {say_day(last)}.",
        declined=True,
    )


def future(picker: Picker) -> Pair | None:
    """A month that has not come yet, and the same month of a recorded year."""
    machine, month = picker.monitored(), picker.rng.randint(1, 12)
    now = picker.records.now
    coming = month_of(now.year + picker.rng.randint(1, 2), month)
    recorded = month_of(picker.year(monitored=True).days.start.year, month)
    declined = _out_of(picker, group_count(picker, machine, "ALERT", coming), "ALERT", coming.said, "future")
    return replace(declined, category="Prediction"), group_count(picker, machine, "ALERT", recorded)


def sensor_not_recorded(picker: Picker) -> Pair | None:
    """A quantity that nobody records on the machine, and one that is recorded."""
    machine = picker.measured()
    day = picker.day_of(machine)
    recorded = picker.sensors.listed(machine.id, "measured")
    sensor = picker.some([one for one in recorded if one not in ("Run Status", "Schedule")])
    known_one = mean_of(picker, machine, sensor, day) if sensor else None
    if known_one is None:
        return None
    silent = [one for one in picker.sensors.listed(machine.id, "installed") if one not in recorded]
    missing = picker.rng.choice([*[one.lower() for one in silent], *_UNMEASURED[:2]])
    declined = replace(
        known_one,
        template="sensor_not_recorded",
        text=mean_text(picker, machine, missing, day),
        plan=[
            (IOT, f"List the recorded sensors of {machine.name}."),
            (IOT, f"Report that the {missing} is not recorded."),
        ],
        calls=[replace(measured_sensors(machine), instead=("history", "asset_sensors"), refused=True)],
        expected=f"The {missing} of {machine.name} is not recorded: cannot be answered.",
        declined=True,
    )
    return declined, known_one


def sensor_gap(picker: Picker) -> Pair | None:
    """A day on which a sensor recorded nothing, and one on which it did."""
    found = []
    for machine in picker.sensors.recorded():
        for sensor in picker.sensors.listed(machine.id, "measured"):
            if sensor not in ("Run Status", "Schedule"):
                found += [(machine, sensor, day) for day in picker.sensors.empty_days(machine.id, sensor)]
    chosen = picker.some(found)
    if chosen is None:
        return None
    machine, sensor, empty = chosen
    day = picker.day_of(machine)
    answered = mean_of(picker, machine, sensor, day)
    if answered is None:
        return None
    what = picker.say_sensor(sensor)
    declined = replace(
        answered,
        template="sensor_gap",
        text=mean_text(picker, machine, what, empty),
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {say_day(empty)}."),
            (IOT, "Report that there are no readings of that day."),
        ],
        calls=[
            unneeded(measured_sensors(machine)),
            replace(history(machine, Days(empty, empty), sensor), refused=True),
        ],
        expected=f"{sensor} has no reading on {say_day(empty)}: cannot be answered.",
        declined=True,
    )
    return declined, answered


def foreign_asset(picker: Picker) -> Pair | None:
    """A kind of asset that the failure mode library does not have, and a machine whose kind it has."""
    name = picker.rng.choice(_FOREIGN)
    if name in picker.failures.classes():
        return None
    machine = known(picker)
    return _modes(picker, class_as_machine(name), declined=True), _modes(picker, machine, declined=False)


def _modes(picker: Picker, asked: Machine, *, declined: bool) -> Question:
    who = asked.name if declined else picker.call_it(asked)
    modes = picker.failures.modes(asked.asset_class)
    call = modes_call(asked)
    return Question(
        template="foreign_asset" if declined else "modes_on_record",
        text=picker.one_of(
            f"Which failure modes of asset {who} are on record in our library?",
            f"List the failure modes that our library holds for {who}.",
        ),
        category="Knowledge Query",
        stage=1,
        plan=[
            (FMSR, f"Get the failure modes of {asked.name}."),
            (FMSR, "Report that the library has none." if declined else "Report the list."),
        ],
        calls=[replace(call, instead=("get_failure_mode_sensor_mapping",), refused=True) if declined else call],
        fields={"failure_modes": Field(modes, MODES)},
        expected=f"The library has no failure modes of {who}."
        if declined
        else f"{len(modes)} failure modes: {', '.join(modes)}.",
        declined=declined,
        entity=asked.asset_class,
    )
