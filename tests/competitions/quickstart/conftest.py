"""The made competition, and the environment as a process that answers over standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from quickstart_generator.bundle import make_competition

from gauntlet_scoring.ground_truth import GroundTruth

ROOT = Path(__file__).resolve().parents[3]
SECRET = b"a secret for tests only"


class PlantProcess:
    """The environment's program in a process of its own, spoken to with the official client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its structured result."""
        is_error, text, found = self._call(name, arguments)
        assert not is_error, text
        assert json.loads(text) == found, "the text and the structured result must say the same"
        return found

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """What the tool says to a call that it refuses."""
        is_error, text, found = self._call(name, arguments)
        assert is_error, found
        return text

    def either(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result, or ``{"refused": text}``."""
        is_error, text, found = self._call(name, arguments)
        return {"refused": text} if is_error else found

    def _call(self, name: str, arguments: dict[str, Any]) -> tuple[bool, str, dict[str, Any]]:
        result = self._portal.call(self._client.call_tool, name, arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        return result.is_error, text, result.structured_content

    def tools(self) -> dict[str, Any]:
        """The listed tools by name."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}


OpenPlant = Callable[[Path], PlantProcess]


@pytest.fixture(scope="session")
def open_plant() -> Iterator[OpenPlant]:
    """Start the environment on a data folder; one process a folder, ended with the session."""
    opened: dict[Path, PlantProcess] = {}
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def start(data: Path) -> PlantProcess:
            if data not in opened:
                program = StdioServerParameters(
                    command=sys.executable,
                    args=["server.py"],
                    cwd=str(ROOT / "competitions" / "quickstart" / "environment"),
                    env={"GAUNTLET_DATA": str(data)},
                )
                client = Client(stdio_client(program))
                stack.enter_context(portal.wrap_async_context_manager(client))
                opened[data] = PlantProcess(portal, client)
                opened[data].call("gauntlet_reset", scenario="fixture", seed=1)
            return opened[data]

        yield start


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The competition made with the tests' secret."""
    out = tmp_path_factory.mktemp("quickstart") / "bundle"
    make_competition(out, secret=SECRET)
    return out


@pytest.fixture(scope="session")
def read_truths() -> Callable[[Path, str], list[GroundTruth]]:
    """Read a task's ground truth from a bundle."""

    def read(folder: Path, task: str) -> list[GroundTruth]:
        lines = (folder / "reference" / task / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
        return [GroundTruth.model_validate_json(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the real records."""
    return Path(os.environ.get("GAUNTLET_SHARED", ROOT.parent / "shared"))
