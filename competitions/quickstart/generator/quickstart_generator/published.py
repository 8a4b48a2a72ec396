"""The published questions 400, 402 to 408 and 410 about real records, as a competition of their own.

Texts and tables are read from the public AssetOpsBench sample data where it lies; nothing of it is in this repository.
What a question is about (machine, period, groups) is written here; its answer is computed by the oracle.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from quickstart_generator.bundle import COMPETITION, TaskFolders, copy_program, write_questions, write_yaml
from quickstart_generator.manifest import TaskEntry, single_task_manifest
from quickstart_generator.oracle import GROUPS, Days, PlantOracle
from quickstart_generator.plant import Machine
from quickstart_generator.question import Call, Field, Question
from quickstart_generator.scenario_set import Asked

SCENARIOS_FILE: Final = "scenarios_152.jsonl"
TABLES: Final = (
    "all_wo_with_code_component_events.csv",
    "event.csv",
    "alert_events.csv",
    "alert_rule.csv",
    "anomaly_events.csv",
    "failure_codes.csv",
    "primary_failure_codes.csv",
    "chiller6_june2020_sensordata_couchdb.csv",
)
_COUNT = "integer, how many"
_CHILLER_9 = Machine("CWC04009", "Chiller 9")
_CHILLER_13 = Machine("CWC04013", "Chiller 13")
_YEAR_2017 = Days(date(2017, 1, 1), date(2017, 12, 31))
_YEAR_2019 = Days(date(2019, 1, 1), date(2019, 12, 31))
_YEAR_2021 = Days(date(2021, 1, 1), date(2021, 12, 31))
_MAY_2020 = Days(date(2020, 5, 1), date(2020, 5, 31))
_JUNE_2020 = Days(date(2020, 6, 1), date(2020, 6, 30))
_FIRST_WEEK = Days(date(2020, 6, 1), date(2020, 6, 7))


@dataclass(frozen=True)
class _Published:
    """What is behind a published question: the tool that leads to the answer, and the answer's fields."""

    machine: Machine
    days: Days
    tool: str
    answer: Callable[[PlantOracle, Machine, Days], Mapping[str, Field]]
    kind: str | None = None
    groups: tuple[str, ...] = ()


def _orders(kind: str | None) -> Callable[[PlantOracle, Machine, Days], Mapping[str, Field]]:
    return lambda oracle, machine, days: {"work_orders": Field(len(oracle.finished(machine.id, days, kind)), _COUNT)}


def _groups(oracle: PlantOracle, machine: Machine, days: Days) -> Mapping[str, Field]:
    return {name: Field(count, _COUNT) for name, count in oracle.by_group(machine.id, days).items()}


def _event_days(oracle: PlantOracle, machine: Machine, days: Days) -> Mapping[str, Field]:
    found = oracle.days_with_events(machine.id, days, ["ALERT", "ANOMALY"])
    return {"days_with_events": Field(found, "integer, number of days with at least one such event")}


_WATCHED = ("ALERT", "ANOMALY")
PUBLISHED: Final[Mapping[int, _Published]] = {
    400: _Published(_CHILLER_13, _YEAR_2017, "get_work_orders", _orders(None)),
    402: _Published(_CHILLER_13, _YEAR_2017, "get_work_orders", _orders("preventive"), kind="preventive"),
    403: _Published(_CHILLER_13, _YEAR_2017, "get_work_orders", _orders("corrective"), kind="corrective"),
    404: _Published(_CHILLER_9, _YEAR_2019, "get_events", _groups, groups=tuple(GROUPS)),
    405: _Published(_CHILLER_9, _JUNE_2020, "get_events", _groups, groups=tuple(GROUPS)),
    406: _Published(_CHILLER_9, _JUNE_2020, "get_events", _groups, groups=tuple(GROUPS)),
    407: _Published(_CHILLER_9, _YEAR_2021, "daily_event_counts", _event_days, groups=_WATCHED),
    408: _Published(_CHILLER_9, _MAY_2020, "daily_event_counts", _event_days, groups=_WATCHED),
    410: _Published(_CHILLER_9, _FIRST_WEEK, "get_events", _groups, groups=tuple(GROUPS)),
}


def make_published(out: Path, *, shared: Path) -> None:
    """Write the bundle with the published questions into the new or empty folder ``out``.

    Args:
        out: the bundle's folder
        shared: the folder with ``data/assetops``

    Raises:
        ValueError: the folder is not empty
        FileNotFoundError: the sample data is not there
        KeyError: a published question is missing from it
    """
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty")
    source = shared / "data" / "assetops"
    folders = TaskFolders("published")
    (out / folders.data).mkdir(parents=True)
    for table in TABLES:
        shutil.copyfile(source / table, out / folders.data / table)
    write_questions(out, folders, published_questions(source), public=True)
    copy_program(out)
    shutil.copytree(COMPETITION / "pages", out / "pages")
    shutil.copyfile(COMPETITION / "terms.md", out / "terms.md")
    task = TaskEntry(0, "Published questions", folders.data, folders.scenarios, folders.reference)
    manifest = single_task_manifest(task, title="Published questions", description="Nine questions, real records.")
    write_yaml(out / "competition.yaml", manifest)


def published_questions(source: Path) -> list[Asked]:
    """The nine questions with their answers, in the order of their numbers."""
    oracle = PlantOracle(source)
    texts = _texts(source / SCENARIOS_FILE)
    return [
        Asked(str(number), _question(one, texts[number], oracle), None) for number, one in sorted(PUBLISHED.items())
    ]


def _texts(path: Path) -> dict[int, str]:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return {int(row["id"]): str(row["text"]) for row in rows}


def _question(one: _Published, text: str, oracle: PlantOracle) -> Question:
    fields = one.answer(oracle, one.machine, one.days)
    what = f"{one.kind} work orders" if one.kind else "events" if one.groups else "work orders"
    arguments = {
        "equipment": one.machine.id,
        **one.days.arguments,
        **({"kind": one.kind} if one.kind else {}),
        **({"groups": list(one.groups)} if one.groups else {}),
    }
    instead = {
        "get_work_orders": ("count_failure_codes",),
        "get_events": ("daily_event_counts",),
        "daily_event_counts": ("get_events",),
    }[one.tool]
    said = ", ".join(f"{name.replace('_', ' ')}: {field.value}" for name, field in fields.items())
    period = f"{one.days.start} to {one.days.end}"
    return Question(
        template="published",
        text=text,
        category="Knowledge Query",
        plan=[
            ("WOAgent", f"Retrieve the {what} of {one.machine.id} from {period}."),
            ("WOAgent", "Count the records as asked and report the result."),
        ],
        calls=[Call(one.tool, arguments, "records_found", machine=one.machine, instead=instead)],
        fields=fields,
        expected=said,
        machines=(one.machine,),
    )
