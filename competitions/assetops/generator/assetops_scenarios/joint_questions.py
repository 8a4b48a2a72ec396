"""Questions that need several agents: telemetry beside the log, failure modes beside the work that was done."""

from __future__ import annotations

from datetime import date, timedelta

from assetops_scenarios.care_questions import whole_record
from assetops_scenarios.event_questions import alerts
from assetops_scenarios.fmsr_questions import MODES, known, mapping, modes_call
from assetops_scenarios.iot_questions import history, measured_sensors, read_file, unneeded
from assetops_scenarios.picking import Picker, say_day
from assetops_scenarios.question import FMSR, IOT, WO, Field, Question
from assetops_scenarios.records import Days
from assetops_scenarios.work_questions import COUNT, after, grouped, look_up, orders


def reading_on_alert_day(picker: Picker) -> Question | None:
    """What a sensor showed on the day of the first alert of a month."""
    machines = [one for one in picker.sensors.recorded() if one.id in picker.work.watched("ALERT")]
    machine = picker.some(machines)
    if machine is None:
        return None
    period = picker.telemetry_month(machine)
    table = picker.records.alerts
    found = table[(table["owner"] == machine.id) & period.days.rows(table["at"])]["at"]
    if found.empty:
        return None
    day = found.min().date()
    sensor = picker.some([one for one in picker.sensors.listed(machine.id, "measured") if "Status" not in one])
    if sensor is None:
        return None
    readings = picker.sensors.readings(machine.id, sensor, Days(day, day))
    if readings.empty:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    listed = look_up(machine)
    call = history(machine, Days(day, day), sensor)
    return Question(
        template="reading_on_alert_day",
        text=picker.one_of(
            f"On which day of {period.said} did {who} raise its first alert, and what was its average {what} on that "
            f"day at {picker.say_site(machine)}?",
            f"Find the day of the first alert of {who} in {period.said} and tell me the mean {what} of that day.",
        ),
        category="Complex Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for {period.said} and find the day of the first one."),
            (IOT, f"Retrieve the {what} of {machine.name} for that day."),
            (IOT, "Compute the mean of the readings and report day and mean."),
        ],
        calls=[listed, alerts(machine, period.days), call, read_file(call)],
        fields={
            "day": Field(day.isoformat(), "date, YYYY-MM-DD"),
            "mean": Field(round(float(readings.mean()), 4), "number, the mean of the readings", 0.01),
        },
        expected=f"{say_day(day)}, with a mean of {readings.mean():.4f}.",
        machines=(machine,),
    )


def before_and_after_repair(picker: Picker) -> Question | None:
    """What a sensor showed the day before and the day after the last repair on record."""
    machine = picker.measured()
    span = picker.sensors.span(machine.id)
    repairs = picker.work.finished(
        machine.id, Days(span.start + timedelta(days=2), span.end - timedelta(days=2)), "corrective"
    )
    if repairs.empty:
        return None
    day = repairs["at"].max().date()
    sensor = picker.some([one for one in picker.sensors.listed(machine.id, "measured") if "Status" not in one])
    if sensor is None:
        return None
    sides = [Days(one, one) for one in (day - timedelta(days=1), day + timedelta(days=1))]
    means = [picker.sensors.readings(machine.id, sensor, one).mean() for one in sides]
    if not all(mean == mean for mean in means):  # NaN: nothing recorded
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    window = Days(span.start, span.end)
    calls = [
        history(machine, one, sensor, f"readings_{word}") for word, one in zip(("before", "after"), sides, strict=True)
    ]
    found = orders(machine, window, "corrective")
    return Question(
        template="before_and_after_repair",
        text=(
            f"Take the last repair of {who} that was completed from {say_day(span.start + timedelta(days=2))} to "
            f"{say_day(span.end - timedelta(days=2))}. What was the mean {what} on the day before it was completed, "
            "and on the day after?"
        ),
        category="Complex Query",
        stage=4,
        plan=[
            (WO, f"Retrieve the corrective work orders of {machine.name} in that time and find the last one."),
            (IOT, f"Retrieve the {what} of {machine.name} for the day before."),
            (IOT, f"Retrieve the {what} of {machine.name} for the day after."),
            (IOT, "Compute both means and report them."),
        ],
        calls=[
            whole_record(found),
            *[after(one, found) for one in calls],
            *[read_file(one) for one in calls],
        ],
        fields={
            "before": Field(round(float(means[0]), 4), "number, the mean of the day before", 0.01),
            "after": Field(round(float(means[1]), 4), "number, the mean of the day after", 0.01),
        },
        expected=f"{means[0]:.4f} before and {means[1]:.4f} after {say_day(day)}.",
        machines=(machine,),
    )


def modes_and_repairs(picker: Picker) -> Question | None:
    """The failure modes of the machine with most repairs."""
    machines = [picker.records.machine(one) for one in picker.work.busy()]
    classes = set(picker.failures.classes())
    chosen = picker.rng.sample([one for one in machines if one.asset_class in classes], 3)
    period = picker.year()
    counts = {one.id: len(picker.work.finished(one.id, period.days, "corrective")) for one in chosen}
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if ranked[0][1] == ranked[1][1]:
        return None
    machine = picker.records.machine(ranked[0][0])
    modes = picker.failures.modes(machine.asset_class)
    names = [picker.call_it(one) for one in chosen]
    listed = look_up(machine)
    found = [after(orders(one, period.days, "corrective"), listed) for one in chosen]
    return Question(
        template="modes_of_the_worst",
        text=(
            f"Which of {names[0]}, {names[1]} and {names[2]} had the most repairs completed in {period.said}, and "
            "which failure modes does our library know for it?"
        ),
        category="Complex Query",
        stage=4,
        plan=[
            (WO, f"Retrieve the corrective work orders of the three machines completed in {period.said}."),
            (WO, "Compare the counts and take the machine with the most."),
            (FMSR, "Get the failure modes of this machine."),
            (FMSR, "Report the machine and its failure modes."),
        ],
        calls=[listed, *found, after(modes_call(machine), *found)],
        fields={
            "equipment": Field(machine.id, "text, the equipment's identifier"),
            "failure_modes": Field(modes, MODES),
        },
        expected=f"{machine.id}: {', '.join(modes)}.",
        machines=tuple(chosen),
    )


def watch_and_repair(picker: Picker) -> Question | None:
    """How many sensors tell of a failure mode, and how many repairs a year had."""
    machine, period = known(picker), picker.year()
    mode = picker.rng.choice(picker.failures.modes(machine.asset_class))
    sensors = picker.failures.sensors_of(machine.asset_class, mode)
    repairs = len(picker.work.finished(machine.id, period.days, "corrective"))
    who = picker.call_it(machine)
    return Question(
        template="sensors_and_repairs",
        text=(
            f"For the review of {who}: which sensors are relevant to {mode.lower()}, and how many repairs were "
            f"completed in {period.said}?"
        ),
        category="Decision Support",
        stage=4,
        plan=[
            (FMSR, f"Map the failure modes of {machine.name} to sensors and take those of {mode.lower()}."),
            (WO, f"Retrieve the corrective work orders of {machine.name} completed in {period.said} and count them."),
            (WO, "Report the sensors and the count."),
        ],
        calls=[mapping(machine), after(orders(machine, period.days, "corrective"))],
        fields={
            "sensors": Field(sensors, "list of text, names as the records write them"),
            "repairs": Field(repairs, COUNT),
        },
        expected=f"{len(sensors)} sensors: {', '.join(sensors)}; {repairs} repairs.",
        machines=(machine,),
    )


def idle_and_alerts(picker: Picker) -> Question | None:
    """Whether a machine was off in a week, and how many alerts it raised all the same."""
    machines = [one for one in picker.sensors.recorded() if picker.sensors.power(one.id)]
    machine = picker.some(machines)
    week = picker.some(picker.sensors.weeks(machine.id)) if machine else None
    if machine is None or week is None:
        return None
    sensor = picker.sensors.power(machine.id) or ""
    readings = picker.sensors.readings(machine.id, sensor, week)
    if len(readings) < 96:
        return None
    raised = int(picker.work.rules(machine.id, week).sum())
    share = round(picker.sensors.running_share(machine.id, week), 4)
    who = picker.call_it(machine)
    call = after(history(machine, week, sensor))
    return Question(
        template="running_and_alerts",
        text=(
            f"How many alerts did {who} raise in the week from {say_day(week.start)} to {say_day(week.end)}, and for "
            f"which share of the recorded readings did it draw power at {picker.say_site(machine)}?"
        ),
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (WO, f"Retrieve the alerts of {machine.name} for the week and count them."),
            (IOT, f"Retrieve the power of {machine.name} for the week."),
            (IOT, "Compute the share of readings above zero and report both."),
        ],
        calls=[alerts(machine, week), unneeded(after(measured_sensors(machine))), call, read_file(call)],
        fields={
            "alerts": Field(raised, COUNT),
            "running": Field(share, "number from 0 to 1", 0.005),
        },
        expected=f"{raised} alerts; power was drawn at {share:.2%} of its {len(readings)} recorded moments.",
        machines=(machine,),
    )


def yearly_repairs_and_sensors(picker: Picker) -> Question | None:
    """The year with most repairs and the sensors that are recorded today."""
    machine = picker.measured()
    first, last = picker.work.years()
    yearly = picker.work.yearly(machine.id, first, last, "corrective").sort_values(ascending=False)
    if yearly.iloc[0] == yearly.iloc[1]:
        return None
    recorded = picker.sensors.listed(machine.id, "measured")
    who = picker.call_it(machine)
    days = Days(date(first, 1, 1), date(last, 12, 31))
    return Question(
        template="worst_year_and_sensors",
        text=(
            f"In which year from {first} to {last} were the most repairs completed on {who}, and how many quantities "
            f"do we record of it at {picker.say_site(machine)}?"
        ),
        category="Decision Support",
        stage=4,
        plan=[
            (WO, f"Count the corrective work orders of {machine.name} by year from {first} to {last}."),
            (WO, "Take the year with the most."),
            (IOT, f"List the recorded sensors of {machine.name} and count them."),
            (IOT, "Report the year and the count."),
        ],
        calls=[grouped(machine, days, "year", "corrective"), after(measured_sensors(machine))],
        fields={
            "year": Field(int(yearly.index[0]), "integer, the year"),
            "quantities": Field(len(recorded), "integer, recorded quantities"),
        },
        expected=f"{int(yearly.index[0])}, of the years {first} to {last}; {len(recorded)} recorded quantities.",
        machines=(machine,),
    )
