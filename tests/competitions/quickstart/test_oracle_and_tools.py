"""Two code paths, one truth: what the oracle computed with pandas is what the tools answer."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from quickstart_generator.oracle import GROUPS, Days, PlantOracle

from gauntlet_scoring.ground_truth import GroundTruth

ROOT = Path(__file__).resolve().parents[3]
GENERATOR = ROOT / "competitions" / "quickstart" / "generator" / "quickstart_generator"
ReadTruths = Callable[[Path, str], list[GroundTruth]]


def answer_from_tools(plant: Any, truth: GroundTruth) -> dict[str, Any]:
    """Do the reference steps with the tools and put the answer together from their results alone."""
    results: dict[str, list[dict[str, Any]]] = {}
    for step in truth.execution_steps[:-1]:
        assert isinstance(step.arguments, dict)
        results.setdefault(step.action, []).append(plant.call(step.action, **step.arguments))
    template = (truth.data or {})["template"]
    return READERS[template](results)


def work_order_count(results: dict[str, Any]) -> dict[str, Any]:
    return {"work_orders": results["get_work_orders"][0]["total"]}


def by_group(results: dict[str, Any]) -> dict[str, Any]:
    return dict(results["get_events"][0]["by_group"])


def split(results: dict[str, Any]) -> dict[str, Any]:
    preventive, corrective = results["get_work_orders"]
    return {"preventive": preventive["total"], "corrective": corrective["total"]}


def date_range(results: dict[str, Any]) -> dict[str, Any]:
    (found,) = results["event_date_range"][0]["ranges"].values()
    return {"first": found["first"][:10], "last": found["last"][:10]}


def busiest_month(results: dict[str, Any]) -> dict[str, Any]:
    months = Counter(order["finished"][:7] for order in results["get_work_orders"][0]["work_orders"])
    (month, count), *_ = months.most_common()
    return {"month": month, "count": count}


def compare_months(results: dict[str, Any]) -> dict[str, Any]:
    counts = {one["events"][0]["time"][:7]: one["total"] for one in results["get_events"]}
    return {
        "month": max(counts, key=lambda month: counts[month]),
        "difference": max(counts.values()) - min(counts.values()),
    }


def most_work(results: dict[str, Any]) -> dict[str, Any]:
    best = max(results["get_work_orders"], key=lambda one: int(one["total"]))
    return {"equipment": best["equipment"], "count": best["total"]}


def first_of(tool: str, listed: str, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def read(results: dict[str, Any]) -> dict[str, Any]:
        best = results[tool][0][listed][0]
        return {name: best[name], "count": best["count"]}

    return read


def declined_when(nothing: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda results: {"abstain": True} if nothing(results) else {"found": results}


READERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "work_order_count": work_order_count,
    "work_orders_of_kind": work_order_count,
    "last_month": work_order_count,
    "preventive_and_corrective": split,
    "events_by_group_year": by_group,
    "events_by_group_month": by_group,
    "events_of_first_week": by_group,
    "group_count": by_group,
    "days_with_events": lambda results: {"days_with_events": results["daily_event_counts"][0]["days_with_events"]},
    "date_range": date_range,
    "busiest_month": busiest_month,
    "compare_months": compare_months,
    "most_work": most_work,
    "top_failure_code": first_of("count_failure_codes", "codes", "code"),
    "top_rule": first_of("get_alerts", "by_rule", "rule"),
    "top_indicator": first_of("get_anomalies", "by_indicator", "indicator"),
    "sensor_mean": lambda results: {"mean": results["summarize_sensor"][0]["mean"]},
    "unknown_equipment": declined_when(lambda results: "list_equipment" in results),
    "outside_record": declined_when(lambda results: "record_coverage" in results),
    "future": declined_when(lambda results: "record_coverage" in results),
    "sensor_not_recorded": declined_when(lambda results: "list_sensors" in results),
    "sensor_gap": declined_when(lambda results: results["summarize_sensor"][0]["readings"] == 0),
}


@pytest.mark.parametrize("task", ["development", "test"])
def test_the_reference_steps_lead_to_the_oracles_answer(
    bundle: Path, task: str, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant = open_plant(bundle / "data" / task)
    for truth in read_truths(bundle, task):
        assert answer_from_tools(plant, truth) == truth.final_out, truth.text


def test_declined_questions_really_have_no_answer_in_the_records(
    bundle: Path, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant = open_plant(bundle / "data" / "test")
    coverage = plant.call("record_coverage")
    for truth in read_truths(bundle, "test"):
        template = (truth.data or {})["template"]
        if template in ("outside_record", "future"):
            (group,) = [name for name in GROUPS.values() if name in truth.text]
            asked = max(
                word.strip("?.") for word in truth.text.split() if word.strip("?.").isdigit() and len(word) >= 4
            )
            assert not coverage[group]["from"][:4] <= asked <= coverage[group]["to"][:4]
        if template == "unknown_equipment":
            step = truth.execution_steps[0]
            assert isinstance(step.arguments, dict)
            known = {one["name"] for one in plant.call("list_equipment", limit=200)["equipment"]}
            assert step.arguments["name"] not in known
        if template == "sensor_not_recorded":
            step = truth.execution_steps[0]
            assert isinstance(step.arguments, dict)
            listed = plant.call("list_sensors", **step.arguments)["sensors"]
            assert not [one for one in listed if one["readings"] and one["sensor"].lower() in truth.text]


def random_days(rng: random.Random, oracle: PlantOracle) -> Days:
    first, last = oracle.coverage("WORK_ORDER")
    start = first + timedelta(days=rng.randrange((last - first).days))
    return Days(start, start + timedelta(days=rng.choice((0, 1, 6, 30, 365, 2000))))


@pytest.mark.parametrize("source", ["development", "test", pytest.param("real", marks=pytest.mark.real_input)])
def test_oracle_and_tools_agree_on_periods_that_no_question_chose(
    source: str, bundle: Path, shared: Path, open_plant: Callable[[Path], Any]
) -> None:
    data = shared / "data" / "assetops" if source == "real" else bundle / "data" / source
    oracle, plant, rng = PlantOracle(data), open_plant(data), random.Random(11)  # noqa: S311
    listed = plant.call("list_equipment", limit=200)["equipment"]
    assert [one["id"] for one in listed] == oracle.equipment()
    for _ in range(30):
        machine, days = rng.choice(listed), random_days(rng, oracle)
        window = {"equipment": rng.choice((machine["id"], machine["name"])), **days.arguments}
        for kind in (None, "preventive", "corrective"):
            found = plant.call("get_work_orders", **window, kind=kind or "any", limit=1)
            assert found["total"] == len(oracle.finished(machine["id"], days, kind)), window
        assert plant.call("get_events", **window, limit=1)["by_group"] == oracle.by_group(machine["id"], days)
        groups = rng.sample(list(GROUPS), rng.randint(1, 3))
        daily = plant.call("daily_event_counts", **window, groups=groups)
        assert daily["days_with_events"] == oracle.days_with_events(machine["id"], days, groups)
        codes = {one["code"]: one["count"] for one in plant.call("count_failure_codes", **window)["codes"]}
        assert codes == oracle.codes(machine["id"], days).to_dict()
        rules = {one["rule"]: one["count"] for one in plant.call("get_alerts", **window)["by_rule"]}
        assert rules == oracle.rules(machine["id"], days).to_dict()
        kinds = {one["indicator"]: one["count"] for one in plant.call("get_anomalies", **window)["by_indicator"]}
        assert kinds == oracle.indicators(machine["id"], days).to_dict()


def test_oracle_and_tools_agree_on_what_sensors_read(bundle: Path, open_plant: Callable[[Path], Any]) -> None:
    data = bundle / "data" / "test"
    oracle, plant = PlantOracle(data), open_plant(data)
    for machine, table in oracle.sensors.items():
        first: date = table.index.min().date()
        for sensor in [str(name) for name in table.columns]:
            for offset in range(0, 50, 7):
                days = Days(first + timedelta(days=offset), first + timedelta(days=offset + 1))
                read = oracle.readings(machine, sensor, days)
                found = plant.call("summarize_sensor", equipment=machine, sensor=sensor, **days.arguments)
                assert (found["readings"], found["empty"]) == (read.notna().sum(), read.isna().sum())
                if found["mean"] is not None:
                    assert found["mean"] == pytest.approx(read.mean(), abs=1e-4)


def test_the_oracle_knows_nothing_of_the_tools() -> None:
    tree = ast.parse((GENERATOR / "oracle.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported == {"__future__", "dataclasses", "datetime", "functools", "pathlib", "re", "pandas"}
