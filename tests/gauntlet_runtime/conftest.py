"""Run jobs against the host's real sandbox: a small environment, agents of a few lines, and what came of them."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gauntlet_runtime import boot
from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import (
    AgentSpec,
    Artifact,
    EnvironmentSpec,
    EpisodeResult,
    EpisodeSpec,
    JobEvent,
    RunResult,
    RunSpec,
    SandboxLimits,
)
from gauntlet_runtime.metering import ModelSupply
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import Sandbox
from gauntlet_scoring.trajectory import Event, read_events

FIXTURES = Path(__file__).parent / "run_fixtures"
DOOR = Path(__file__).parents[1] / "security/zoo/agent/door/gateway.py"


@dataclass
class Artifacts:
    """The platform's storage, in memory."""

    content: dict[str, bytes] = field(default_factory=dict)

    def keep(self, content: bytes, form: str = "zip") -> Artifact:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.content[digest] = content
        return Artifact(digest=digest, size=len(content), form=form)

    def folder(self, files: dict[str, str | bytes]) -> Artifact:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in files.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return self.keep(buffer.getvalue())

    def fetch(self, artifact: Artifact, into: Path) -> None:
        into.write_bytes(self.content[artifact.digest])


@dataclass
class Outcome:
    """What came of a run job."""

    result: RunResult
    events: list[tuple[str, dict[str, Any]]]

    @property
    def episodes(self) -> list[EpisodeResult]:
        return self.result.episodes

    def record(self, position: int = 0) -> list[Event]:
        trajectory = self.episodes[position].trajectory
        assert trajectory is not None
        with zipfile.ZipFile(trajectory) as archive:
            return list(read_events(archive.read("trajectory.jsonl").splitlines()))

    def kinds(self, position: int = 0) -> list[str]:
        return [event.kind for event in self.record(position)]

    @property
    def said(self) -> list[Any]:
        """What the agent printed with `say`, in order."""
        lines = (line.removeprefix("said ") for line in self.result.log.splitlines() if line.startswith("said "))
        return [value for line in lines for value in json.loads(line)]


@dataclass
class RunRoom:
    """Makes run jobs and runs them."""

    sandbox: Sandbox
    gateways: GatewayPool
    artifacts: Artifacts
    files: ArtifactFolders
    folder: Path
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_event: Callable[[JobEvent, dict[str, Any]], None] = lambda event, detail: None
    models: ModelSupply | None = None

    def spec(
        self,
        agent: str,
        *,
        keys: list[str] | None = None,
        server: str = "server.py",
        arguments: tuple[str, ...] = (),
        more: dict[str, str | bytes] | None = None,
        environment_limits: SandboxLimits | None = None,
        **given: Any,
    ) -> RunSpec:
        files: dict[str, str | bytes] = {
            "agent.py": "from door import *\n" + agent,
            "door.py": DOOR.read_text(),
            **(more or {}),
        }
        environment = EnvironmentSpec(
            program=self.artifacts.folder({server: (FIXTURES / "environment" / server).read_text()}),
            command=["python", server, *arguments],
            data=self.artifacts.folder({"sites.json": '["north", "south"]'}),
            limits=environment_limits or SandboxLimits(),
        )
        episodes = [
            EpisodeSpec(episode=f"e{n}", scenario=f"s{n}", key=key, seed=n + 7, text=f"question {n}", show={"n": n})
            for n, key in enumerate(keys or ["KEY-0"])
        ]
        bundle = AgentSpec(bundle=self.artifacts.folder(files), command=["python", "agent.py"])
        return RunSpec(agent=bundle, environment=environment, episodes=episodes, **given)

    def run(self, spec: RunSpec) -> Outcome:
        events: list[tuple[str, dict[str, Any]]] = []

        def on_event(event: JobEvent, detail: dict[str, Any]) -> None:
            events.append((event.value, detail))
            self.on_event(event, detail)

        result = run_episodes(
            spec,
            sandbox=self.sandbox,
            folder=Path(tempfile.mkdtemp(dir=self.folder)),
            files=self.files,
            gateway=self.gateways,
            owner=this_process(),
            label="test",
            on_event=on_event,
            cancelled=self.cancelled,
            models=self.models,
        )
        sys.stdout.write(result.log)  # pytest shows it where the test fails
        return Outcome(result=result, events=events)

    def agent(self, agent: str, **given: Any) -> Outcome:
        """Run these lines as an agent."""
        return self.run(self.spec(agent, **given))


@pytest.fixture(scope="session")
def real_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return open_sandbox(state=tmp_path_factory.mktemp("sandboxes"))


@pytest.fixture(scope="session")
def gateways() -> Iterator[GatewayPool]:
    with GatewayPool() as pool:
        pool.warm()
        yield pool


@pytest.fixture
def machine_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Lets the kernel say that the machine was started again. What was on its way to the disk then may be gone."""
    told = tmp_path / "boot_id"
    monkeypatch.setattr(boot, "_BOOT_ID", told)

    def start() -> None:
        told.write_text(f"{uuid.uuid4()}\n")
        boot.this_boot.cache_clear()

    start()
    yield start
    boot.this_boot.cache_clear()


@pytest.fixture
def artifacts() -> Artifacts:
    return Artifacts()


@pytest.fixture
def files(artifacts: Artifacts, tmp_path: Path) -> ArtifactFolders:
    return ArtifactFolders(tmp_path / "artifacts", fetch=artifacts.fetch)


@pytest.fixture
def room(
    real_sandbox: Sandbox, gateways: GatewayPool, artifacts: Artifacts, files: ArtifactFolders, tmp_path: Path
) -> RunRoom:
    return RunRoom(sandbox=real_sandbox, gateways=gateways, artifacts=artifacts, files=files, folder=tmp_path)
