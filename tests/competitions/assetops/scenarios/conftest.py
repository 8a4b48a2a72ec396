"""Sites with a whole set of questions each, and the environment's tools in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from assetops_data import Size, write_site
from assetops_scenarios.bundle import picker_of, write_datasets
from assetops_scenarios.picking import Picker
from assetops_scenarios.scenario_set import Asked, draw_set
from assetops_scenarios.truth import ground_truth_of
from assetops_tools.errors import BadArgument
from assetops_tools.program import SiteProgram, storage_opener

from gauntlet_scoring.ground_truth import GroundTruth

ROOT = Path(__file__).resolve().parents[4]


@dataclass
class Tools:
    """The environment's program, called directly."""

    program: SiteProgram
    refusals: list[str] = field(default_factory=list)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a tool answers; what it refuses is written down."""
        try:
            return self.program.answer(name, arguments)
        except BadArgument as error:
            self.refusals.append(f"{name}: {error}")
            return {"refused": str(error)}

    def begin(self, scenario: str) -> None:
        """Begin an episode."""
        self.program.answer("gauntlet_reset", {"scenario": scenario, "seed": 1})
        self.refusals.clear()

    def rows(self, file: str) -> list[dict[str, Any]]:
        """All rows of a file that a tool wrote."""
        found: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            page = self.call("jsonreader", file_name=file, limit=500, offset=offset)
            found += page["rows"]
            offset = page["next_offset"]
        return found


@dataclass(frozen=True)
class Set:
    """A site, the set of questions about it, their ground truth, and the tools."""

    folder: Path
    picker: Picker
    asked: list[Asked]
    truths: list[GroundTruth]
    tools: Tools


OpenTools = Callable[[Path], Tools]


@pytest.fixture(scope="session")
def open_tools(tmp_path_factory: pytest.TempPathFactory) -> OpenTools:
    """The tools on a data folder."""

    def start(folder: Path) -> Tools:
        place = tmp_path_factory.mktemp("scratch")
        return Tools(SiteProgram(folder, place / "files", open_storage=storage_opener(folder, place)))

    return start


@pytest.fixture(scope="session", params=[b"one site for tests", b"another site for tests"], ids=["one", "another"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, open_tools: OpenTools) -> Set:
    """A whole set of the public size about a site."""
    folder: Path = tmp_path_factory.mktemp("site") / "data"
    recorded = write_site(folder, seed=request.param, size=Size(telemetry_days=365))
    picker = picker_of(folder, key=request.param, injected=recorded.injected)
    asked = draw_set(picker, size=None, prefix="q")
    write_datasets(folder, asked)
    truths = [ground_truth_of(one.question, one.key, twin=one.twin) for one in asked]
    return Set(folder, picker, asked, truths, open_tools(folder))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the real records."""
    return Path(os.environ.get("GAUNTLET_SHARED", ROOT.parent / "shared"))
