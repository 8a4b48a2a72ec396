"""Questions about time-series models: what there is, and running them on a file of the site's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from assetops_scenarios.iot_questions import unneeded
from assetops_scenarios.picking import Picker, snake
from assetops_scenarios.question import TSFM, Call, Dataset, Field, Question
from assetops_scenarios.work_questions import COUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIME: Final = "timestamp"
DAY: Final = 96  # steps of a quarter of an hour
FILE: Final = "text, the path of the file with the results"


DULL: Final = ("Run Status", "Schedule", "Chiller Efficiency", "Setpoint Temperature", "Supply Air Setpoint")
_RUNNING: Final = 0.6  # of the readings with power drawn

TASKS: Final = ("tsfm_forecasting", "tsfm_forecasting_finetune", "tsfm_integrated_tsad")
# The models that the tools' description lists, with how many steps each looks back.
MODELS: Final = {
    "seasonal_naive": 96,
    "holt_winters": 192,
    "theta": 192,
    "granite_ttm_512_96": 512,
    "granite_ttm_1024_96": 1024,
    "granite_ttm_1536_96": 1536,
}
_ANYWHERE: Final = ("Seasonal Naive", "Holt-Winters", "Theta")  # as people call those that need no weights
_TUNABLE: Final = "holt_winters"
_DONE: Final = ("forecasting", "fine-tuning of forecasting models", "anomaly detection")
_NOT_DONE: Final = ("classification", "regression", "clustering", "causal discovery", "survival analysis")
_FOREIGN: Final = ("LSTM", "Chronos", "Moirai", "TimesFM", "Prophet", "Lag-Llama")

_tasks = Call("aitasks", {}, "supported_tasks", agent=TSFM)
_models = Call("tsfmmodels", {}, "available_models", agent=TSFM)


def supported_tasks(picker: Picker) -> Question | None:
    """What kinds of analysis there are."""
    return Question(
        template="supported_tasks",
        text=picker.one_of(
            "What types of time series analysis are supported?",
            "Which time series tasks can be run here? I need their identifiers.",
            "List the identifiers of the time series tasks that we have.",
        ),
        category="Knowledge Query",
        stage=2,
        plan=[(TSFM, "List the supported time series tasks."), (TSFM, "Report their identifiers.")],
        calls=[_tasks],
        fields={"tasks": Field(list(TASKS), "list of text, the identifiers of the tasks")},
        expected=f"The tasks are {', '.join(TASKS)}.",
    )


def is_task_supported(picker: Picker) -> Question | None:
    """Whether a kind of analysis is there."""
    right = picker.rng.random() < 0.5
    what = picker.rng.choice(_DONE if right else _NOT_DONE)
    text = picker.one_of(f"Is time series {what} supported?", f"Can I get {what} of time series done here?")
    return Question(
        template="is_task_supported",
        text=text,
        category="Knowledge Query",
        stage=2,
        plan=[(TSFM, "List the supported time series tasks."), (TSFM, f"Report whether {what} is among them.")],
        calls=[_tasks],
        fields={"supported": Field(right, "true or false")},
        expected=f"{'Yes' if right else 'No'}, {what} is {'supported' if right else 'not supported'}.",
    )


def is_model_available(picker: Picker) -> Question | None:
    """Whether a model is there."""
    right = picker.rng.random() < 0.4
    name = picker.rng.choice(_ANYWHERE if right else _FOREIGN)
    return Question(
        template="is_model_available",
        text=picker.one_of(f"Is the model {name} available?", f"Can I use {name} for my time series?"),
        category="Knowledge Query",
        stage=2,
        plan=[(TSFM, "List the available time series models."), (TSFM, f"Report whether {name} is among them.")],
        calls=[_models],
        fields={"available": Field(right, "true or false")},
        expected=f"{'Yes' if right else 'No'}, {name} is {'available' if right else 'not available'}.",
    )


def models_listed(picker: Picker) -> Question | None:
    """Which models there are."""
    return Question(
        template="models_listed",
        text=picker.one_of(
            "What time series models are available in the system?",
            "Which models can I choose from for my time series? I need the identifiers and how many they are.",
        ),
        category="Knowledge Query",
        stage=2,
        plan=[(TSFM, "List the available time series models."), (TSFM, "Report their identifiers and count them.")],
        calls=[_models],
        fields={
            "models": Field(sorted(MODELS), "list of text, the names under which the models are run"),
            "count": Field(len(MODELS), COUNT),
        },
        expected=f"{len(MODELS)} models: {', '.join(MODELS)}.",
    )


def models_with_context(picker: Picker) -> Question | None:
    """How many models look back so far."""
    lengths = sorted(set(MODELS.values()))
    length = picker.rng.choice([*lengths, 48, 720, 4096])
    found = sorted(name for name, context in MODELS.items() if context == length)
    return Question(
        template="models_with_context",
        text=picker.one_of(
            f"How many models with a context length of exactly {length} are supported, and which?",
            f"Find all models with context length {length}; an empty list is an answer too.",
        ),
        category="Knowledge Query",
        stage=2,
        plan=[
            (TSFM, "List the available time series models with their context lengths."),
            (TSFM, f"Keep those with a context length of {length} and report them."),
        ],
        calls=[_models],
        fields={
            "count": Field(len(found), COUNT),
            "models": Field(found, "list of text, the names under which the models are run"),
        },
        expected=f"{len(found)} models with a context length of {length}: {', '.join(found) or 'none'}.",
    )


def task_or_context(picker: Picker) -> Question | None:
    """Two things at once: a task, and a context length."""
    what, length = picker.rng.choice((*_NOT_DONE, *_DONE)), picker.rng.choice((48, 192, 720, 1024))
    task, model = what in _DONE, length in MODELS.values()
    return Question(
        template="task_and_context",
        text=f"Does the system support time series {what}, and is there any model with context length {length}?",
        category="Complex Query",
        stage=2,
        plan=[
            (TSFM, f"List the supported tasks and look for {what}."),
            (TSFM, f"List the available models and look for a context length of {length}."),
            (TSFM, "Report both findings."),
        ],
        calls=[_tasks, _models],
        fields={"task": Field(task, "true or false"), "model": Field(model, "true or false")},
        expected=f"{what}: {'yes' if task else 'no'}; context length {length}: {'yes' if model else 'no'}.",
    )


def _dataset(picker: Picker) -> tuple[Dataset, str] | None:
    """Three weeks of a machine that ran most of the time, and one of the columns."""
    machine = picker.measured()
    weeks = picker.sensors.weeks(machine.id, length=21)
    days = picker.some([one for one in weeks if picker.sensors.running_share(machine.id, one) > _RUNNING])
    names = [one for one in picker.sensors.listed(machine.id, "measured") if one not in DULL]
    column = picker.some(names)
    if days is None or column is None or len(picker.sensors.readings(machine.id, column, days)) < 18 * DAY:
        return None
    return Dataset(machine, days), column


def run_call(tool: str, path: str, column: str, output: str, *, horizon: int | None = None) -> Call:
    """The call that runs a model on a column of a file."""
    arguments = {
        "dataset_path": path,
        "timestamp_column": TIME,
        "target_columns": [column],
        **({"model_checkpoint": _TUNABLE} if "forecasting" in tool else {}),
        **({"horizon": horizon} if horizon else {}),
    }
    return Call(tool, arguments, output, agent=TSFM, loose=("model_checkpoint", "horizon"))


def forecast_file(picker: Picker) -> Question | None:
    """A forecast from a file."""
    chosen = _dataset(picker)
    if chosen is None:
        return None
    dataset, column = chosen
    machine, path = dataset.machine, dataset.name
    return Question(
        template="forecast_file",
        text=picker.one_of(
            f"Forecast the column '{column}' of the file '{path}' for the next {DAY} steps. Use '{TIME}' as the "
            "timestamp.",
            f"Use the data in '{path}' to forecast '{column}' {DAY} steps ahead, with '{TIME}' as the timestamp.",
        ),
        category="Inference Query",
        stage=2,
        plan=[
            (TSFM, "List the available time series models and choose one for forecasting."),
            (TSFM, f"Forecast {column} of {machine.name} with the model and report the file with the results."),
        ],
        calls=[
            unneeded(_models),
            run_call("tsfm_forecasting", path, column, f"forecast_of_{snake(column)}", horizon=DAY),
        ],
        fields={
            "file": Field(None, FILE),
            "column": Field(column, "text, the column"),
            "values": Field(DAY, "integer, how many values the forecast has"),
        },
        expected=f"A file with {DAY} forecast steps of '{column}', which are 24 hours, made from '{path}'.",
        deterministic=False,
        machines=(machine,),
        datasets=(dataset,),
    )


def tune_file(picker: Picker) -> Question | None:
    """A model made better on a file."""
    chosen = _dataset(picker)
    if chosen is None:
        return None
    dataset, column = chosen
    machine, path = dataset.machine, dataset.name
    return Question(
        template="tune_file",
        text=picker.one_of(
            f"Fine-tune a forecasting model for '{column}' using the data in '{path}', with '{TIME}' as the timestamp.",
            f"Tune a model on '{path}' so that it forecasts '{column}' better; the timestamp is '{TIME}'.",
        ),
        category="Tuning Query",
        stage=2,
        plan=[
            (TSFM, "List the available time series models and choose one that can be tuned."),
            (TSFM, f"Fine-tune it for {column} of {machine.name} and report the file with the results."),
        ],
        calls=[
            unneeded(_models),
            run_call("tsfm_forecasting_finetune", path, column, f"tuned_model_of_{snake(column)}"),
        ],
        fields={"file": Field(None, FILE), "column": Field(column, "text, the column")},
        expected=f"A fine-tuned model for '{column}', and a file with its results, made from '{path}'.",
        deterministic=False,
        machines=(machine,),
        datasets=(dataset,),
    )


def anomalies_file(picker: Picker) -> Question | None:
    """Anomalies in a file."""
    chosen = _dataset(picker)
    if chosen is None:
        return None
    dataset, column = chosen
    machine, path = dataset.machine, dataset.name
    return Question(
        template="anomalies_file",
        text=picker.one_of(
            f"I need time series anomaly detection of '{column}' using the data in '{path}'.",
            f"Run an anomaly detection on the column '{column}' of '{path}', timestamp '{TIME}'.",
        ),
        category="Anomaly Detection Query",
        stage=3,
        plan=[
            (TSFM, "Check that anomaly detection is supported."),
            (TSFM, f"Detect anomalies of {column} of {machine.name} and report the file with the results."),
        ],
        calls=[
            unneeded(_tasks),
            run_call("tsfm_integrated_tsad", path, column, f"anomalies_of_{snake(column)}"),
        ],
        fields={"file": Field(None, FILE), "column": Field(column, "text, the column")},
        expected=f"A file with the anomalies of '{column}', made from '{path}'.",
        deterministic=False,
        machines=(machine,),
        datasets=(dataset,),
    )


def both_on_file(picker: Picker) -> Question | None:
    """Forecast and anomalies of the same file."""
    chosen = _dataset(picker)
    if chosen is None:
        return None
    dataset, column = chosen
    machine, path = dataset.machine, dataset.name
    return Question(
        template="forecast_and_anomalies",
        text=(
            f"Analyse '{column}' of the file '{path}' in two ways: forecast its next {DAY} steps, and detect its "
            f"anomalies. The timestamp is '{TIME}'."
        ),
        category="Complex Query",
        stage=3,
        plan=[
            (TSFM, "List the supported tasks and the available models."),
            (TSFM, f"Forecast {column} of {machine.name}."),
            (TSFM, f"Detect anomalies of {column} of {machine.name}."),
            (TSFM, "Report both files."),
        ],
        calls=[
            unneeded(_models),
            run_call("tsfm_forecasting", path, column, f"forecast_of_{snake(column)}", horizon=DAY),
            run_call("tsfm_integrated_tsad", path, column, f"anomalies_of_{snake(column)}"),
        ],
        fields={
            "forecast_file": Field(None, FILE),
            "anomaly_file": Field(None, FILE),
            "column": Field(column, "text, the column"),
        },
        expected=f"2 files made from '{path}': the forecast of 24 hours of '{column}', and its anomalies.",
        deterministic=False,
        machines=(machine,),
        datasets=(dataset,),
    )


MIX: Final[Sequence[tuple[Callable[[Picker], Question | None], int]]] = (
    (supported_tasks, 1),
    (is_task_supported, 4),
    (is_model_available, 3),
    (models_listed, 1),
    (models_with_context, 3),
    (task_or_context, 2),
    (forecast_file, 3),
    (tune_file, 3),
    (anomalies_file, 2),
    (both_on_file, 1),
)
