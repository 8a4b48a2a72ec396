"""What the kits' tests share: a kit's modules, a small plant, a scripted model, and a real AssetOps task."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from assetops_data import Size
from assetops_scenarios.bundle import Scale, make_competition
from model_server import ModelServer, model_server

from gauntlet_agent.errors import ToolError
from gauntlet_agent.rehearsal import Rehearsal

ROOT = Path(__file__).resolve().parents[2]
KITS = ROOT / "starter_kits"
SMALL = Scale(public=10, hidden=2, site=Size())
ORDERS = [
    {
        "wo_id": f"W{number}",
        "equipment_id": "CHL1",
        "primary_code": code,
        "preventive": kind,
        "finished": f"2019-{month}",
    }
    for number, (code, kind, month) in enumerate(
        [
            ("PM01", "TRUE", "01-10T08:00:00"),
            ("ME01", "FALSE", "03-02T08:00:00"),
            ("ME01", "FALSE", "03-09T08:00:00"),
            ("PM01", "TRUE", "07-10T08:00:00"),
            ("PM01", "TRUE", "08-11T08:00:00"),
        ]
    )
]


class Kit:
    """A kit's modules by name."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> ModuleType:
        try:
            return self._modules[name]
        except KeyError:
            raise AttributeError(name) from None


def kit_modules(folder: Path) -> Kit:
    """The modules of a kit's folder. Two kits have modules of the same names, so they are forgotten at once."""
    names = {path.stem for path in folder.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        return Kit({name: importlib.import_module(name) for name in sorted(names)})
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


class Plant:
    """A plant of one chiller, as functions under the names of AssetOps' tools."""

    def sites(self) -> Any:
        return {"sites": ["MAIN"]}

    def registry_assets(self, site_name: str = "MAIN") -> Any:
        return {"assets": [{"assetnum": "CHL1", "name": "Chiller 1", "site_name": site_name, "asset_class": "Chiller"}]}

    def sensors(self, site_name: str, assetnum: str) -> Any:
        return {"sensors": [{"sensor": "Tonnage"}, {"sensor": "Power Input"}]}

    def asset_sensors(self, assetnum: str) -> Any:
        return {"sensors": [{"sensor": "Power Input"}, {"sensor": "Oil Pressure"}]}

    def history(self, site_name: str, assetnum: str, start: str, final: str = "", sensors: Any = None) -> Any:
        return {"total_observations": 4, "file_path": "history_1.json", "start": start, "final": final, "message": "4"}

    def jsonreader(self, file_name: str, limit: int = 100, offset: int = 0) -> Any:
        rows = [
            {"timestamp": f"2020-06-01T0{hour}:00:00", "Tonnage": tons} for hour, tons in enumerate((0, 2, 4, None))
        ]
        return {"total": len(rows), "rows": rows[offset : offset + limit]}

    def get_failure_modes(self, asset_name: str) -> Any:
        if "Turbine" in asset_name:
            raise ToolError("Nothing is known of the kind Wind Turbine.")
        return {"failure_modes": ["Fouling", "Overheating"]}

    def get_failure_mode_sensor_mapping(self, asset_name: str, failure_modes: Any = None) -> Any:
        pairs = [("Fouling", "Tonnage"), ("Overheating", "Oil Pressure")]
        return {"relevance": [{"failure_mode": mode, "sensor": sensor, "relevant": True} for mode, sensor in pairs]}

    def list_equipment(self) -> Any:
        return {"equipment": [{"equipment_id": "CHL1", "equipment_name": "Chiller 1"}]}

    def list_workorders(
        self,
        equipment_id: str = "",
        start: str = "0",
        end: str = "9",
        kind: str = "",
        limit: int = 50,
        offset: int = 0,
    ) -> Any:
        wanted = {"": ("TRUE", "FALSE"), "preventive": ("TRUE",), "corrective": ("FALSE",)}[kind]
        found = [row for row in ORDERS if start <= row["finished"][:10] <= end and row["preventive"] in wanted]
        return {"total": len(found), "work_orders": found[offset : offset + limit]}

    def as_tools(self) -> dict[str, Callable[..., Any]]:
        """The functions by the names of the tools."""
        names = [name for name in dir(type(self)) if not name.startswith("_") and name != "as_tools"]
        return {name: getattr(self, name) for name in names}


@pytest.fixture(scope="session")
def supervisor_kit() -> Kit:
    """The modules of `agent_as_tool`."""
    return kit_modules(KITS / "agent_as_tool")


@pytest.fixture(scope="session")
def planner_kit() -> Kit:
    """The modules of `plan_execute`."""
    return kit_modules(KITS / "plan_execute")


@pytest.fixture
def plant() -> Plant:
    return Plant()


@pytest.fixture
def rehearse(plant: Plant) -> Callable[..., Rehearsal]:
    """An episode at the plant; fields of the answer by name."""

    def make(text: str, *, url: str = "", tools: Any = None, budget: Any = None, **fields: str) -> Rehearsal:
        show = {"answer_format": fields} if fields else {}
        offered = plant.as_tools() if tools is None else tools
        return Rehearsal(text, show, tools=offered, budget=budget, models_url=url)

    return make


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    """A scripted model, asked by the official client without a gateway between."""
    with model_server() as server:
        server.wants_key = False
        yield server


@pytest.fixture
def tool_call() -> Callable[..., dict[str, Any]]:
    """Makes a message with which a model calls a tool."""

    def message(name: str, **arguments: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"content": None, "tool_calls": [{"id": f"call-{name}", "type": "function", "function": function}]}

    return message


@pytest.fixture(scope="session")
def assetops_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small starting kit of the execution track, with a model offered."""
    folder = tmp_path_factory.mktemp("assetops") / "bundle"
    make_competition(folder, track="execution", secret=bytes(range(32)), scale=SMALL)
    manifest = folder / "starting_kit" / "competition.yaml"
    content = yaml.safe_load(manifest.read_text())
    content["phases"][0]["llm"] = {"models": ["small"], "per_episode": {"tokens": 200_000}}
    manifest.write_text(yaml.safe_dump(content))
    return folder / "starting_kit"


@pytest.fixture(scope="session")
def planning_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small starting kit of the planning track, which offers no tools."""
    folder = tmp_path_factory.mktemp("assetops") / "planning"
    make_competition(folder, track="planning", secret=bytes(range(32)), scale=SMALL)
    return folder / "starting_kit"


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., Path]:
    """A copy of a kit with other settings."""

    def copy(name: str, **settings: Any) -> Path:
        folder = tmp_path / name
        shutil.copytree(KITS / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
        given = yaml.safe_load((folder / "settings.yaml").read_text())
        (folder / "settings.yaml").write_text(yaml.safe_dump({**given, **settings}))
        return folder

    return copy
