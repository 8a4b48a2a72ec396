"""Forecasting, fine-tuning and anomaly detection: against statsmodels, against plain arithmetic, on the site's data."""

from __future__ import annotations

import json
import sys
import types
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assetops_data import Site
from assetops_tools.errors import BadArgument
from assetops_tools.tsfm.detection import SETTLING, detect
from assetops_tools.tsfm.forecasting import USUAL_THETA, forecast, tune
from assetops_tools.tsfm.registry import MODELS, TASKS, model_of
from assetops_tools.tsfm.series import Series
from assetops_tools.tsfm.smoothing import CANDIDATES, USUAL, Smoothing, smooth
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.holtwinters import ExponentialSmoothing

DAY = 96
RNG_SEED = 5


def daily(days: int, *, noise: float = 1.0, seed: int = RNG_SEED) -> np.ndarray:
    """A daily wave with noise."""
    steps = np.arange(days * DAY)
    return 100 + 20 * np.sin(2 * np.pi * steps / DAY) + np.random.default_rng(seed).normal(0, noise, len(steps))


def series(values: np.ndarray, operating: np.ndarray | None = None) -> Series:
    on = np.ones(len(values), dtype=bool) if operating is None else operating
    times = np.datetime64("2021-03-01T00:00:00") + np.arange(len(values)) * np.timedelta64(15, "m")
    return Series("Power Input", times.astype("datetime64[s]"), values, on, int((~np.isnan(values)).sum()), 0)


@pytest.mark.parametrize("parameters", [USUAL, Smoothing(0.3, 0.1), Smoothing(0.9, 0.05)])
def test_smoothing_is_that_of_statsmodels(parameters: Smoothing) -> None:
    values = daily(5, noise=4.0)
    season = np.random.default_rng(1).normal(0, 3, DAY)
    ours = smooth(values, np.ones(len(values), dtype=bool), [parameters], block=1, season=season)
    model = ExponentialSmoothing(
        values,
        seasonal="add",
        seasonal_periods=DAY,
        initialization_method="known",
        initial_level=float(values[:DAY].mean()),
        initial_seasonal=season,
    )
    theirs = model.fit(smoothing_level=parameters.level, smoothing_seasonal=parameters.season, optimized=False)
    np.testing.assert_allclose(ours.predictions[0], theirs.fittedvalues, rtol=1e-9)
    # For the step a whole day ahead statsmodels takes the season as it was before the last step of the series.
    others = np.delete(np.arange(150), DAY - 1)
    np.testing.assert_allclose(ours.ahead(len(values), 150)[0, others], theirs.forecast(150)[others], rtol=1e-9)


def test_many_parameters_at_once_are_each_by_itself() -> None:
    values = daily(3)
    learned = np.random.default_rng(2).random(len(values)) < 0.8
    together = smooth(values, learned, CANDIDATES[:5], block=24)
    for place, one in enumerate(CANDIDATES[:5]):
        alone = smooth(values, learned, [one], block=24)
        np.testing.assert_array_equal(together.predictions[place], alone.predictions[0])
        np.testing.assert_array_equal(together.ahead(7, 10)[place], alone.ahead(7, 10)[0])


def test_a_prediction_knows_nothing_of_its_block() -> None:
    values = daily(4)
    changed = values.copy()
    changed[240:264] += 1000
    everything = np.ones(len(values), dtype=bool)
    before = smooth(values, everything, [USUAL], block=24).predictions[0]
    after = smooth(changed, everything, [USUAL], block=24).predictions[0]
    np.testing.assert_array_equal(before[:264], after[:264])
    assert (before[264:] != after[264:]).any()


def test_steps_that_are_not_learned_from_change_nothing() -> None:
    values = daily(4)
    learned = np.ones(len(values), dtype=bool)
    learned[100:130] = False
    spoiled = values.copy()
    spoiled[100:130] = np.nan
    one, two = (smooth(each, learned, [USUAL], block=24).predictions[0] for each in (values, spoiled))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("block", [0, 97])
def test_blocks_longer_than_a_day_are_refused(block: int) -> None:
    with pytest.raises(ValueError, match="block"):
        smooth(daily(1), np.ones(DAY, dtype=bool), [USUAL], block=block)


@pytest.mark.parametrize("model", ["seasonal_naive", "holt_winters", "theta"])
def test_a_daily_wave_is_carried_on(model: str) -> None:
    values = daily(14)
    truth = daily(16, noise=0.0)[14 * DAY :]
    ahead = forecast(model, values, 2 * DAY, {})
    assert np.abs(ahead.values - truth).mean() < 2.0
    assert ahead.values.shape == ahead.lower.shape == ahead.upper.shape == (2 * DAY,)
    fresh = daily(16, seed=99)[14 * DAY :]
    assert 0.8 < ((fresh >= ahead.lower) & (fresh <= ahead.upper)).mean() <= 1


def test_the_naive_forecast_is_yesterday() -> None:
    values = daily(3)
    ahead = forecast("seasonal_naive", values, 200, {})
    assert ahead.values.tolist() == (np.tile(values[-DAY:], 3)[:200]).tolist()


def test_theta_is_that_of_statsmodels() -> None:
    values = daily(7, noise=3.0)
    profile = (values.reshape(7, DAY) - values.reshape(7, DAY).mean(axis=1, keepdims=True)).mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ThetaModel(values - np.tile(profile, 7), period=1, deseasonalize=False).fit(disp=False)
        expected = np.asarray(fitted.forecast(DAY, theta=USUAL_THETA)) + profile
    np.testing.assert_allclose(forecast("theta", values, DAY, {}).values, expected, rtol=1e-9)


@pytest.mark.parametrize("model", ["seasonal_naive", "holt_winters", "theta"])
@pytest.mark.parametrize("length", [3 * DAY, 3 * DAY + 1, 5 * DAY + 50])
def test_what_never_changes_is_forecast_as_it_is(model: str, length: int) -> None:
    ahead = forecast(model, np.full(length, 7.0), 30, {})
    np.testing.assert_allclose(ahead.values, 7.0)
    np.testing.assert_allclose(ahead.lower, 7.0)


def test_tuning_chooses_by_what_it_saw_and_reports_what_it_did_not() -> None:
    values = daily(10, noise=0.5) + np.repeat(np.random.default_rng(3).normal(0, 15, 10), DAY)
    found = tune("holt_winters", values)
    cut = len(values) - 2 * DAY
    everything = np.ones(len(values), dtype=bool)
    season = values[:DAY] - values[:DAY].mean()
    errors = {
        one: np.abs(values - smooth(values, everything, [one], block=DAY, season=season).predictions[0])
        for one in (*CANDIDATES, USUAL)
    }
    best = min(CANDIDATES, key=lambda one: errors[one][DAY:cut].mean())
    assert found.parameters == {"level": best.level, "season": best.season}
    assert found.mean_absolute_error == pytest.approx(errors[best][cut:].mean())
    assert found.base_mean_absolute_error == pytest.approx(errors[USUAL][cut:].mean())
    assert found.observations == 2 * DAY
    unseen = values.copy()
    unseen[cut:] += 500
    assert tune("holt_winters", unseen).parameters == found.parameters


def test_theta_can_be_tuned_and_the_naive_model_cannot() -> None:
    found = tune("theta", daily(8))
    assert set(found.parameters) == {"theta"}
    assert found.root_mean_squared_error >= found.mean_absolute_error > 0
    with pytest.raises(BadArgument, match="nothing to tune"):
        tune("seasonal_naive", daily(8))


@pytest.mark.parametrize("model", ["holt_winters", "seasonal_naive"])
def test_as_many_false_alarms_as_promised(model: str) -> None:
    shares = []
    for seed in range(6):
        found = detect(series(daily(21, seed=seed)), model, alpha=0.05)
        shares.append(found.anomalous.sum() / found.judged.sum())
    assert 0.03 < np.mean(shares) < 0.07


def test_a_disturbance_is_found_and_named() -> None:
    values = daily(14)
    values[1000:1030] += 30
    values[800:804] -= 40
    found = detect(series(values), "holt_winters")
    events = found.events()
    high = [one for one in events if one["direction"] == "high"]
    assert [one["start"] for one in high] == [str(found.series.times[1000])]
    assert any(one["direction"] == "low" and one["start"] == str(found.series.times[800]) for one in events)
    assert found.anomalous[1000:1020].mean() > 0.8


def test_nothing_is_looked_for_while_a_machine_is_off() -> None:
    on = (np.arange(21 * DAY) % DAY >= 30) & (np.arange(21 * DAY) % DAY < 80)
    values = np.where(on, daily(21), 0.0)
    values[15 * DAY + 5 : 15 * DAY + 15] = 500.0
    found = detect(series(values, on), "holt_winters")
    assert not found.anomalous[~on].any()
    assert not found.judged[~on].any()
    starts = np.flatnonzero(on & ~np.roll(on, 1))
    for start in starts:
        assert not found.judged[start : start + SETTLING].any()
    assert found.judged[starts[10] + SETTLING]


def test_off_times_do_not_widen_what_is_usual() -> None:
    on = np.ones(21 * DAY, dtype=bool)
    on[7 * DAY : 9 * DAY] = False
    values = np.where(on, daily(21), 0.0)
    whole = detect(series(daily(21)), "holt_winters")
    found = detect(series(values, on), "holt_winters")
    assert found.widths.max() < 1.3 * whole.widths.max()
    values[1500:1520] += 25
    found = detect(series(values, on), "holt_winters")
    assert any(one["start"] == str(found.series.times[1500]) for one in found.events())


def test_too_little_to_tell_what_is_usual() -> None:
    with pytest.raises(BadArgument, match="five days"):
        detect(series(daily(3)), "holt_winters")
    with pytest.raises(BadArgument, match="operates in 0 of 960 steps"):
        detect(series(daily(10), np.zeros(10 * DAY, dtype=bool)), "holt_winters")


def test_the_injected_anomalies_of_a_site_are_found(large: Any, large_site: Site) -> None:
    """Most of those whose machine runs at the time, and few alarms beside them."""
    found, looked, alarms, judged = 0, 0, 0, 0
    for one in large_site.injected[::2]:
        large.call("gauntlet_reset", scenario="look")
        read = large.call(
            "history",
            site_name="MAIN",
            assetnum=one.equipment_id,
            start=(one.begin - timedelta(days=18)).isoformat(timespec="seconds"),
            final=(one.end + timedelta(days=9)).isoformat(timespec="seconds"),
        )
        ask = {"dataset_path": read["file_path"], "timestamp_column": "timestamp", "target_columns": [one.sensor]}
        try:
            (summary,) = large.call("tsfm_integrated_tsad", **ask)["series"]
        except BadArgument:
            continue  # the machine runs too seldom in these weeks
        looked += 1
        begin, end = one.begin.isoformat(), one.end.isoformat()
        hit = [event for event in summary["events"] if event["start"] < end and event["end"] >= begin]
        found += bool(hit)
        alarms += summary["anomalous_steps"] - sum(event["steps"] for event in hit)
        judged += summary["judged_steps"]
    assert looked >= 10
    assert found >= 0.7 * looked
    assert alarms < 0.02 * judged


def month(large: Any, site: Site) -> dict[str, Any]:
    """A file with four weeks of the leading chiller, as arguments of a TSFM tool."""
    large.call("gauntlet_reset", scenario="month")
    machine = site.machines[0]
    start = site.telemetry_from.date() + timedelta(days=200)
    read = large.call(
        "history",
        site_name="MAIN",
        assetnum=machine.name,
        start=str(start),
        final=str(start + timedelta(days=27)),
    )
    return {"dataset_path": read["file_path"], "timestamp_column": "timestamp", "target_columns": ["Tonnage"]}


def test_a_saved_model_is_a_model(large: Any, large_site: Site) -> None:
    ask = month(large, large_site)
    tuned = large.call("tsfm_forecasting_finetune", model_checkpoint="holt_winters", **ask)
    (validation,) = tuned["validation"]
    assert validation["column"] == "Tonnage"
    assert 0 < validation["mean_absolute_error"] <= validation["root_mean_squared_error"]
    results = large.call("jsonreader", file_name=tuned["results_file"])["content"]
    assert results["validation"] == tuned["validation"]
    plain = large.call("tsfm_forecasting", model_checkpoint="holt_winters", **ask)
    again = large.call("tsfm_forecasting", model_checkpoint=tuned["model_checkpoint"], **ask)
    one, two = (large.table(each["results_file"])["Tonnage"] for each in (plain, again))
    parameters = results["parameters"]["Tonnage"]["parameters"]
    assert (one == two) == (parameters == {"level": USUAL.level, "season": USUAL.season})
    large.call("tsfm_integrated_tsad", **{**ask, "model_checkpoint": tuned["model_checkpoint"]})
    other = {**ask, "target_columns": ["Power Input"]}
    text = large.refusal("tsfm_forecasting", model_checkpoint=tuned["model_checkpoint"], **other)
    assert text == f"{tuned['model_checkpoint']} was tuned for Tonnage and not for Power Input."
    text = large.refusal("tsfm_forecasting", model_checkpoint=ask["dataset_path"], **ask)
    assert "is no saved model" in text


def test_a_forecast_begins_where_the_file_ends(large: Any, large_site: Site) -> None:
    ask = month(large, large_site)
    for model in ("holt_winters", "theta", "seasonal_naive"):
        found = large.call("tsfm_forecasting", model_checkpoint=model, horizon=40, **ask)
        rows = large.table(found["results_file"])
        assert list(rows) == ["timestamp", "Tonnage", "Tonnage lower", "Tonnage upper"]
        assert len(rows["timestamp"]) == 40
        assert (rows["timestamp"][0], rows["timestamp"][-1]) == (found["start"], found["final"])
        last = large.table(ask["dataset_path"])["timestamp"][-1]
        assert np.datetime64(found["start"]) - np.datetime64(last) == np.timedelta64(15, "m")
        bounds = zip(rows["Tonnage lower"], rows["Tonnage"], rows["Tonnage upper"], strict=True)
        assert all(low <= value <= high for low, value, high in bounds)


def test_several_columns_at_once(large: Any, large_site: Site) -> None:
    ask = {**month(large, large_site), "target_columns": "Tonnage, Supply Temperature"}
    found = large.call("tsfm_integrated_tsad", **ask)
    assert [one["column"] for one in found["series"]] == ["Tonnage", "Supply Temperature"]
    rows = large.table(found["results_file"])
    assert set(rows["column"]) == {"Tonnage", "Supply Temperature"}
    assert sum(rows["anomaly"]) == found["anomalies"]
    assert all(operating for operating, anomaly in zip(rows["operating"], rows["anomaly"], strict=True) if anomaly)


def test_a_standstill_can_be_told_from_the_answer(large: Any, large_site: Site) -> None:
    """The abstention twin: the days of the standstill alone hold nothing that could be forecast from."""
    (still,) = [one for one in large_site.stretches if one.kind == "standstill"]
    large.call("gauntlet_reset", scenario="still")
    read = large.call(
        "history",
        site_name="MAIN",
        assetnum=still.equipment_id,
        start=str(still.begin.date()),
        final=str((still.end - timedelta(days=1)).date()),
    )
    assert set(large.table(read["file_path"])["Power Input"]) == {0.0}
    ask = {"dataset_path": read["file_path"], "timestamp_column": "timestamp", "target_columns": ["Power Input"]}
    found = large.call("tsfm_forecasting", model_checkpoint="holt_winters", **ask)
    assert found["series"][0]["operating_share"] == 0.0
    assert "operates in 0 of" in large.refusal("tsfm_integrated_tsad", **ask)


@pytest.mark.parametrize(
    ("tool", "change", "said"),
    [
        ("tsfm_forecasting", {"model_checkpoint": "lstm"}, "There is no model 'lstm'"),
        ("tsfm_forecasting", {"model_checkpoint": "holt_winters", "horizon": 0}, "horizon must be from 1"),
        ("tsfm_forecasting", {"model_checkpoint": "holt_winters", "target_columns": []}, "from one to 8 columns"),
        ("tsfm_forecasting", {"model_checkpoint": "holt_winters", "target_columns": ["Smell"]}, "no column 'Smell'"),
        ("tsfm_forecasting", {"model_checkpoint": "holt_winters", "timestamp_column": "when"}, "no column 'when'"),
        ("tsfm_forecasting_finetune", {"model_checkpoint": "seasonal_naive"}, "cannot be fine-tuned here"),
        ("tsfm_forecasting_finetune", {"model_checkpoint": "granite_ttm_512_96"}, "cannot be fine-tuned here"),
        ("tsfm_integrated_tsad", {"model_checkpoint": "theta"}, "does not detect anomalies"),
    ],
)
def test_what_a_model_cannot_do_is_told(
    large: Any, large_site: Site, tool: str, change: dict[str, Any], said: str
) -> None:
    assert said in large.refusal(tool, **{**month(large, large_site), **change})


def test_a_short_file_is_told(large: Any, large_site: Site) -> None:
    large.call("gauntlet_reset", scenario="short")
    day = str(large_site.telemetry_from.date() + timedelta(days=200))
    read = large.call("history", site_name="MAIN", assetnum=large_site.machines[0].name, start=day, final=day)
    ask = {"dataset_path": read["file_path"], "timestamp_column": "timestamp", "target_columns": ["Tonnage"]}
    assert "needs at least 192" in large.refusal("tsfm_forecasting", model_checkpoint="holt_winters", **ask)
    assert "needs at least 480" in large.refusal("tsfm_forecasting_finetune", model_checkpoint="holt_winters", **ask)
    assert "five days" in large.refusal("tsfm_integrated_tsad", **ask)


def test_tasks_and_models_are_listed(large: Any) -> None:
    tasks = large.call("aitasks")["tasks"]
    assert [one["task_id"] for one in tasks] == [one["task_id"] for one in TASKS]
    assert {one["task_id"] for one in tasks} <= set(large.program.tools)
    models = {one["model_checkpoint"]: one for one in large.call("tsfmmodels")["models"]}
    assert set(models) == {one.checkpoint for one in MODELS}
    assert [name for name, one in models.items() if one["needs_weights"]] == [
        f"granite_ttm_{context}_96" for context in (512, 1024, 1536)
    ]


def weights(folder: Path) -> None:
    (folder / "granite_ttm_512_96").mkdir(parents=True)
    (folder / "granite_ttm_512_96" / "config.json").write_text("{}")


def test_pretrained_models_say_what_they_lack(
    large: Any, large_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = {**month(large, large_site), "model_checkpoint": "granite_ttm_512_96"}
    monkeypatch.delenv("ASSETOPS_TSFM_WEIGHTS", raising=False)
    assert "The weights of granite_ttm_512_96 are not here" in large.refusal("tsfm_forecasting", **ask)
    monkeypatch.setenv("ASSETOPS_TSFM_WEIGHTS", str(tmp_path))
    assert "The weights of granite_ttm_512_96 are not here" in large.refusal("tsfm_forecasting", **ask)
    weights(tmp_path)
    monkeypatch.setitem(sys.modules, "tsfm_public", None)
    assert "needs the package granite-tsfm" in large.refusal("tsfm_forecasting", **ask)
    assert "looks 96 steps ahead" in large.refusal("tsfm_forecasting", horizon=97, **ask)


def test_a_pretrained_model_is_given_its_context(
    large: Any, large_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in of the package's two classes: the package brings torch, which this environment never has."""
    seen: dict[str, Any] = {}

    class Prediction:
        @classmethod
        def from_pretrained(cls, folder: str, **options: Any) -> str:
            seen["folder"], seen["options"] = folder, options
            return "the model"

    class Pipeline:
        def __init__(self, model: Any, **options: Any) -> None:
            seen["model"], seen["pipeline"] = model, options

        def __call__(self, frame: Any) -> Any:
            seen["frame"] = frame
            return frame.tail(1).assign(value_prediction=[[float(step) for step in range(96)]])

    package, mixer = types.ModuleType("tsfm_public"), types.ModuleType("tsfm_public.models.tinytimemixer")
    package.TimeSeriesForecastingPipeline = Pipeline  # type: ignore[attr-defined]
    mixer.TinyTimeMixerForPrediction = Prediction  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tsfm_public", package)
    monkeypatch.setitem(sys.modules, "tsfm_public.models.tinytimemixer", mixer)
    monkeypatch.setenv("ASSETOPS_TSFM_WEIGHTS", str(tmp_path))
    weights(tmp_path)
    ask = {**month(large, large_site), "model_checkpoint": "granite_ttm_512_96"}
    found = large.call("tsfm_forecasting", horizon=5, **ask)
    assert large.table(found["results_file"])["Tonnage"] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert large.table(found["results_file"])["Tonnage lower"] == [None] * 5
    assert seen["folder"].endswith("granite_ttm_512_96")
    assert seen["options"] == {"local_files_only": True}
    assert seen["model"] == "the model"
    assert len(seen["frame"]) == 512
    assert not seen["frame"]["value"].isna().any()
    assert seen["pipeline"]["freq"] == "15min"


def test_models_are_known_by_name_alone() -> None:
    assert model_of("Holt_Winters").checkpoint == "holt_winters"
    with pytest.raises(BadArgument):
        model_of("holt")
    assert json.dumps([one.row() for one in MODELS])
