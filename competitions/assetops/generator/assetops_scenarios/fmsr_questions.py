"""Questions about failure modes, and which sensors tell of which."""

from __future__ import annotations

from typing import Final

from assetops_scenarios.iot_questions import NAMES, installed_sensors, measured_sensors, unneeded
from assetops_scenarios.picking import Picker, snake
from assetops_scenarios.question import FMSR, Call, Field, Question
from assetops_scenarios.records import Machine
from assetops_scenarios.work_questions import COUNT, after

MODES: Final = "list of text, failure modes as the library writes them"


def modes_call(machine: Machine) -> Call:
    """The call that lists failure modes."""
    output = f"failure_modes_of_{snake(machine.name)}"
    return Call("get_failure_modes", {"asset_name": machine.name}, output, agent=FMSR, machine=machine)


def mapping(machine: Machine) -> Call:
    """The call that says which sensor tells of which failure mode."""
    arguments = {"asset_name": machine.name}
    output = f"sensors_by_failure_mode_of_{snake(machine.name)}"
    return Call("get_failure_mode_sensor_mapping", arguments, output, agent=FMSR, machine=machine)


def known(picker: Picker) -> Machine:
    """A machine of a class with known failure modes."""
    classes = set(picker.failures.classes())
    return picker.rng.choice([one for one in picker.records.machines if one.asset_class in classes])


def class_as_machine(asset_class: str) -> Machine:
    """A class of assets where a tool takes one in place of a machine."""
    return Machine(asset_class, asset_class, "", asset_class)


def modes_of_class(picker: Picker) -> Question | None:
    """The failure modes of a class of assets."""
    asset_class = picker.rng.choice(picker.failures.classes())
    modes = picker.failures.modes(asset_class)
    text = picker.one_of(
        f"List all failure modes of the asset {asset_class}.",
        f"In which ways can a {asset_class.lower()} fail? List the known failure modes.",
    )
    return Question(
        template="modes_of_class",
        text=text,
        category="Knowledge Query",
        stage=1,
        plan=[(FMSR, f"Get the failure modes of {asset_class}."), (FMSR, "Report the list.")],
        calls=[modes_call(class_as_machine(asset_class))],
        fields={"failure_modes": Field(modes, MODES)},
        expected=f"{len(modes)} failure modes: {', '.join(modes)}.",
        entity=asset_class,
    )


def modes_of_asset(picker: Picker) -> Question | None:
    """The failure modes of a machine, and how many there are."""
    machine = known(picker)
    modes = picker.failures.modes(machine.asset_class)
    who = picker.call_it(machine)
    text = picker.one_of(
        f"List all failure modes of asset {who}.", f"What can go wrong with {who}? I need its failure modes."
    )
    return Question(
        template="modes_of_asset",
        text=text,
        category="Knowledge Query",
        stage=1,
        plan=[(FMSR, f"Get the failure modes of {machine.name}."), (FMSR, "Report the list and its length.")],
        calls=[modes_call(machine)],
        fields={"failure_modes": Field(modes, MODES), "count": Field(len(modes), COUNT)},
        expected=f"{len(modes)} failure modes: {', '.join(modes)}.",
        machines=(machine,),
    )


def modes_by_sensor(picker: Picker) -> Question | None:
    """Which failure modes a sensor tells of."""
    machine = known(picker)
    sensor = picker.rng.choice(picker.failures.sensors(machine.asset_class))
    modes = picker.failures.modes_told_by(machine.asset_class, [sensor])
    who = picker.call_it(machine)
    text = picker.one_of(
        f"List all failure modes of {who} that can be detected by its {sensor.lower()}.",
        f"If I only look at the {sensor.lower()} of {who}, which of its failure modes can I notice?",
        f"When the {sensor.lower()} of {who} behaves oddly, which failure modes may be behind it?",
    )
    return Question(
        template="modes_by_sensor",
        text=text,
        category="Knowledge Query",
        stage=2,
        plan=[
            (FMSR, f"Get the failure modes of {machine.name}."),
            (FMSR, "Map the failure modes to the sensors that tell of them."),
            (FMSR, f"Report the failure modes that {sensor} tells of."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={"failure_modes": Field(modes, MODES)},
        expected=f"{sensor} tells of {len(modes)} failure modes: {', '.join(modes)}.",
        machines=(machine,),
    )


def sensors_by_mode(picker: Picker) -> Question | None:
    """Which sensors tell of a failure mode."""
    machine = known(picker)
    mode = picker.rng.choice(picker.failures.modes(machine.asset_class))
    sensors = picker.failures.sensors_of(machine.asset_class, mode)
    if not sensors:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"List all sensors of {who} that are relevant to {mode.lower()}.",
        f"If {mode.lower()} occurs on {who}, which sensors should be monitored for it?",
    )
    return Question(
        template="sensors_by_mode",
        text=text,
        category="Knowledge Query",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (FMSR, f"Report the sensors relevant to {mode.lower()}."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={"sensors": Field(sensors, NAMES)},
        expected=f"{mode}: {len(sensors)} sensors, {', '.join(sensors)}.",
        machines=(machine,),
    )


def modes_by_kind(picker: Picker) -> Question | None:
    """Which failure modes a kind of sensor tells of: temperature, pressure, power."""
    machine = known(picker)
    kinds = picker.sensors.kinds(machine.id)
    known_here = [one for one in picker.failures.sensors(machine.asset_class) if one in kinds]
    by_kind = {kind: {one for one in known_here if kinds[one] == kind} for kind in sorted(set(kinds.values()))}
    # Only a kind that the sensors' names tell too: a setpoint of a temperature is no temperature to some.
    clear = [
        kind for kind, found in by_kind.items() if found and found == {one for one in known_here if kind in one.lower()}
    ]
    kind = picker.some(clear)
    if kind is None:
        return None
    sensors = sorted(by_kind[kind])
    modes = picker.failures.modes_told_by(machine.asset_class, sensors)
    who = picker.call_it(machine)
    text = picker.one_of(
        f"List all failure modes of {who} that can be detected by {kind} sensors.",
        f"Are there failure modes of {who} that can be predicted by monitoring {kind} sensor data? List them.",
    )
    return Question(
        template="modes_by_kind",
        text=text,
        category="Inference Query",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (FMSR, f"Keep the {kind} sensors."),
            (FMSR, "Report the failure modes that at least one of them tells of."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={"failure_modes": Field(modes, MODES)},
        expected=f"{', '.join(sorted(sensors))} tell of {len(modes)} failure modes: {', '.join(modes)}.",
        machines=(machine,),
    )


def best_sensor(picker: Picker) -> Question | None:
    """Which sensor tells of most failure modes; only where one stands alone."""
    machine = known(picker)
    told = {
        name: len(picker.failures.modes_told_by(machine.asset_class, [name]))
        for name in picker.failures.sensors(machine.asset_class)
    }
    ranked = sorted(told.items(), key=lambda item: -item[1])
    if len(ranked) < 2 or ranked[0][1] == ranked[1][1]:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"If I could watch one sensor of {who} only, which one would tell of the most failure modes, and of how many?",
        f"Which sensor of {who} should be prioritised because it is relevant to most failure modes? How many are they?",
    )
    return Question(
        template="best_sensor",
        text=text,
        category="Decision Support",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (FMSR, "Count the failure modes of each sensor."),
            (FMSR, "Report the sensor with the most failure modes and their number."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={
            "sensor": Field(ranked[0][0], "text, the sensor's name"),
            "failure_modes": Field(ranked[0][1], COUNT),
        },
        expected=f"{ranked[0][0]}, which tells of {ranked[0][1]} failure modes.",
        machines=(machine,),
    )


def recipe(picker: Picker) -> Question | None:
    """Which sensors to build an anomaly model on."""
    machine = known(picker)
    modes = picker.rng.sample(picker.failures.modes(machine.asset_class), 2)
    sensors = sorted({one for mode in modes for one in picker.failures.sensors_of(machine.asset_class, mode)})
    who = picker.call_it(machine)
    text = (
        f"I want to build one anomaly model for {modes[0].lower()} and {modes[1].lower()} of {who}. Give me the "
        "sensors that it should use: all that are relevant to one of the two failures or to both."
    )
    return Question(
        template="model_recipe",
        text=text,
        category="Complex Query",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (FMSR, f"Take the sensors relevant to {modes[0].lower()}."),
            (FMSR, f"Take the sensors relevant to {modes[1].lower()}."),
            (FMSR, "Report all of them, each once."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={"sensors": Field(sensors, NAMES)},
        expected=f"{len(sensors)} sensors: {', '.join(sensors)}.",
        machines=(machine,),
    )


def hardest_mode(picker: Picker) -> Question | None:
    """Which failure modes only one sensor tells of."""
    machine = known(picker)
    modes = picker.failures.modes(machine.asset_class)
    single = [mode for mode in modes if len(picker.failures.sensors_of(machine.asset_class, mode)) == 1]
    if not single:
        return None
    who = picker.call_it(machine)
    return Question(
        template="modes_with_one_sensor",
        text=picker.one_of(
            f"Which failure modes of {who} would go unnoticed if a single instrument failed? List those that exactly "
            "one sensor is relevant to.",
            f"List the failure modes of {who} to which exactly one sensor is relevant.",
        ),
        category="Inference Query",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (FMSR, "Count the sensors of each failure mode and report the modes with exactly one."),
        ],
        calls=[unneeded(modes_call(machine)), mapping(machine)],
        fields={"failure_modes": Field(single, MODES)},
        expected=f"{len(single)} failure modes: {', '.join(single)}.",
        machines=(machine,),
    )


# Several agents: what can be told with what is recorded, or with what is installed.


def monitorable(picker: Picker) -> Question | None:
    """Which failure modes can be told with the sensors that are recorded."""
    return _with_sensors(picker, recorded=True, missing=False)


def blind_spots(picker: Picker) -> Question | None:
    """Which failure modes no recorded sensor tells of."""
    return _with_sensors(picker, recorded=picker.rng.random() < 0.5, missing=True)


def _with_sensors(picker: Picker, *, recorded: bool, missing: bool) -> Question | None:
    classes = set(picker.failures.classes())
    fitting = [one for one in picker.sensors.recorded() if one.asset_class in classes]
    machine = picker.some(fitting)
    if machine is None:
        return None
    have = picker.sensors.listed(machine.id, "measured" if recorded else "installed")
    told = picker.failures.modes_told_by(machine.asset_class, have)
    modes = picker.failures.modes(machine.asset_class)
    wanted = [mode for mode in modes if (mode in told) != missing]
    if not wanted and not missing:
        return None
    who, word = picker.call_it(machine), "recorded" if recorded else "installed"
    site = picker.say_site(machine)
    if missing:
        text = picker.one_of(
            f"Which failure modes of {who} at {site} can not be told by any of its {word} sensors? An empty list is an "
            "answer too.",
            f"Where are we blind with {who} at {site}? List the failure modes that no {word} sensor tells of, or an "
            "empty list.",
        )
    else:
        text = picker.one_of(
            f"Get the failure modes of {who} at {site} and only include those that can be monitored with the {word} "
            "sensors.",
            f"What are the failure modes of {who} at {site} that can be identified by analysing the data of its {word} "
            "sensors?",
        )
    listing = measured_sensors(machine) if recorded else installed_sensors(machine)
    mapped = after(mapping(machine))
    return Question(
        template="blind_spots" if missing else "monitorable_modes",
        text=text,
        category="Inference Query",
        stage=2,
        plan=[
            (listing.agent, f"List the {word} sensors of {machine.name}."),
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (
                FMSR,
                f"Report the failure modes that {'none' if missing else 'at least one'} of these sensors tells of.",
            ),
        ],
        calls=[listing, mapped],
        fields={"failure_modes": Field(wanted, MODES)},
        expected=f"{len(wanted)} failure modes: {', '.join(wanted) or 'none'}.",
        machines=(machine,),
    )


def sensors_to_use(picker: Picker) -> Question | None:
    """Which recorded sensors are relevant to a failure mode."""
    classes = set(picker.failures.classes())
    machine = picker.some([one for one in picker.sensors.recorded() if one.asset_class in classes])
    if machine is None:
        return None
    mode = picker.rng.choice(picker.failures.modes(machine.asset_class))
    have = set(picker.sensors.listed(machine.id, "measured"))
    sensors = [one for one in picker.failures.sensors_of(machine.asset_class, mode) if one in have]
    if not sensors:
        return None
    who, site = picker.call_it(machine), picker.say_site(machine)
    return Question(
        template="recorded_sensors_of_mode",
        text=picker.one_of(
            f"List the sensors of {who} at {site} that are relevant to {mode.lower()} and are really recorded.",
            f"If {mode.lower()} is feared on {who} at {site}, the recorded data of which sensors should I look at?",
        ),
        category="Complex Query",
        stage=2,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to the sensors that tell of them."),
            (measured_sensors(machine).agent, f"List the recorded sensors of {machine.name}."),
            (FMSR, f"Report the recorded sensors that are relevant to {mode.lower()}."),
        ],
        calls=[mapping(machine), after(measured_sensors(machine))],
        fields={"sensors": Field(sensors, NAMES)},
        expected=f"{len(sensors)} sensors: {', '.join(sensors)}.",
        machines=(machine,),
    )
