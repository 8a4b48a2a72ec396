"""The gateway: what a tool call costs more than straight to the environment, and what a run job costs beside its agent.

All calls are made by one agent in one sandbox, in turns, so that whatever else the machine does meets them alike: with
the official SDK's client straight to the environment over stdio (the plain way), with the same client through the
gateway, and as bare HTTP through the gateway.
"""

from __future__ import annotations

import hashlib
import io
import json
import statistics
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any, Final

from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import AgentSpec, Artifact, EnvironmentSpec, EpisodeLimits, EpisodeSpec, RunResult, RunSpec
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import Sandbox

ROUNDS: Final = 16
CALLS_A_ROUND: Final = 20
JOBS: Final = 7
GOAL_CALL_MS: Final = 4.0
GOAL_JOB_SECONDS: Final = 0.4
ENVIRONMENT: Final = (
    Path(__file__).parents[1] / "gauntlet_runtime" / "run_fixtures" / "environment" / "server.py"
).read_text()

OPENS_AND_ANSWERS: Final = """
import json, os, urllib.request
def post(path, body):
    request = urllib.request.Request(os.environ["GAUNTLET_URL"] + path, data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")
episode = post("/episodes", {})
"""
ANSWERS: Final = OPENS_AND_ANSWERS + 'post(f"/episodes/{episode[\'id\']}/answer", {"text": "done"})\n'
CALLS: Final = (
    OPENS_AND_ANSWERS
    + """
import asyncio, http.client, sys, time, urllib.parse
from mcp import Client
from mcp.client.stdio import StdioServerParameters

async def measure(client, into):
    for _ in range(CALLS_A_ROUND):
        begun = time.perf_counter()
        await client.call_tool("echo", {"text": "hello"})
        into.append((time.perf_counter() - begun) * 1000)

def measure_bare(connection, into):
    call = {"name": "echo", "arguments": {"text": "hello"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for _ in range(CALLS_A_ROUND):
        begun = time.perf_counter()
        connection.request("POST", f"/episodes/{episode['id']}/mcp", body, headers)
        answer = connection.getresponse()
        said = answer.read()
        into.append((time.perf_counter() - begun) * 1000)
        if answer.status != 200 or b"hello" not in said:
            sys.exit(f"{answer.status} {said[:500]}")

async def main():
    found = {"plain": [], "ours": [], "bare": []}
    door = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["GAUNTLET_URL"]).netloc)
    server = StdioServerParameters(command="python", args=["/app/program/server.py"])
    url = f"{os.environ['GAUNTLET_URL']}/episodes/{episode['id']}/mcp"
    async with Client(server, mode="legacy") as plain, Client(url) as ours:
        await measure(plain, []), await measure(ours, [])
        for _ in range(ROUNDS):
            await measure(plain, found["plain"])
            await measure(ours, found["ours"])
            measure_bare(door, found["bare"])
    sys.stdout.write("found " + json.dumps(found) + "\\n")

asyncio.run(main())
post(f"/episodes/{episode['id']}/answer", {"text": "done"})
"""
)


class Bench:
    """Runs agents of one episode."""

    def __init__(self, folder: Path, sandbox: Sandbox, gateways: GatewayPool) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self._gateways = gateways
        self._kept: dict[str, bytes] = {}
        self._files = ArtifactFolders(folder / "artifacts", fetch=self._fetch)

    def _fetch(self, artifact: Artifact, into: Path) -> None:
        into.write_bytes(self._kept[artifact.digest])

    def _zipped(self, files: dict[str, str]) -> Artifact:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        digest = f"sha256:{hashlib.sha256(buffer.getvalue()).hexdigest()}"
        self._kept[digest] = buffer.getvalue()
        return Artifact(digest=digest, size=len(buffer.getvalue()))

    def run(self, agent: str) -> tuple[RunResult, float]:
        """The result, and the seconds that the job took."""
        spec = RunSpec(
            agent=AgentSpec(
                bundle=self._zipped({"agent.py": agent, "server.py": ENVIRONMENT}), command=["python", "agent.py"]
            ),
            environment=EnvironmentSpec(
                program=self._zipped({"server.py": ENVIRONMENT}), command=["python", "server.py"]
            ),
            episodes=[EpisodeSpec(episode="e", scenario="s", key="k", seed=1, text="t")],
            episode_limits=EpisodeLimits(turns=10**6, tool_calls=10**6, episode_seconds=600),
        )
        begun = time.monotonic()
        result = run_episodes(
            spec,
            sandbox=self._sandbox,
            folder=Path(tempfile.mkdtemp(dir=self._folder)),
            files=self._files,
            gateway=self._gateways,
            owner=this_process(),
            label="bench",
            on_event=lambda event, detail: None,
            cancelled=threading.Event(),
        )
        return result, time.monotonic() - begun


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    with tempfile.TemporaryDirectory() as folder, GatewayPool() as gateways:
        bench = Bench(Path(folder), open_sandbox(state=Path(folder) / "sandboxes"), gateways)
        bench.run(ANSWERS)  # warms the pool and the cache
        constants = f"ROUNDS, CALLS_A_ROUND = {ROUNDS}, {CALLS_A_ROUND}\n"
        called, _ = bench.run(constants + CALLS)
        line = next(line for line in called.log.splitlines() if line.startswith("found "))
        found = json.loads(line.removeprefix("found "))
        beside = []
        for _ in range(JOBS):
            result, seconds = bench.run(ANSWERS)
            beside.append(seconds - result.agent_seconds)
    return [*_calls(found), _beside(statistics.median(beside))]


def _calls(found: dict[str, list[float]]) -> list[dict[str, Any]]:
    plain = statistics.median(found["plain"])
    table = []
    for key, client in (("ours", "SDK client"), ("bare", "bare HTTP")):
        median = statistics.median(found[key])
        table.append(
            {
                "name": f"a tool call, {client}: median",
                "ours": round(median, 2),
                "plain": round(plain, 2),
                "goal": f"plain + {GOAL_CALL_MS:g}",
                "unit": "ms",
                "ok": median - plain <= GOAL_CALL_MS,
                "plain_is": "SDK client straight to the environment over stdio, in the same sandbox",
            }
        )
        table.append(
            {
                "name": f"a tool call, {client}: 95 of 100",
                "ours": round(_percentile(found[key]), 2),
                "plain": round(_percentile(found["plain"]), 2),
                "goal": "shown",
                "unit": "ms",
                "ok": True,
                "plain_is": "the same",
            }
        )
    return table


def _percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _beside(overhead: float) -> dict[str, Any]:
    return {
        "name": "a run job beside its agent's own time, median",
        "ours": round(overhead, 3),
        "plain": None,
        "goal": GOAL_JOB_SECONDS,
        "unit": "s",
        "ok": overhead <= GOAL_JOB_SECONDS,
    }
