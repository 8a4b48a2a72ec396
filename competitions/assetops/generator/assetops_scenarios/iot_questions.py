"""Questions about sites, assets, their sensors and what these recorded."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import pandas as pd

from assetops_scenarios.picking import Picker, month_of, say_day, snake
from assetops_scenarios.question import IOT, Call, Field, Question
from assetops_scenarios.records import Days, Machine
from assetops_scenarios.work_questions import COUNT, after

NAMES: Final = "list of text, names as the site's records write them"


def history(machine: Machine, days: Days, sensor: str | None = None, output: str | None = None) -> Call:
    """The call that fetches recorded readings into a file."""
    arguments = {
        "site_name": machine.site,
        "assetnum": machine.name,
        **days.history,
        **({"sensors": [sensor]} if sensor else {}),
    }
    return Call("history", arguments, output or f"readings_of_{snake(machine.name)}", agent=IOT, machine=machine)


def read_file(of: Call) -> Call:
    """The call that looks into the file that another one left."""
    return Call(
        "jsonreader",
        {"file_name": f"@{of.output}"},
        f"rows_of_{of.output}",
        agent=of.agent,
        after=(of.output,),
        needed=False,
    )


def measured_sensors(machine: Machine) -> Call:
    """The call that lists which sensors are recorded."""
    arguments = {"site_name": machine.site, "assetnum": machine.name}
    return Call("sensors", arguments, f"recorded_sensors_of_{snake(machine.name)}", agent=IOT, machine=machine)


def installed_sensors(machine: Machine) -> Call:
    """The call that lists which sensors are installed."""
    arguments = {"assetnum": machine.name}
    output = f"installed_sensors_of_{snake(machine.name)}"
    return Call("asset_sensors", arguments, output, agent=IOT, machine=machine)


def sites(picker: Picker) -> Question | None:
    """Which sites there are."""
    return Question(
        template="sites",
        text=picker.one_of("What sites do we get data from?", "Can you list the sites that are available?"),
        category="Knowledge Query",
        stage=1,
        plan=[(IOT, "List the available sites."), (IOT, "Report the names of the sites.")],
        calls=[Call("sites", {}, "available_sites", agent=IOT, instead=("registry_assets",))],
        fields={"sites": Field(list(picker.records.sites), NAMES)},
        expected=f"There are {len(picker.records.sites)} sites: {', '.join(picker.records.sites)}.",
        entity="Site",
    )


def _listed(site: str) -> Call:
    return Call(
        "registry_assets", {"site_name": site}, f"registered_assets_of_{snake(site)}", agent=IOT, instead=("assets",)
    )


def assets_of_class(picker: Picker) -> Question | None:
    """Which assets of a class a site has."""
    site = picker.rng.choice(picker.records.sites)
    here = [one for one in picker.records.machines if one.site == site]
    asset_class = picker.rng.choice(sorted({one.asset_class for one in here}))
    names = sorted(one.name for one in here if one.asset_class == asset_class)
    word = asset_class.lower() if asset_class != asset_class.upper() else asset_class
    text = picker.one_of(
        f"List all assets of the kind {word} at the {site} site.",
        f"Which {word} assets are there at {site}? I need their names.",
    )
    return Question(
        template="assets_of_class",
        text=text,
        category="Knowledge Query",
        stage=1,
        plan=[(IOT, f"List the assets at {site}."), (IOT, f"Keep those of the kind {word} and report their names.")],
        calls=[_listed(site)],
        fields={"assets": Field(names, NAMES)},
        expected=f"{len(names)} assets: {', '.join(names)}.",
        entity="Site",
    )


def asset_count(picker: Picker) -> Question | None:
    """How many assets a site has, and of how many kinds."""
    site = picker.rng.choice(picker.records.sites)
    here = [one for one in picker.records.machines if one.site == site]
    classes = sorted({one.asset_class for one in here})
    text = picker.one_of(
        f"How many assets are registered at the {site} facility, and of how many different kinds?",
        f"Tell me the number of registered assets at {site} and the number of kinds among them.",
    )
    return Question(
        template="asset_count",
        text=text,
        category="Knowledge Query",
        stage=1,
        plan=[(IOT, f"List the registered assets at {site}."), (IOT, "Count the assets and the kinds among them.")],
        calls=[_listed(site)],
        fields={"assets": Field(len(here), COUNT), "kinds": Field(len(classes), COUNT)},
        expected=f"{len(here)} assets of {len(classes)} kinds.",
        entity="Site",
    )


def asset_details(picker: Picker) -> Question | None:
    """What an asset is, and how many sensors are installed on it."""
    machine = picker.rng.choice(picker.records.machines)
    installed = picker.sensors.listed(machine.id, "installed")
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Get the details of {who}: what kind of asset is it, and how many sensors are installed on it?",
        f"Retrieve the metadata of {who} at {picker.say_site(machine)}. I need its kind and the number of installed "
        "sensors.",
    )
    record = Call("get_asset", {"assetnum": machine.name}, "asset_record", agent=IOT, machine=machine)
    return Question(
        template="asset_details",
        text=text,
        category="Data Query",
        stage=1,
        plan=[
            (IOT, f"Get the record of {machine.name}."),
            (IOT, f"List the installed sensors of {machine.name} and count them."),
            (IOT, "Report the kind of asset and the count."),
        ],
        calls=[
            Call(
                "get_asset",
                record.arguments,
                record.output,
                agent=IOT,
                machine=machine,
                instead=("registry_assets",),
            ),
            after(installed_sensors(machine)),
        ],
        fields={
            "kind": Field(machine.asset_class, "text, the kind of asset as the registry writes it"),
            "installed_sensors": Field(len(installed), COUNT),
        },
        expected=f"{machine.id} is of the kind {machine.asset_class} and has {len(installed)} sensors installed.",
        machines=(machine,),
    )


def recorded_sensors(picker: Picker) -> Question | None:
    """Which quantities are recorded of an asset."""
    machine = picker.measured()
    names = picker.sensors.listed(machine.id, "measured")
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Can I list all the metrics monitored on {who}? Use {picker.say_site(machine)}.",
        f"Which quantities are recorded for {who}?",
    )
    return Question(
        template="recorded_sensors",
        text=text,
        category="Knowledge Query",
        stage=1,
        plan=[(IOT, f"List the recorded sensors of {machine.name}."), (IOT, "Report their names.")],
        calls=[measured_sensors(machine)],
        fields={"sensors": Field(names, NAMES)},
        expected=f"{len(names)} quantities are recorded: {', '.join(names)}.",
        machines=(machine,),
    )


def silent_sensors(picker: Picker) -> Question | None:
    """Which sensors are installed and not recorded."""
    machine = picker.measured()
    recorded = set(picker.sensors.listed(machine.id, "measured"))
    silent = [name for name in picker.sensors.listed(machine.id, "installed") if name not in recorded]
    if not silent:
        return None
    who = picker.call_it(machine)
    text = picker.one_of(
        f"Which instruments are mounted on {who} but deliver no recorded data?",
        f"Compare what is installed on {who} with what is recorded: which installed sensors are not recorded?",
    )
    return Question(
        template="silent_sensors",
        text=text,
        category="Inference Query",
        stage=2,
        plan=[
            (IOT, f"List the installed sensors of {machine.name}."),
            (IOT, f"List the recorded sensors of {machine.name}."),
            (IOT, "Report the installed ones that are not recorded."),
        ],
        calls=[installed_sensors(machine), after(measured_sensors(machine))],
        fields={"sensors": Field(silent, NAMES)},
        expected=f"Installed and not recorded are {len(silent)}: {', '.join(silent)}.",
        machines=(machine,),
    )


def row_count(picker: Picker) -> Question | None:
    """How many observations a time window holds."""
    machine = picker.measured()
    period = picker.telemetry_month(machine)
    days, said = period.days, period.said
    if picker.rng.random() < 0.5:
        days = Days(days.start, days.start + timedelta(days=6))
        said = f"the week from {say_day(days.start)} to {say_day(days.end)}"
    sensor = picker.rng.choice([str(name) for name in picker.sensors.rows(machine.id, days).columns])
    found = picker.sensors.readings(machine.id, sensor, days)
    if found.empty:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    text = picker.one_of(
        f"Retrieve the readings of the {what} of {who} from {said}, both ends included. How many are there, and what "
        "was the highest one?",
        f"Download the data of the {what} of {who} for {said} at {picker.say_site(machine)}: I need the number of "
        "readings and the greatest of them.",
    )
    call = history(machine, days, sensor)
    return Question(
        template="reading_count",
        text=text,
        category="Data Query",
        stage=3,
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {said}."),
            (IOT, "Count the readings, find the greatest one and report both."),
        ],
        calls=[unneeded(measured_sensors(machine)), call, read_file(call)],
        fields={
            "readings": Field(len(found), "integer, readings that are not missing"),
            "highest": Field(round(float(found.max()), 4), "number", 0.01),
        },
        expected=f"{len(found)} readings of {sensor}, the highest {found.max():.4f}.",
        machines=(machine,),
    )


def unneeded(call: Call) -> Call:
    return replace(call, needed=False)


def reading_at(picker: Picker) -> Question | None:
    """What a sensor read at a moment."""
    machine = picker.measured()
    day = picker.day_of(machine)
    days = Days(day, day)
    sensor = picker.rng.choice([str(name) for name in picker.sensors.rows(machine.id, days).columns])
    readings = picker.sensors.readings(machine.id, sensor, days)
    if readings.empty:
        return None
    at = pd.Timestamp(picker.rng.choice(list(readings.index)))
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    text = picker.one_of(
        f"What was the {what} of {who} on {say_day(day)} at {at:%H:%M}, at {picker.say_site(machine)}?",
        f"Tell me the {what} that {who} showed at {at:%H:%M} on {say_day(day)}.",
    )
    value = round(float(readings[at]), 4)
    return Question(
        template="reading_at",
        text=text,
        category="Knowledge Query",
        stage=3,
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {say_day(day)}."),
            (IOT, f"Report the reading of {at:%H:%M}."),
        ],
        calls=_read_day(machine, days, sensor),
        fields={"value": Field(value, "number", 0.01)},
        expected=f"{sensor} read {value} at {at:%Y-%m-%d %H:%M}.",
        machines=(machine,),
    )


def _read_day(machine: Machine, days: Days, sensor: str) -> list[Call]:
    call = history(machine, days, sensor)
    return [unneeded(measured_sensors(machine)), call, read_file(call)]


def daily_mean(picker: Picker) -> Question | None:
    """The mean of a sensor over a day."""
    machine = picker.measured()
    day = picker.day_of(machine)
    sensor = picker.rng.choice([str(name) for name in picker.sensors.rows(machine.id, Days(day, day)).columns])
    return mean_of(picker, machine, sensor, day)


def mean_of(picker: Picker, machine: Machine, sensor: str, day: date) -> Question | None:
    """The mean of that sensor on that day; None without readings."""
    days = Days(day, day)
    readings = picker.sensors.readings(machine.id, sensor, days)
    if readings.empty:
        return None
    what = picker.say_sensor(sensor)
    value = round(float(readings.mean()), 4)
    return Question(
        template="daily_mean",
        text=mean_text(picker, machine, what, day),
        category="Data Query",
        stage=3,
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {say_day(day)}."),
            (IOT, "Compute the mean of the readings and report it."),
        ],
        calls=_read_day(machine, days, sensor),
        fields={"mean": Field(value, "number, the mean of the readings", 0.01)},
        expected=f"The mean of {sensor} is {value}.",
        machines=(machine,),
    )


def mean_text(picker: Picker, machine: Machine, what: str, day: date) -> str:
    """Ask for a day's mean; shared with the questions that must be declined."""
    who = picker.call_it(machine)
    return picker.one_of(
        f"What was the average {what} of {who} on {say_day(day)}?",
        f"Give me the mean {what} of {who} for {say_day(day)} at {picker.say_site(machine)}.",
    )


def last_month_peak(picker: Picker) -> Question | None:
    """The highest reading of the month before the site's present one."""
    now = picker.records.now
    number = now.year * 12 + now.month - 2
    period = month_of(number // 12, number % 12 + 1)
    machine = picker.measured()
    sensor = picker.rng.choice([str(name) for name in picker.sensors.rows(machine.id, period.days).columns])
    readings = picker.sensors.readings(machine.id, sensor, period.days)
    if readings.empty:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    call = history(machine, period.days, sensor)
    value = round(float(readings.max()), 4)
    return Question(
        template="last_month_peak",
        text=picker.one_of(
            f"How high did the {what} of {who} get last month?",
            f"Retrieve last month's {what} of {who} at {picker.say_site(machine)} and tell me the highest reading.",
        ),
        category="Data Query",
        stage=3,
        plan=[
            (IOT, "Get the current date of the site and work out the month before."),
            (IOT, f"Retrieve the {what} of {machine.name} for that month."),
            (IOT, "Report the highest reading."),
        ],
        calls=[
            Call("currentdatetime", {}, "present_moment", agent=IOT, instead=("current_time_english",)),
            call,
            read_file(call),
        ],
        fields={"highest": Field(value, "number", 0.01)},
        expected=f"The highest {sensor} in {period.said} is {value}.",
        machines=(machine,),
        capabilities=("temporal",),
    )


def warmer_machine(picker: Picker) -> Question | None:
    """On which of two machines the same quantity was higher over a week."""
    machines = picker.sensors.recorded()
    left, right = picker.rng.sample(machines, 2)
    common = sorted(
        set(picker.sensors.listed(left.id, "measured"))
        & set(picker.sensors.listed(right.id, "measured")) - {"Run Status", "Schedule"}
    )
    sensor = picker.some(common)
    weeks = [one for one in picker.sensors.weeks(left.id) if one in picker.sensors.weeks(right.id)]
    week = picker.some(weeks)
    if sensor is None or week is None:
        return None
    means = {one.name: picker.sensors.readings(one.id, sensor, week).mean() for one in (left, right)}
    low, high = sorted(means.values())
    if not high > low + 0.02 * abs(high) + 0.01:  # also where one of them is missing
        return None
    best = max(means, key=lambda name: means[name])
    what = picker.say_sensor(sensor)
    text = (
        f"Which one had the higher average {what} from {say_day(week.start)} to {say_day(week.end)}: "
        f"{picker.call_it(left)} or {picker.call_it(right)}?"
    )
    calls = [after(history(one, week, sensor)) for one in (left, right)]
    return Question(
        template="higher_mean",
        text=text,
        category="Complex Query",
        stage=3,
        plan=[
            (IOT, f"Retrieve the {what} of {left.name} for that week."),
            (IOT, f"Retrieve the {what} of {right.name} for that week."),
            (IOT, "Compute both means, compare them and report the higher one."),
        ],
        calls=[*calls, *[read_file(one) for one in calls]],
        fields={
            "asset": Field(best, "text, the asset's name"),
            "mean": Field(round(float(high), 4), "number, the higher mean", 0.01),
        },
        expected=f"{best}, with a mean of {high:.4f}.",
        machines=(left, right),
    )


def off_share(picker: Picker) -> Question | None:
    """For what share of a week's readings a machine drew no power."""
    machine = picker.powered()
    week = picker.some(picker.sensors.weeks(machine.id))
    if week is None:
        return None
    running = picker.sensors.running_share(machine.id, week)
    sensor = picker.sensors.power(machine.id) or ""
    readings = picker.sensors.readings(machine.id, sensor, week)
    if readings.empty or not 0.0 < running < 1.0:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    share = round(1.0 - running, 4)
    call = history(machine, week, sensor)
    return Question(
        template="off_share",
        text=(
            f"Was {who} standing still in the week of {say_day(week.start)}? Tell me for which share of the readings "
            f"its {what} was zero."
        ),
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (IOT, f"Retrieve the {what} of {machine.name} for the week."),
            (IOT, "Count the readings that are zero and divide by the number of readings."),
            (IOT, "Report the share."),
        ],
        calls=[unneeded(measured_sensors(machine)), call, read_file(call)],
        fields={"share": Field(share, "number from 0 to 1", 0.005)},
        expected=f"For {share:.1%} of the readings.",
        machines=(machine,),
    )


def longest_gap(picker: Picker) -> Question | None:
    """How long the longest interruption of a machine's recording was."""
    machine = picker.measured()
    period = picker.telemetry_month(machine)
    gap = picker.sensors.longest_gap(machine.id, period.days)
    if pd.isna(gap) or gap <= pd.Timedelta(minutes=15):
        return None
    who = picker.call_it(machine)
    hours = round(gap.total_seconds() / 3600, 4)
    call = history(machine, period.days)
    return Question(
        template="longest_gap",
        text=picker.one_of(
            f"Is anything missing in the recording of {who} for {period.said}? I need the longest time between two "
            "consecutive observations, in hours.",
            f"How long was the longest interruption of the data of {who} in {period.said}, from one observation to "
            "the next, in hours?",
        ),
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (IOT, f"Retrieve all readings of {machine.name} for {period.said}."),
            (IOT, "Find the longest time between two consecutive observations."),
            (IOT, "Report it in hours."),
        ],
        calls=[call, read_file(call)],
        fields={"hours": Field(hours, "number, hours", 0.01)},
        expected=f"{hours} hours.",
        machines=(machine,),
    )
