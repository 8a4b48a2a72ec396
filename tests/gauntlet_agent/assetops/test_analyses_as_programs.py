"""The WO agent's analyses say the same of rows from tools and as a program beside the tables."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gauntlet_agent.assetops import Settings, analyses, sub_agents
from gauntlet_agent.assetops.desk import Workplace
from gauntlet_agent.assetops.work_records import Machine, Table, program_of
from gauntlet_agent.rehearsal import Rehearsal

MACHINE = {"equipment_id": "CHL1", "equipment_name": "Chiller 1"}
#: Days of 2019 on which repairs were finished: two bundles, of two and of three, and one alone.
REPAIRS = ("01-01", "01-09", "03-01", "03-10", "03-14", "08-01")
ASKED = "Bundle the repairs of Chiller 1 completed in 2019 within two weeks: how many bundles?"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rows = [
        {**MACHINE, "wo_id": f"W{day}", "preventive": "FALSE", "finished": f"2019-{day}T08:00:00"} for day in REPAIRS
    ]
    rows += [{**rows[0], "wo_id": "P", "preventive": "TRUE", "finished": "2019-08-02"}]
    rows += [{**rows[0], "equipment_id": "", "equipment_name": "CHILLER-1", "wo_id": "N", "finished": "2018-08-02"}]
    rows += [{**rows[0], "equipment_id": "CHL2", "equipment_name": "Chiller 2", "wo_id": "O", "finished": "2019-08-02"}]
    with (tmp_path / "work_orders.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def run(program: str, folder: Path) -> dict[str, Any]:
    """What the platform's code tool does: a Python of its own, with the tables beside it."""
    code = program.replace("/app/data", str(folder))
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    return {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode, "truncated": False}


def test_bundles_begin_with_the_first_that_is_in_none() -> None:
    rows = [{"preventive": "FALSE", "finished": f"2019-{day}"} for day in REPAIRS]
    assert analyses.bundles(rows) == {"bundles": 2, "largest": 3, "sizes": [2, 3]}
    assert analyses.bundles([]) == {"bundles": 0, "largest": 0, "sizes": []}


def test_the_program_stands_alone_and_finds_the_machine_by_id_and_by_name(tables: Path) -> None:
    machine = Machine("CHL1", "Chiller 1")
    said = run(program_of(machine, analyses.bundles, Table("orders", None, "corrective")), tables)
    assert said["exit_code"] == 0, said["stderr"]
    assert said["stdout"].strip() == '{"bundles": 2, "largest": 3, "sizes": [2, 3]}'
    listed = run(program_of(machine, analyses.counted, Table("orders"), "wo_id"), tables)
    assert len(listed["stdout"].split(",")) == 8  # seven by identifier, one by name only, none of the other machine


@pytest.mark.parametrize("broken", [False, True])
def test_many_rows_are_analysed_where_they_are_and_by_pages_where_that_fails(tables: Path, broken: bool) -> None:
    ran: list[str] = []

    def run_wo_code(code: str) -> Any:
        ran.append(code)
        return {"stdout": "", "stderr": "no", "exit_code": 1} if broken else run(code, tables)

    def list_workorders(
        equipment_id: str = "", start: str = "0", end: str = "9", kind: str = "", limit: int = 4, offset: int = 0
    ) -> Any:
        """Gives four at a time."""
        rows = [{"preventive": "FALSE", "finished": f"2019-{day}"} for day in REPAIRS]
        return {"total": len(rows), "work_orders": rows[offset : offset + 4]}

    tools = {
        "list_equipment": lambda: [MACHINE],
        "list_workorders": list_workorders,
        "run_wo_code": run_wo_code,
    }
    episode = Rehearsal(ASKED, tools=tools)
    offered = episode.tools()
    next(one for one in offered if one.name == "list_workorders").input_schema["properties"]["limit"] = {"maximum": 4}
    place = Workplace(episode, offered)
    report = sub_agents(Settings())["WOAgent"].work(ASKED, place.desk("WOAgent"))
    assert (report.facts["bundles"], report.facts["largest"]) == (2, 3)
    assert len(ran) == 1
    assert [name for name, _ in episode.calls].count("list_workorders") == (2 if broken else 1)
