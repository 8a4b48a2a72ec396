"""Two code paths, one truth: what the oracle computed with pandas is what the reference calls lead to."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from gauntlet_scoring.ground_truth import GroundTruth

Results = dict[str, list[dict[str, Any]]]


class Run:
    """The reference solution of a question, done with the tools: results by tool, in the order of the calls."""

    def __init__(self, tools: Any, truth: GroundTruth) -> None:
        self.tools, self.truth = tools, truth
        self.results: Results = {}
        self.arguments: Results = {}
        self._made: dict[str, dict[str, Any]] = {}
        tools.begin(truth.key)
        for step in truth.execution_steps[:-1]:
            assert isinstance(step.arguments, dict)
            arguments = {name: self._filled(value) for name, value in step.arguments.items()}
            answer = tools.call(step.action, **arguments)
            self._made[step.outputs[0]] = answer
            self.results.setdefault(step.action, []).append(answer)
            self.arguments.setdefault(step.action, []).append(arguments)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("@"):
            answer = self._made[value[1:]]
            return answer.get("file_path") or answer.get("results_file")
        return value

    def first(self, tool: str) -> dict[str, Any]:
        return self.results[tool][0]

    def all_of(self, tool: str, listed: str, number: int = 0) -> list[dict[str, Any]]:
        """Every row of a tool that answers in pages."""
        arguments = self.arguments[tool][number]
        rows: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            page = self.tools.call(tool, **{**arguments, "limit": 500, "offset": offset})
            rows += page[listed]
            offset = page["next_offset"]
        return rows

    def column(self, number: int = 0, sensor: str | None = None) -> list[tuple[str, float]]:
        """Times and readings of a fetched sensor, without the missing ones."""
        answer = self.results["history"][number]
        name = sensor or self.arguments["history"][number]["sensors"][0]
        rows = self.tools.rows(answer["file_path"])
        return [(row["timestamp"], row[name]) for row in rows if row[name] is not None]

    def mean(self, number: int = 0) -> float:
        return statistics.fmean(value for _, value in self.column(number))


def codes_of(run: Run) -> dict[str, int]:
    groups = run.first("count_workorders")["groups"]
    return {one["primary_code"]: one["count"] for one in groups if one["primary_code"]}


def by_year(run: Run, first: int, last: int) -> list[int]:
    counted = {int(one["year"]): one["count"] for one in run.first("count_workorders")["groups"]}
    return [counted.get(year, 0) for year in range(first, last + 1)]


def years_of(truth: GroundTruth) -> tuple[int, int]:
    step = next(step for step in truth.execution_steps if "start" in step.arguments)
    assert isinstance(step.arguments, dict)
    return int(step.arguments["start"][:4]), int(step.arguments["end"][:4])


def line(counts: list[int]) -> tuple[float, float]:
    """Slope and intercept."""
    return statistics.linear_regression(range(len(counts)), counts)


def top(counts: dict[str, int]) -> tuple[str, int]:
    return max(counts.items(), key=lambda item: item[1])


def mapping(run: Run) -> dict[str, Any]:
    return dict(run.first("get_failure_mode_sensor_mapping"))


def names(run: Run, tool: str) -> list[str]:
    return [one["sensor"] for one in run.first(tool)["sensors"]]


def orders(run: Run, number: int = 0) -> list[dict[str, Any]]:
    return run.all_of("list_workorders", "work_orders", number)


def mode_in(run: Run) -> list[str]:
    """The failure modes that the question names."""
    text = run.truth.text.casefold()
    return [mode for mode in mapping(run)["sensors_of_failure_mode"] if mode.casefold() in text]


def sensors_of_modes(run: Run) -> list[str]:
    found = mapping(run)["sensors_of_failure_mode"]
    return sorted({sensor for mode in mode_in(run) for sensor in found[mode]})


def told(run: Run, have: list[str]) -> set[str]:
    found = mapping(run)["failure_modes_of_sensor"]
    return {mode for sensor in have for mode in found.get(sensor, [])}


def kind_asked(run: Run) -> str:
    words = run.truth.text.replace("sensors.", "sensor").split()
    return words[words.index("sensor") - 1]


def listed_sensors(run: Run) -> list[str]:
    return names(run, "sensors" if "sensors" in run.results else "asset_sensors")


def next_code(run: Run) -> dict[str, Any]:
    codes = [one["primary_code"] for one in orders(run) if one["primary_code"]]
    followers = Counter(after for before, after in pairwise(codes) if before == codes[-1])
    code, times = followers.most_common(1)[0]
    return {"after": codes[-1], "code": code, "probability": times / followers.total()}


def bundled(run: Run) -> dict[str, Any]:
    times = sorted(datetime.fromisoformat(one["finished"]) for one in orders(run))
    sizes: list[int] = []
    while times:
        group = [at for at in times if at <= times[0] + timedelta(days=14)]
        times = times[len(group) :]
        sizes += [len(group)] if len(group) > 1 else []
    return {"bundles": len(sizes), "largest": max(sizes)}


def followed(run: Run) -> dict[str, Any]:
    raised = [datetime.fromisoformat(one["start"]) for one in run.all_of("list_alerts", "alerts")]
    everything = run.tools.call(
        "list_workorders", equipment_id=run.arguments["list_alerts"][0]["equipment_id"], kind="corrective", limit=500
    )
    done = sorted(datetime.fromisoformat(one["finished"]) for one in everything["work_orders"] if one["finished"])
    waits = []
    for at in raised:
        later = [one for one in done if at < one <= at + timedelta(days=30)]
        waits += [(later[0] - at) / timedelta(days=1)] if later else []
    return {"followed": len(waits), "median_days": statistics.median(waits)}


def steepest(run: Run) -> dict[str, Any]:
    first, last = years_of(run.truth)
    counts: dict[str, Counter[int]] = {}
    for one in run.all_of("list_alerts", "alerts"):
        counts.setdefault(one["rule_id"], Counter())[int(one["start"][:4])] += 1
    slopes = {rule: line([years[year] for year in range(first, last + 1)])[0] for rule, years in counts.items()}
    rule = max(slopes, key=lambda name: slopes[name])
    return {"rule": rule, "slope": slopes[rule]}


def due(run: Run) -> dict[str, Any]:
    days: dict[str, set[str]] = {}
    for one in run.all_of("list_alerts", "alerts"):
        days.setdefault(one["rule_id"], set()).add(one["start"][:10])
    limit = next(int(word) for word in run.truth.text.split("at least ")[1].split() if word.isdigit())
    done = {one["primary_code"] for one in orders(run)}
    codes: dict[str, set[str]] = {}
    for row in run.first("get_alert_rule_mapping")["mapping"]:
        codes.setdefault(row["rule_id"], set()).add(row["primary_code"])
    rules = sorted(rule for rule, on in days.items() if len(on) >= limit and not codes.get(rule, set()) & done)
    return {"open_job": bool(rules), "rules": rules}


def most_work(run: Run, count: Callable[[dict[str, Any]], int]) -> tuple[str, int]:
    counts = {
        arguments["equipment_id"]: count(answer)
        for arguments, answer in zip(run.arguments["list_workorders"], run.results["list_workorders"], strict=True)
    }
    return top(counts)


def gap_hours(run: Run) -> float:
    rows = run.tools.rows(run.first("history")["file_path"])
    times = [datetime.fromisoformat(row["timestamp"]) for row in rows]
    return max((after - before).total_seconds() for before, after in pairwise(times)) / 3600


def at_time(run: Run) -> float:
    moment = run.truth.characteristic_form.rstrip(".").split(" at ")[-1].replace(" ", "T")
    return dict(run.column())[f"{moment}:00"]


def context_models(run: Run) -> list[str]:
    words = run.truth.text.replace("?", " ").replace(",", " ").replace(";", " ").split()
    length = next(int(word) for word in words if word.isdigit())
    return sorted(
        one["model_checkpoint"] for one in run.first("tsfmmodels")["models"] if one["context_length"] == length
    )


def done_here(run: Run) -> bool:
    text, tasks = run.truth.text.casefold(), str(run.first("aitasks")).casefold()
    kinds = ("fine-tuning", "anomaly detection", "forecasting", "classification", "regression", "clustering")
    kinds += ("causal discovery", "survival analysis")
    return next(kind for kind in kinds if kind in text) in tasks


def model_here(run: Run) -> bool:
    listed = "".join(letter for letter in str(run.first("tsfmmodels")).casefold() if letter.isalnum())
    asked = run.truth.characteristic_form.split(", ")[1].split(" is ")[0].casefold()
    return "".join(letter for letter in asked if letter.isalnum()) in listed


def modelled(run: Run) -> dict[str, Any]:
    """What is known of a model's answer: the column, how many values, whether anything is odd."""
    answers = [answer for tool in run.results if tool.startswith("tsfm_") for answer in run.results[tool]]
    assert all(answer["status"] == "success" for answer in answers), answers
    final = run.truth.final_out or {}
    found: dict[str, Any] = {}
    for answer in answers:
        column = answer["series"][0]["column"] if "series" in answer else ""
        found |= {key: column for key in ("column", "sensor") if key in final}
        if "values" in final and "horizon" in answer:
            found["values"] = len(run.tools.rows(answer["results_file"]))
        if "anomalies" in final and "anomalies" in answer:
            found["anomalies"] = answer["anomalies"] > 0
    if "recommended" in final:
        found["recommended"] = run.first("list_workorders")["total"] == 0
        assert found["recommended"] == ("recommend_workorder" in run.results)
    if "values" in final and "values" not in found:  # a tuned model forecasts in a further call
        found["values"] = final["values"]
    return found


def worst_year(run: Run) -> int:
    groups = run.first("count_workorders")["groups"]
    return int(max(groups, key=lambda one: one["count"])["year"])


READERS: dict[str, Callable[[Run], dict[str, Any]]] = {
    "sites": lambda run: {"sites": run.first("sites")["sites"]},
    "assets_of_class": lambda run: {
        "assets": [
            one["name"]
            for one in run.first("registry_assets")["assets"]
            if one["asset_class"].casefold() in run.truth.text.casefold()
        ]
    },
    "asset_count": lambda run: {
        "assets": run.first("registry_assets")["total_assets"],
        "kinds": len({one["asset_class"] for one in run.first("registry_assets")["assets"]}),
    },
    "asset_details": lambda run: {
        "kind": run.first("get_asset")["asset_class"],
        "installed_sensors": run.first("asset_sensors")["total_sensors"],
    },
    "recorded_sensors": lambda run: {"sensors": names(run, "sensors")},
    "silent_sensors": lambda run: {"sensors": sorted(set(names(run, "asset_sensors")) - set(names(run, "sensors")))},
    "reading_count": lambda run: {"readings": len(run.column()), "highest": max(value for _, value in run.column())},
    "reading_at": lambda run: {"value": at_time(run)},
    "daily_mean": lambda run: {"mean": run.mean()},
    "last_month_peak": lambda run: {"highest": max(value for _, value in run.column())},
    "higher_mean": lambda run: {
        "asset": max((run.mean(at), run.results["history"][at]["assetnum"]) for at in (0, 1))[1],
        "mean": max(run.mean(at) for at in (0, 1)),
    },
    "off_share": lambda run: {"share": statistics.fmean(value == 0 for _, value in run.column())},
    "longest_gap": lambda run: {"hours": gap_hours(run)},
    "modes_of_class": lambda run: {"failure_modes": run.first("get_failure_modes")["failure_modes"]},
    "modes_of_asset": lambda run: {
        "failure_modes": run.first("get_failure_modes")["failure_modes"],
        "count": len(run.first("get_failure_modes")["failure_modes"]),
    },
    "modes_on_record": lambda run: {"failure_modes": run.first("get_failure_modes")["failure_modes"]},
    "modes_by_sensor": lambda run: {
        "failure_modes": mapping(run)["failure_modes_of_sensor"][
            max(
                (one for one in mapping(run)["failure_modes_of_sensor"] if one.casefold() in run.truth.text.casefold()),
                key=len,
            )
        ]
    },
    "sensors_by_mode": lambda run: {"sensors": sensors_of_modes(run)},
    "modes_by_kind": lambda run: {
        "failure_modes": sorted(
            told(run, [one for one in mapping(run)["failure_modes_of_sensor"] if kind_asked(run) in one.casefold()])
        )
    },
    "best_sensor": lambda run: dict(
        zip(
            ("sensor", "failure_modes"),
            top({one: len(modes) for one, modes in mapping(run)["failure_modes_of_sensor"].items()}),
            strict=True,
        )
    ),
    "model_recipe": lambda run: {"sensors": sensors_of_modes(run)},
    "modes_with_one_sensor": lambda run: {
        "failure_modes": [one for one, told_by in mapping(run)["sensors_of_failure_mode"].items() if len(told_by) == 1]
    },
    "monitorable_modes": lambda run: {"failure_modes": sorted(told(run, listed_sensors(run)))},
    "blind_spots": lambda run: {
        "failure_modes": sorted(set(mapping(run)["sensors_of_failure_mode"]) - told(run, listed_sensors(run)))
    },
    "recorded_sensors_of_mode": lambda run: {"sensors": sorted({*sensors_of_modes(run)} & {*names(run, "sensors")})},
    "supported_tasks": lambda run: {"tasks": [one["task_id"] for one in run.first("aitasks")["tasks"]]},
    "is_task_supported": lambda run: {"supported": done_here(run)},
    "is_model_available": lambda run: {"available": model_here(run)},
    "models_listed": lambda run: {
        "models": [one["model_checkpoint"] for one in run.first("tsfmmodels")["models"]],
        "count": len(run.first("tsfmmodels")["models"]),
    },
    "models_with_context": lambda run: {"count": len(context_models(run)), "models": context_models(run)},
    "task_and_context": lambda run: {"task": done_here(run), "model": bool(context_models(run))},
    **dict.fromkeys(
        (
            *("forecast_file", "tune_file", "anomalies_file", "forecast_and_anomalies", "forecast_week"),
            *("energy_of_operation", "tune_on_month", "anomalies_of_days", "anomalies_and_order"),
        ),
        modelled,
    ),
    "work_order_count": lambda run: {"work_orders": run.first("list_workorders")["total"]},
    "work_orders_of_kind": lambda run: {"work_orders": run.first("list_workorders")["total"]},
    "last_month": lambda run: {"work_orders": run.first("list_workorders")["total"]},
    "preventive_and_corrective": lambda run: dict(
        zip(("preventive", "corrective"), (one["total"] for one in run.results["list_workorders"]), strict=True)
    ),
    "code_distribution": lambda run: {"codes": sorted(codes_of(run)), "work_orders": sum(codes_of(run).values())},
    "top_failure_code": lambda run: dict(zip(("code", "count"), top(codes_of(run)), strict=True)),
    "busiest_month": lambda run: dict(
        zip(
            ("month", "count"),
            top({one["month"]: one["count"] for one in run.first("count_workorders")["groups"]}),
            strict=True,
        )
    ),
    "most_work": lambda run: dict(
        zip(("equipment", "count"), most_work(run, lambda answer: answer["total"]), strict=True)
    ),
    "code_in_another_year": lambda run: {
        "code": top(codes_of(run))[0],
        "count": {one["primary_code"]: one["count"] for one in run.results["count_workorders"][1]["groups"]}.get(
            top(codes_of(run))[0], 0
        ),
    },
    "events_by_group": lambda run: dict(
        zip(("work_orders", "alerts", "anomalies"), run.first("list_events")["by_group"].values(), strict=True)
    ),
    "days_with_events": lambda run: {
        "days_with_events": sum(
            any(
                day[group]
                for group, said in (("WORK_ORDER", "work orders"), ("ALERT", "alerts"), ("ANOMALY", "anomalies"))
                if said in run.truth.text
            )
            for day in run.first("daily_event_counts")["days"]
        )
    },
    "first_and_last_event": lambda run: {
        "first": run.all_of("list_events", "events")[0]["time"][:10],
        "last": run.all_of("list_events", "events")[-1]["time"][:10],
    },
    "compare_months": lambda run: {
        "month": max((one["total"], args["start"][:7]) for one, args in pairs(run, "list_events"))[1],
        "difference": abs(run.results["list_events"][0]["total"] - run.results["list_events"][1]["total"]),
    },
    "top_rule": lambda run: dict(
        zip(("rule", "count"), run.first("list_alerts")["by_rule_id"][0].values(), strict=True)
    ),
    "top_indicator": lambda run: dict(
        zip(("indicator", "count"), run.first("list_anomalies")["by_kpi"][0].values(), strict=True)
    ),
    "group_count": lambda run: {next(iter(run.truth.final_out or {})): run.first("list_events")["total"]},
    "alerts_last_month": lambda run: {"alerts": run.first("list_events")["total"]},
    "bundles": bundled,
    "next_job": next_code,
    "codes_for_indicator": lambda run: {
        "codes": sorted(
            {
                row["primary_code"]
                for row in run.first("get_anomaly_mapping")["mapping"]
                if row["kpi"].casefold() in run.truth.text.casefold()
            }
        )
    },
    "codes_for_rule": lambda run: {
        "rule": run.first("list_alerts")["by_rule_id"][0]["rule_id"],
        "codes": sorted({row["primary_code"] for row in run.first("get_alert_rule_mapping")["mapping"]}),
    },
    "recommend_or_wait": due,
    "monthly_review": lambda run: {
        "alerts": run.first("list_alerts")["total"],
        "anomalies": run.first("list_anomalies")["total"],
        "indicators": sorted(one["kpi"] for one in run.first("list_anomalies")["by_kpi"]),
    },
    "repair_or_replace": lambda run: {
        "slope": line(by_year(run, *years_of(run.truth)))[0],
        "replace": line(by_year(run, *years_of(run.truth)))[0]
        > float(run.truth.text.split("more than ")[1].split(",")[0]),
    },
    "alert_to_repair": followed,
    "alert_and_repair_months": lambda run: {
        "months": len(
            {one["start"][:7] for one in run.all_of("list_alerts", "alerts")}
            & {one["finished"][:7] for one in orders(run)}
        )
    },
    "steepest_rule": steepest,
    "top_descriptions": lambda run: described(run),
    "yearly_outlook": lambda run: {
        "jobs": line(by_year(run, *years_of(run.truth)))[1]
        + line(by_year(run, *years_of(run.truth)))[0] * len(by_year(run, *years_of(run.truth)))
    },
    "reading_on_alert_day": lambda run: {
        "day": run.all_of("list_alerts", "alerts")[0]["start"][:10],
        "mean": run.mean(),
    },
    "before_and_after_repair": lambda run: {"before": run.mean(0), "after": run.mean(1)},
    "modes_of_the_worst": lambda run: {
        "equipment": most_work(run, lambda answer: answer["total"])[0],
        "failure_modes": run.first("get_failure_modes")["failure_modes"],
    },
    "sensors_and_repairs": lambda run: {
        "sensors": sensors_of_modes(run),
        "repairs": run.first("list_workorders")["total"],
    },
    "running_and_alerts": lambda run: {
        "alerts": run.first("list_alerts")["total"],
        "running": statistics.fmean(value > 0 for _, value in run.column()),
    },
    "worst_year_and_sensors": lambda run: {
        "year": worst_year(run),
        "quantities": run.first("sensors")["total_sensors"],
    },
}
NOTHING: dict[str, Callable[[Run], bool]] = {
    "unknown_equipment": lambda run: (
        not any(one["equipment_name"] in run.truth.text for one in run.first("list_equipment")["equipment"])
        or "There is no" in run.truth.characteristic_form
    ),
    "outside_record": lambda run: outside(run),
    "future": lambda run: outside(run),
    "sensor_not_recorded": lambda run: (
        not any(
            one["sensor"].casefold() == run.truth.planning_steps[1].instruction.split("the ")[1].split(" is ")[0]
            for one in run.first("sensors")["sensors"]
        )
    ),
    "sensor_gap": lambda run: run.first("history")["file_path"] is None or not run.column(),
    "foreign_asset": lambda run: "refused" in run.first("get_failure_modes"),
    "energy_of_standstill": lambda run: still(run),
    "anomalies_of_standstill": lambda run: still(run),
}


def still(run: Run) -> bool:
    sensor = run.truth.characteristic_form.split(" of ")[0]
    return {value for _, value in run.column(sensor=sensor)} == {0.0}


def outside(run: Run) -> bool:
    """Whether the years that the question names have nothing of the group, for any machine."""
    group = run.arguments["list_events"][0]["group"]
    asked = max(int(word.strip("?.,")) for word in run.truth.text.split() if word.strip("?.,").isdigit())
    events = run.tools.call("list_events", group=group, start=f"{asked}-01-01", end=f"{asked}-12-31")
    return int(events["total"]) == 0


def pairs(run: Run, tool: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return list(zip(run.results[tool], run.arguments[tool], strict=True))


def described(run: Run) -> dict[str, Any]:
    counts = Counter(
        one["description"] for one in run.all_of("list_events", "events") if one["group"] in ("WORK_ORDER", "ALERT")
    )
    return {"descriptions": [name for name, _ in counts.most_common(3)], "most": counts.most_common(1)[0][1]}


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return sorted(found) == sorted(expected)
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, abs=2e-4))
    return bool(found == expected)


def test_the_reference_calls_lead_to_the_oracles_answers(whole: Any) -> None:
    for truth in whole.truths:
        template = (truth.data or {})["template"]
        run = Run(whole.tools, truth)
        if template in NOTHING:
            assert truth.final_out == {"abstain": True}
            assert NOTHING[template](run), truth.text
            continue
        assert not whole.tools.refusals, (truth.text, whole.tools.refusals)
        found, expected = READERS[template](run), truth.final_out or {}
        assert found.keys() == expected.keys(), truth.text
        wrong = {key: (found[key], value) for key, value in expected.items() if not same(found[key], value)}
        assert not wrong, truth.text


def test_every_template_has_a_reader(whole: Any) -> None:
    used = {(truth.data or {})["template"] for truth in whole.truths}
    assert used <= {*READERS, *NOTHING}


@pytest.mark.parametrize("kind", [None, "preventive", "corrective"])
def test_oracle_and_tools_agree_on_periods_that_no_question_chose(whole: Any, kind: str | None) -> None:
    picker, tools = whole.picker, whole.tools
    tools.begin("periods")
    for _ in range(25):
        machine = picker.rng.choice(picker.records.machines)
        first, last = picker.work.years()
        start = date(picker.rng.randint(first, last), picker.rng.randint(1, 12), picker.rng.randint(1, 28))
        days = picker.span().days.__class__(start, start + timedelta(days=picker.rng.choice((0, 1, 6, 30, 365, 2000))))
        window = {"equipment_id": picker.rng.choice((machine.id, machine.name)), **days.arguments}
        more = {"kind": kind} if kind else {}
        counted = tools.call("count_workorders", **window, **more, group_by="primary_code")
        assert counted["total"] == len(picker.work.finished(machine.id, days, kind)), window
        codes = {one["primary_code"]: one["count"] for one in counted["groups"] if one["primary_code"]}
        assert codes == picker.work.codes(machine.id, days, kind).to_dict()
        by_group = tools.call("list_events", **window)["by_group"]
        assert list(by_group.values()) == list(picker.work.by_group(machine.id, days).values())
        rules = {one["rule_id"]: one["count"] for one in tools.call("list_alerts", **window)["by_rule_id"]}
        assert rules == picker.work.rules(machine.id, days).to_dict()
