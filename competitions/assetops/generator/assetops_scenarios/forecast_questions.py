"""Questions about what comes and what is odd: telemetry that one agent fetches, another models, a third acts on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from assetops_scenarios.iot_questions import history, measured_sensors
from assetops_scenarios.model_questions import DAY, DULL, FILE, run_call
from assetops_scenarios.picking import Picker, say_day, snake
from assetops_scenarios.question import IOT, TSFM, WO, Call, Field, Question
from assetops_scenarios.records import Days, Machine
from assetops_scenarios.twin_questions import Pair
from assetops_scenarios.work_questions import after, orders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SENSOR: Final = "text, the sensor as the records name it"
_BUSY: Final = 0.9  # of a week's readings with power drawn
_LEARNED: Final = 7 * DAY  # readings of a running machine from which a model can learn what is usual


def _fetched(machine: Machine, week: Days, sensor: str) -> list[Call]:
    return [measured_sensors(machine), replace(history(machine, week), output=f"readings_for_{snake(sensor)}")]


def _on_file(tool: str, of: Call, sensor: str, *, horizon: int | None = None) -> Call:
    call = run_call(tool, f"@{of.output}", sensor, f"{tool.removeprefix('tsfm_')}_of_{snake(sensor)}", horizon=horizon)
    return replace(call, after=(of.output,))


def _running_week(picker: Picker, machine: Machine) -> Days | None:
    """A week in which the machine ran most of the time."""
    weeks = picker.sensors.weeks(machine.id)
    return picker.some([one for one in weeks if picker.sensors.running_share(machine.id, one) >= _BUSY])


def forecast_week(picker: Picker) -> Question | None:
    """A forecast of the day after a week."""
    machine = picker.measured()
    week = _running_week(picker, machine)
    sensors = [one for one in picker.sensors.listed(machine.id, "measured") if one not in DULL]
    sensor = picker.some(sensors)
    if week is None or sensor is None or len(picker.sensors.readings(machine.id, sensor, week)) < 6 * DAY:
        return None
    return _forecast(picker, machine, week, sensor, picker.say_sensor(sensor))


def _forecast(picker: Picker, machine: Machine, week: Days, sensor: str, what: str) -> Question:
    who, site = picker.call_it(machine), picker.say_site(machine)
    text = picker.one_of(
        f"What is the forecast of the {what} of {who} for the day after the week from {say_day(week.start)} to "
        f"{say_day(week.end)}, based on the data of that week from {site}?",
        f"Can you predict the {what} of {who} for the day after the week from {say_day(week.start)} to "
        f"{say_day(week.end)}, based on the data of that week from {site}?",
    )
    fetched = _fetched(machine, week, sensor)
    return Question(
        template="forecast_week",
        text=text,
        category="Prediction",
        stage=2,
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for the week from {say_day(week.start)}."),
            (TSFM, f"Forecast the {what} for the following day from this file."),
            (TSFM, "Report the sensor, the file with the forecast and its number of values."),
        ],
        calls=[*fetched, _on_file("tsfm_forecasting", fetched[1], sensor, horizon=DAY)],
        fields={
            "sensor": Field(sensor, SENSOR),
            "file": Field(None, FILE),
            "values": Field(DAY, "integer, how many values the forecast has"),
        },
        expected=f"A file with {DAY} forecast steps of {sensor} of {machine.name}, made from that week.",
        deterministic=False,
        machines=(machine,),
    )


def energy_twins(picker: Picker) -> Pair | None:
    """A forecast of power out of a week of standstill, to be declined; and out of one of operation (507 and 511)."""
    chosen = _still(picker)
    if chosen is None:
        return None
    machine, still = chosen
    runner = picker.powered()
    running = _running_week(picker, runner)
    sensor, its = picker.sensors.power(machine.id), picker.sensors.power(runner.id)
    if running is None or sensor is None or its is None:
        return None
    what = picker.rng.choice(("energy use", "power draw"))
    asked = _forecast(picker, machine, still, sensor, what)
    declined = replace(
        asked,
        template="energy_of_standstill",
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find its power."),
            (IOT, f"Retrieve the power of {machine.name} for the week from {say_day(still.start)}."),
            (TSFM, "See what a forecasting model needs, and that readings of 0.0 all week tell it nothing."),
            (TSFM, "Report that nothing can be forecast from them."),
        ],
        calls=[*_fetched(machine, still, sensor), _looked_up("tsfmmodels")],
        expected=(
            f"{sensor} of {machine.name} was 0.0 from {say_day(still.start)} to {say_day(still.end)}: the machine "
            "stood still, and nothing can be forecast from such data."
        ),
        declined=True,
        deterministic=True,
    )
    tuned = _tuned(picker, runner, running, its, what)
    return declined, tuned


def _looked_up(tool: str) -> Call:
    return Call(tool, {}, "what_models_need", agent=TSFM, needed=False)


def _still(picker: Picker) -> tuple[Machine, Days] | None:
    """A machine and a week in which it stood still."""
    machines = [one for one in picker.sensors.recorded() if picker.sensors.power(one.id)]
    return picker.some([(machine, week) for machine in machines for week in picker.sensors.still_weeks(machine.id)])


def _tuned(picker: Picker, machine: Machine, week: Days, sensor: str, what: str) -> Question:
    """The near twin that can be answered: by fine-tuning a model and writing its forecast into a file."""
    asked = _forecast(picker, machine, week, sensor, what)
    fetched = _fetched(machine, week, sensor)
    model = _on_file("tsfm_forecasting_finetune", fetched[1], sensor, horizon=DAY)
    return replace(
        asked,
        template="energy_of_operation",
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find its power."),
            (IOT, f"Retrieve the power of {machine.name} for the week from {say_day(week.start)}."),
            (TSFM, "Fine-tune a forecasting model on this file and forecast the following day."),
            (TSFM, "Report the sensor, the file with the forecast and its number of values."),
        ],
        calls=[*fetched, replace(model, instead=("tsfm_forecasting",))],
    )


def tune_week(picker: Picker) -> Question | None:
    """A model made better on a month of data."""
    machine = picker.measured()
    period = picker.telemetry_month(machine)
    sensor = picker.some([one for one in picker.sensors.listed(machine.id, "measured") if one not in DULL])
    if sensor is None or len(picker.sensors.readings(machine.id, sensor, period.days)) < 14 * DAY:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    fetched = _fetched(machine, period.days, sensor)
    return Question(
        template="tune_on_month",
        text=(
            f"Fine-tune a forecasting model for the {what} of {who} on its data of {period.said} from "
            f"{picker.say_site(machine)}, and tell me where the results are."
        ),
        category="Tuning Query",
        stage=2,
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {period.said}."),
            (TSFM, "Fine-tune a forecasting model on this file."),
            (TSFM, "Report the sensor and the file with the results."),
        ],
        calls=[*fetched, _on_file("tsfm_forecasting_finetune", fetched[1], sensor)],
        fields={"sensor": Field(sensor, SENSOR), "file": Field(None, FILE)},
        expected=f"A model fine-tuned for {sensor} of {machine.name} on {period.said}, and the file with its results.",
        deterministic=False,
        machines=(machine,),
    )


def anomaly_week(picker: Picker) -> Question | None:
    """Whether there is an anomaly in a week: one was put there, or none is known."""
    return _anomalies(picker, order=False)


def anomaly_twins(picker: Picker) -> Pair | None:
    """The same question about a week of standstill, to be declined, and about days on which the machine ran."""
    answered, chosen = _anomalies(picker, order=False), _still(picker)
    if answered is None or chosen is None:
        return None
    machine, still = chosen
    sensor = picker.sensors.power(machine.id) or ""
    what, said = picker.say_sensor(sensor), f"the time from {say_day(still.start)} to {say_day(still.end)}"
    declined = replace(
        answered,
        template="anomalies_of_standstill",
        text=_anomaly_text(picker, machine, what, said),
        plan=[
            (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
            (IOT, f"Retrieve the {what} of {machine.name} for {said}."),
            (TSFM, "See that anomalies are looked for while a machine operates, and that it did not."),
            (TSFM, "Report that nothing can be said about anomalies of operation."),
        ],
        calls=[*_fetched(machine, still, sensor), _looked_up("aitasks")],
        expected=(
            f"{sensor} of {machine.name} was 0.0 all the time: anomalies are looked for while a machine operates, and "
            "it did not."
        ),
        declined=True,
        deterministic=True,
        machines=(machine,),
    )
    return declined, answered


def _anomaly_text(picker: Picker, machine: Machine, what: str, said: str) -> str:
    who, site = picker.call_it(machine), picker.say_site(machine)
    return picker.one_of(
        f"Is there any anomaly in the {what} of {who} in {said} at {site}?",
        f"Have there been any anomalies in the {what} of {who} in {said} at {site}?",
    )


def anomaly_and_order(picker: Picker) -> Question | None:
    """The same, and whether to create a work order about it (621)."""
    return _anomalies(picker, order=True)


def _anomalies(picker: Picker, *, order: bool) -> Question | None:
    known = picker.some(list(picker.injected))
    if known is None:
        return None
    machine, day = picker.records.machine(known.equipment_id), known.begin.date()
    window = Days(day - timedelta(days=14), day + timedelta(days=1))
    sensor = known.sensor
    span = picker.sensors.span(machine.id)
    if window.start < span.start or window.end > span.end:
        return None
    if picker.sensors.running_readings(machine.id, sensor, window) < _LEARNED:
        return None
    who, what = picker.call_it(machine), picker.say_sensor(sensor)
    said = f"the time from {say_day(window.start)} to {say_day(window.end)}"
    fetched = _fetched(machine, window, sensor)
    detect = _on_file("tsfm_integrated_tsad", fetched[1], sensor)
    plan = [
        (IOT, f"List the recorded sensors of {machine.name} and find the {what}."),
        (IOT, f"Retrieve the {what} of {machine.name} for {said}."),
        (TSFM, "Detect anomalies in this file."),
    ]
    fields = {
        "anomalies": Field(True, "true or false"),
        "sensor": Field(sensor, SENSOR),
        "file": Field(None, FILE),
    }
    expected = f"Anomalies of {sensor} of {machine.name} are found, among them those of {say_day(day)}."
    if not order:
        return Question(
            template="anomalies_of_days",
            text=_anomaly_text(picker, machine, what, said),
            category="Anomaly Detection Query",
            stage=3,
            plan=[*plan, (TSFM, "Report whether there are any, the sensor and the file with the results.")],
            calls=[*fetched, detect],
            fields=fields,
            expected=expected,
            deterministic=False,
            machines=(machine,),
        )
    done = picker.work.finished(machine.id, window, "corrective")
    due = done.empty
    calls = [*fetched, detect, after(orders(machine, window, "corrective"), detect)]
    if due:
        recommended = Call(
            "recommend_workorder",
            {"equipment_id": machine.id, "primary_code": "IN01", "reason": f"anomalies of {sensor}"},
            "recommended_work_order",
            machine=machine,
        )
        calls.append(recommended)
    return Question(
        template="anomalies_and_order",
        text=(
            f"Can you check whether there are anomalies in the {what} of {who} in {said}, and recommend a work order "
            "if there are some and no repair was completed on it in that time?"
        ),
        category="Decision Support",
        stage=4,
        plan=[
            *plan,
            (WO, f"Retrieve the corrective work orders of {machine.name} completed in {said}."),
            (WO, "Recommend a work order." if due else "Report that a repair was done and none is needed."),
        ],
        calls=calls,
        fields={**fields, "recommended": Field(due, "true or false, whether a work order was recommended")},
        expected=f"{expected} {'A work order is due.' if due else 'A repair was completed, so none is due.'}",
        deterministic=False,
        machines=(machine,),
    )


MIX: Final[Sequence[tuple[Callable[[Picker], Question | Pair | None], int]]] = (
    (forecast_week, 5),
    (energy_twins, 3),
    (tune_week, 2),
    (anomaly_week, 2),
    (anomaly_twins, 2),
    (anomaly_and_order, 3),
)
