"""The TSFM server's tools: they read a file of readings, write a file of results, and say in short what is in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np

from assetops_tools.arguments import Arguments, names_list, optional_text, required_text, whole
from assetops_tools.errors import BadArgument
from assetops_tools.scratch import Table
from assetops_tools.tool import FILE, NAMES, TEXT, Answer, Episode, Tool
from assetops_tools.tsfm.detection import ALPHA, Detection, detect
from assetops_tools.tsfm.forecasting import Forecast, context_of, forecast, tune
from assetops_tools.tsfm.pretrained import pretrained_forecast
from assetops_tools.tsfm.registry import HOLT_WINTERS, MODELS, STEPS_A_DAY, TASKS, Model, model_of
from assetops_tools.tsfm.series import STEP_SECONDS, Series, series_of
from assetops_tools.tsfm.smoothing import Smoothing

_MOST_TARGETS: Final = 8
_MOST_EVENTS: Final = 20
_DIGITS: Final = 4


def aitasks(episode: Episode, arguments: Arguments) -> Answer:
    """What can be done with time series."""
    del episode, arguments
    return {"tasks": [dict(one) for one in TASKS]}


def tsfmmodels(episode: Episode, arguments: Arguments) -> Answer:
    """The models."""
    del episode, arguments
    return {"models": [one.row() for one in MODELS], "step_minutes": STEP_SECONDS // 60}


def tsfm_forecasting(episode: Episode, arguments: Arguments) -> Answer:
    """Forecast columns of a file."""
    chosen = _Chosen(episode, required_text(arguments, "model_checkpoint"))
    all_series = _series(episode, arguments)
    horizon = whole(arguments, "horizon", default=STEPS_A_DAY, lowest=1, highest=7 * STEPS_A_DAY)
    found = {one.name: _forecast(chosen, one, horizon) for one in all_series}
    start = max(one.times[-1] for one in all_series) + np.timedelta64(STEP_SECONDS, "s")
    file = episode.scratch.write_table("forecast", _forecast_table(found, start, horizon))
    return {
        "status": "success",
        "results_file": file,
        "model_checkpoint": chosen.name,
        "horizon": horizon,
        "start": str(start),
        "final": str(start + np.timedelta64((horizon - 1) * STEP_SECONDS, "s")),
        "series": [_quality(one) for one in all_series],
        "message": f"Forecasts of {horizon} steps of 15 minutes are in the file {file}.",
    }


def tsfm_forecasting_finetune(episode: Episode, arguments: Arguments) -> Answer:
    """Tune a model on a file, and save it as a checkpoint."""
    model = model_of(required_text(arguments, "model_checkpoint"))
    if not model.tunable:
        names = ", ".join(one.checkpoint for one in MODELS if one.tunable)
        raise BadArgument(f"{model.checkpoint} cannot be fine-tuned here; {names} can.")
    all_series = _series(episode, arguments)
    horizon = whole(arguments, "horizon", default=STEPS_A_DAY, lowest=1, highest=model.horizon)
    tuned = {one.name: tune(model.checkpoint, context_of(one, least=5 * STEPS_A_DAY)) for one in all_series}
    validation = [
        {
            "column": name,
            "observations": one.observations,
            "mean_absolute_error": _number(one.mean_absolute_error),
            "root_mean_squared_error": _number(one.root_mean_squared_error),
            "mean_absolute_error_before": _number(one.base_mean_absolute_error),
        }
        for name, one in tuned.items()
    ]
    checkpoint = episode.scratch.write(
        f"tuned_{model.checkpoint}",
        {"model": model.checkpoint, "horizon": horizon, "parameters": {k: v.parameters for k, v in tuned.items()}},
    )
    results = {"model_checkpoint": checkpoint, "base_model": model.checkpoint, "validation": validation}
    file = episode.scratch.write("finetuning", {**results, "parameters": {k: asdict(v) for k, v in tuned.items()}})
    return {
        "status": "success",
        **results,
        "results_file": file,
        "series": [_quality(one) for one in all_series],
        "message": f"The tuned model is saved as {checkpoint}; tsfm_forecasting takes it as model_checkpoint.",
    }


def tsfm_integrated_tsad(episode: Episode, arguments: Arguments) -> Answer:
    """Look for anomalies in columns of a file."""
    chosen = _Chosen(episode, optional_text(arguments, "model_checkpoint") or HOLT_WINTERS)
    if not chosen.model.detects:
        names = ", ".join(one.checkpoint for one in MODELS if one.detects)
        raise BadArgument(f"{chosen.model.checkpoint} does not detect anomalies here; {names} do.")
    found = [_detect(chosen, one) for one in _series(episode, arguments)]
    file = episode.scratch.write_table("anomalies", _anomaly_table(found))
    total = sum(int(one.anomalous.sum()) for one in found)
    return {
        "status": "success",
        "results_file": file,
        "model_checkpoint": chosen.name,
        "expected_false_alarm_share": ALPHA,
        "anomalies": total,
        "series": [{**_quality(one.series), **_summary(one)} for one in found],
        "message": f"{total} of {sum(int(one.judged.sum()) for one in found)} judged steps lie outside their interval; "
        f"all are in the file {file}.",
    }


class _Chosen:
    """The model that a call names: one of the registry, or one that fine-tuning has saved in this episode."""

    def __init__(self, episode: Episode, name: str) -> None:
        self.name = name
        self._parameters: dict[str, dict[str, float]] | None = None
        if not name.endswith(".json"):
            self.model: Model = model_of(name)
            return
        saved = episode.scratch.read(name)
        if not isinstance(saved, dict) or not {"model", "parameters"} <= set(saved):
            raise BadArgument(f"{name} is no saved model; tsfm_forecasting_finetune names the one that it saves.")
        self.model = model_of(saved["model"])
        self._parameters = saved["parameters"]

    def parameters(self, column: str) -> dict[str, float]:
        """The tuned parameters for a column; none where the model is as it comes."""
        if self._parameters is None:
            return {}
        if column not in self._parameters:
            raise BadArgument(f"{self.name} was tuned for {', '.join(self._parameters)} and not for {column}.")
        return self._parameters[column]


def _series(episode: Episode, arguments: Arguments) -> list[Series]:
    targets = names_list(arguments, "target_columns")
    if not 1 <= len(targets) <= _MOST_TARGETS:
        raise BadArgument(f"target_columns must name from one to {_MOST_TARGETS} columns; it named {len(targets)}.")
    timestamp = required_text(arguments, "timestamp_column")
    table = episode.scratch.read_table(required_text(arguments, "dataset_path"))
    if not table.rows:
        raise BadArgument("The file has no rows.")
    return [series_of(table, timestamp, target) for target in dict.fromkeys(targets)]


def _forecast(chosen: _Chosen, series: Series, horizon: int) -> Forecast:
    values = context_of(series, least=chosen.model.context_length)
    if chosen.model.pretrained:
        ahead = pretrained_forecast(chosen.model, series.times[-len(values) :], values, horizon)
        return Forecast(ahead, np.full(horizon, np.nan), np.full(horizon, np.nan))
    return forecast(chosen.model.checkpoint, values, horizon, chosen.parameters(series.name))


def _detect(chosen: _Chosen, series: Series) -> Detection:
    tuned = chosen.parameters(series.name)
    smoothing = Smoothing(tuned["level"], tuned["season"]) if tuned else None
    return detect(series, chosen.model.checkpoint, smoothing)


def _quality(series: Series) -> Answer:
    """What the series was made of."""
    return {
        "column": series.name,
        "observations": series.observations,
        "steps": len(series.values),
        "imputed_steps": series.imputed,
        "missing_steps": series.missing,
        "operating_share": round(series.operating_share, 4),
    }


def _summary(found: Detection) -> Answer:
    events = found.events()
    judged = np.flatnonzero(found.judged)
    return {
        "judged_steps": len(judged),
        "judged_from": str(found.series.times[judged[0]]),
        "judged_to": str(found.series.times[judged[-1]]),
        "anomalous_steps": int(found.anomalous.sum()),
        "total_events": len(events),
        "events": sorted(events, key=lambda one: (-int(one["steps"]), str(one["start"])))[:_MOST_EVENTS],
    }


def _forecast_table(found: dict[str, Forecast], start: np.datetime64, horizon: int) -> Table:
    times = [str(start + np.timedelta64(step * STEP_SECONDS, "s")) for step in range(horizon)]
    columns: list[str] = ["timestamp"]
    cells: list[list[Any]] = [times]
    for name, one in found.items():
        columns += [name, f"{name} lower", f"{name} upper"]
        cells += [_numbers(one.values), _numbers(one.lower), _numbers(one.upper)]
    return Table(columns, [list(row) for row in zip(*cells, strict=True)])


def _anomaly_table(found: list[Detection]) -> Table:
    """Every step of every column; a step that is not judged is no anomaly."""
    columns = ["timestamp", "column", "value", "prediction", "lower", "upper", "operating", "judged", "anomaly"]
    rows: list[list[Any]] = []
    for one in found:
        cells = (
            [str(at) for at in one.series.times],
            [one.series.name] * len(one.series.values),
            _numbers(one.series.values),
            _numbers(one.predictions),
            _numbers(one.predictions - one.widths),
            _numbers(one.predictions + one.widths),
            one.series.operating.tolist(),
            one.judged.tolist(),
            one.anomalous.tolist(),
        )
        rows += [list(row) for row in zip(*cells, strict=True)]
    return Table(columns, rows)


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return round(value, _DIGITS) if np.isfinite(value) else None


_DATASET: Final = {
    "dataset_path": {**FILE, "description": "name of a file with readings, as history gives it"},
    "timestamp_column": {**TEXT, "description": "the column with the times; timestamp in the files of history"},
    "target_columns": {**NAMES, "description": "the columns to look at, at most eight"},
}
_CHECKPOINT: Final = {**TEXT, "description": "a model of tsfmmodels, or a file that fine-tuning has saved"}
_HORIZON: Final = {
    "horizon": {
        "type": "integer",
        "minimum": 1,
        "maximum": 7 * STEPS_A_DAY,
        "default": STEPS_A_DAY,
        "description": "how many steps of 15 minutes to look ahead",
    }
}
_NEEDED: Final = ("dataset_path", "timestamp_column", "target_columns")
TOOLS: Final = (
    Tool("aitasks", "tsfm", "What can be done with time series here: the tasks.", {}, (), aitasks),
    Tool(
        "tsfmmodels",
        "tsfm",
        "The time-series models: context length and longest horizon in steps of 15 minutes, whether they can be "
        "fine-tuned, whether they detect anomalies.",
        {},
        (),
        tsfmmodels,
    ),
    Tool(
        "tsfm_forecasting",
        "tsfm",
        "Forecast columns of a file of readings. The file is brought to a grid of 15 minutes, holes of up to an hour "
        "are filled. Forecasts and their intervals are written to a file that the answer names.",
        {**_DATASET, "model_checkpoint": _CHECKPOINT, **_HORIZON},
        ("dataset_path", "model_checkpoint", "timestamp_column", "target_columns"),
        tsfm_forecasting,
        read_only=False,
    ),
    Tool(
        "tsfm_forecasting_finetune",
        "tsfm",
        "Fine-tune a forecasting model on columns of a file of readings and save it as a checkpoint, with its error on "
        "the last fifth of the file, which it has not seen. At least five days are needed.",
        {**_DATASET, "model_checkpoint": _CHECKPOINT, **_HORIZON},
        ("dataset_path", "model_checkpoint", "timestamp_column", "target_columns"),
        tsfm_forecasting_finetune,
        read_only=False,
    ),
    Tool(
        "tsfm_integrated_tsad",
        "tsfm",
        "Detect anomalies in columns of a file of readings: values outside the conformal interval around their "
        "forecast while the equipment operates, which is told from its run status or power where the file has them. "
        "Every step's verdict is written to a file that the answer names. At least five days are needed.",
        {**_DATASET, "model_checkpoint": {**_CHECKPOINT, "description": "holt_winters where left out"}},
        _NEEDED,
        tsfm_integrated_tsad,
        read_only=False,
    ),
)
