"""`gauntlet test`: an agent's folder against a competition's folder, as a worker would run it, without a platform."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import stat
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import ValidationError

from gauntlet_runtime.code_runs import code_tool_spec
from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import (
    AgentSpec,
    Artifact,
    EnvironmentSpec,
    EpisodeLimits,
    EpisodeResult,
    EpisodeSpec,
    JobEvent,
    RunSpec,
    SandboxLimits,
)
from gauntlet_runtime.local_models import own_models
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.program_metadata import read_program_metadata
from gauntlet_scoring.trajectory import Event, read_events

START_SECONDS: Final = 30.0  # on top of the episodes' own time
ENVIRONMENT_SECONDS: Final = 24 * 3600.0  # it lives as long as the run
LimitsT = TypeVar("LimitsT", EpisodeLimits, SandboxLimits)
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_SKIPPED: Final = frozenset({"__pycache__", ".git", ".venv", "node_modules"})


class LocalRunFailed(Exception):
    """The agent or the competition cannot be run; the message is a whole sentence."""


@dataclass(frozen=True)
class LocalRun:
    """What came of a local run."""

    episodes: list[tuple[EpisodeResult, list[Event]]]
    log: str  # the end of what the agent printed


def run_locally(
    agent_folder: Path,
    competition_folder: Path,
    *,
    limit: int | None = None,
    sandbox: str | None = None,
    on_event: Callable[[JobEvent, dict[str, Any]], None] = lambda event, detail: None,
) -> LocalRun:
    """Run the agent on the scenarios of the competition's first task that has an environment.

    The scenarios are those of the folder's own JSONL file; a starting kit holds the public ones. Where a phase offers
    language models and the environment variable GAUNTLET_MODEL_URL says where some are, the agent may call them;
    GAUNTLET_MODEL_KEY is their key.

    Args:
        agent_folder: holds ``agent.yaml``
        competition_folder: holds ``competition.yaml``
        limit: how many scenarios, from the top; all where None
        sandbox: name of a sandbox backend; the best that this host has where None

    Raises:
        LocalRunFailed: one of the folders lacks something.
        SandboxUnavailable: this host cannot run sandboxes; the message says what to do.
    """
    store: dict[str, bytes] = {}
    spec = _run_spec(agent_folder, competition_folder, limit=limit, store=store)
    models = own_models(_yaml(competition_folder / "competition.yaml"))
    if models is not None:
        spec = spec.model_copy(update={"llm": models[0]})
    backend = open_sandbox(sandbox)
    with tempfile.TemporaryDirectory(prefix="gauntlet-local-") as temporary, GatewayPool() as gateways:
        folder = Path(temporary)
        job = folder / "job"
        job.mkdir()
        files = ArtifactFolders(folder / "artifacts", fetch=lambda artifact, into: _write(into, store[artifact.digest]))
        result = run_episodes(
            spec,
            sandbox=backend,
            folder=job,
            files=files,
            gateway=gateways,
            owner=this_process(),
            label=f"local-{uuid.uuid4().hex[:8]}",
            on_event=on_event,
            cancelled=threading.Event(),
            models=models[1] if models is not None else None,
        )
        files.release()
        if result.failure is not None:
            raise LocalRunFailed(f"{result.failure.message}\n{result.log}".strip())
        return LocalRun(
            episodes=[(episode, _events(episode.trajectory)) for episode in result.episodes], log=result.log
        )


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _events(trajectory: Path | None) -> list[Event]:
    if trajectory is None:
        return []
    with zipfile.ZipFile(trajectory) as archive:
        return list(read_events(archive.read("trajectory.jsonl").split(b"\n")))


def _run_spec(agent: Path, competition: Path, *, limit: int | None, store: dict[str, bytes]) -> RunSpec:
    task = _task(competition)
    program = _inside(competition, task["environment"], what="environment")
    data = _inside(competition, task["input_data"], what="input_data") if task.get("input_data") else None
    scenarios = _scenarios(_inside(competition, task.get("scenarios"), what="scenarios"))[:limit]
    try:
        metadata = read_program_metadata(program)
        command = shlex.split(metadata.command)
    except ValueError as error:
        raise LocalRunFailed(f"The environment in {program} cannot be started: {error}") from error
    episode_limits = _limits(task, EpisodeLimits)
    seconds = len(scenarios) * episode_limits.episode_seconds + START_SECONDS
    return RunSpec(
        agent=_agent(agent, store),
        environment=EnvironmentSpec(
            program=_zipped(program, store),
            command=command,
            code_tool=code_tool_spec(metadata.code_tool) if metadata.code_tool else None,
            data=None if data is None else _zipped(data, store),
            image=_image(task, "sandbox_image", competition / "competition.yaml"),
            limits=SandboxLimits(seconds=ENVIRONMENT_SECONDS),
        ),
        episodes=[_episode(number, scenario) for number, scenario in enumerate(scenarios)],
        episode_limits=episode_limits,
        agent_limits=_limits(task, SandboxLimits).model_copy(update={"seconds": seconds}),
    )


def _limits(task: dict[str, Any], kind: type[LimitsT]) -> LimitsT:
    """Those of the task's limits that are of this kind."""
    limits = task.get("limits") or {}
    if not isinstance(limits, dict):
        raise LocalRunFailed("competition.yaml: `limits` must be a mapping.")
    try:
        return kind.model_validate({name: value for name, value in limits.items() if name in kind.model_fields})
    except ValidationError as error:
        raise LocalRunFailed(f"competition.yaml: `limits`: {first_phrase(error, whole='it')}.") from error


def _image(content: dict[str, Any], key: str, path: Path) -> str:
    image = content.get(key) or "gauntlet/agent"
    if not isinstance(image, str):
        raise LocalRunFailed(f"{path}: `{key}` must be a name such as gauntlet/agent.")
    return image


def _task(competition: Path) -> dict[str, Any]:
    content = _yaml(competition / "competition.yaml")
    tasks = content.get("tasks")
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and task.get("environment"):
            return task
    raise LocalRunFailed(f"{competition / 'competition.yaml'} has no task with an environment.")


def _agent(folder: Path, store: dict[str, bytes]) -> AgentSpec:
    content = _yaml(folder / "agent.yaml")
    command = content.get("command")
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:  # a quote without its partner
        words = None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise LocalRunFailed(f"{folder / 'agent.yaml'}: `command` must be a line such as `python agent.py`.")
    image = _image(content, "image", folder / "agent.yaml")
    return AgentSpec(bundle=_zipped(folder, store), command=words, image=image)


def _yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise LocalRunFailed(f"There is no {path.name} in {path.parent}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # PyYAML lets dates and deep nesting pass as these
        raise LocalRunFailed(f"{path} is not YAML.") from error
    if not isinstance(content, dict):
        raise LocalRunFailed(f"{path} must hold lines such as `name: value`.")
    return content


def _inside(folder: Path, name: Any, *, what: str) -> Path:
    if not isinstance(name, str) or not name:
        raise LocalRunFailed(f"{folder / 'competition.yaml'}: the task names no {what}.")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.exists():
        raise LocalRunFailed(f"{folder / 'competition.yaml'} names {name}, which is not in its folder.")
    return path


def _scenarios(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise LocalRunFailed(f"{path} is a folder; `scenarios` must name a file of JSON lines.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LocalRunFailed(f"{path} is not UTF-8.") from error
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            scenario = json.loads(line)
        except ValueError as error:
            raise LocalRunFailed(f"{path}, line {number}: this is not JSON.") from error
        if not isinstance(scenario, dict) or "id" not in scenario or not isinstance(scenario.get("text"), str):
            raise LocalRunFailed(f"{path}, line {number}: a scenario has an `id` and a `text`.")
        if not isinstance(scenario.get("show") or {}, dict):
            raise LocalRunFailed(f"{path}, line {number}: `show` must be an object.")
        found.append(scenario)
    return found


def _episode(number: int, scenario: dict[str, Any]) -> EpisodeSpec:
    return EpisodeSpec(
        episode=f"local-{number + 1:04d}-{uuid.uuid4().hex[:8]}",
        scenario=f"s{number + 1}",
        key=str(scenario["id"]),
        seed=number,
        text=scenario["text"],
        show=scenario.get("show") or {},
    )


def _zipped(folder: Path, store: dict[str, bytes]) -> Artifact:
    """The folder as an artifact; equal folders give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, path in _files(folder, ""):
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.external_attr = (stat.S_IFREG | (0o755 if path.stat().st_mode & 0o100 else 0o644)) << 16
            archive.writestr(entry, path.read_bytes())
    content = buffer.getvalue()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    store[digest] = content
    return Artifact(digest=digest, size=len(content))


def _files(folder: Path, prefix: str) -> Sequence[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in _SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            found.extend(_files(Path(entry.path), f"{prefix}{entry.name}/"))
        elif entry.is_file(follow_symlinks=False):
            found.append((f"{prefix}{entry.name}", Path(entry.path)))
    return found
