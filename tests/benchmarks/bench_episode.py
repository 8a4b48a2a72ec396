"""Seconds of an episode in a real worker, beside the same `solve` called on the same environment over stdio.

The median leaves out what only an agent's first episode pays: the import of the SDK's client at its first tool call.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import tiny_competition
from mcp import Client
from mcp.client.stdio import StdioServerParameters

ROOT: Final = Path(__file__).resolve().parents[2]
SCENARIOS: Final = 20


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    from django.conf import settings

    from gauntlet.processes import platform_processes

    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
        phase = tiny_competition.make_phase(Path(folder) / "competition", scenarios=SCENARIOS, slug="episodes")
        with platform_processes(settings.VAR / "log", environment={"SANDBOX": "bubblewrap"}) as processes:
            processes.start_worker()
            evaluation = tiny_competition.wait_for(tiny_competition.submit(phase))
        ours = statistics.median(evaluation.episodes.values_list("seconds", flat=True))
        plain = statistics.median(_straight(Path(folder) / "competition" / "starting_kit"))
    return [
        {
            "name": "an episode: opened to answered, median",
            "ours": ours * 1000,
            "plain": plain * 1000,
            "goal": "shown",
            "unit": "ms",
            "ok": True,
            "plain_is": "the agent's solve() straight on the environment over stdio: no sandbox, gateway or record",
        }
    ]


def _straight(bundle: Path) -> list[float]:
    """Seconds of each scenario, solved without the platform."""
    sys.path.insert(0, str(ROOT / "starter_kits" / "minimal"))
    from solver import solve

    seconds = []
    with _environment(bundle) as call:
        for line in (bundle / "scenarios.jsonl").read_text().splitlines():
            scenario = json.loads(line)
            call("gauntlet_reset", scenario=scenario["id"], seed=1)
            episode = SimpleNamespace(
                text=scenario["text"],
                show=scenario.get("show", {}),
                call=call,
                plan=lambda steps: None,
                note=lambda text: None,
            )
            begun = time.perf_counter()
            solve(episode)
            seconds.append(time.perf_counter() - begun)
    return seconds


@contextmanager
def _environment(bundle: Path) -> Iterator[Any]:
    """The environment as a child of this process; yields what calls a tool from code that is not asynchronous."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(bundle / "environment" / "server.py")],
        env={"GAUNTLET_DATA": str(bundle / "data")},
    )
    ready: asyncio.Future[Client] = asyncio.run_coroutine_threadsafe(_future(), loop).result()
    done = asyncio.Event()

    async def hold() -> None:
        async with Client(server, mode="legacy") as client:
            ready.set_result(client)
            await done.wait()

    async def wait() -> Client:
        return await ready

    holding = asyncio.run_coroutine_threadsafe(hold(), loop)
    client = asyncio.run_coroutine_threadsafe(wait(), loop).result(60)

    def call(name: str, /, **arguments: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(client.call_tool(name, arguments), loop).result().structured_content

    try:
        yield call
    finally:
        loop.call_soon_threadsafe(done.set)
        holding.result(30)
        loop.call_soon_threadsafe(loop.stop)


async def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()
