"""Whatever a request looks like, it gets one answer of the API's kinds, and the gateway goes on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.app import EpisodeApi
from gauntlet_runtime.gateway.bodies import BodyRoom
from gauntlet_runtime.gateway.job import Job
from gauntlet_runtime.gateway.messages import JobSetup
from gauntlet_runtime.gateway.tool_door import ToolDoor
from gauntlet_runtime.jobs import EpisodeLimits, EpisodeSpec
from gauntlet_scoring.trajectory import read_events

SERVER = Path(__file__).parents[1] / "run_fixtures/environment/server.py"
STATUSES = {200, 201, 202, 204, 400, 404, 405, 406, 409, 410, 413, 415, 422, 429, 503}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
rpc_bodies = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]) | json_values,
        "id": json_values,
        "method": st.sampled_from(["tools/call", "tools/list", "initialize", "ping", "server/discover"]) | json_values,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["echo", "sites", "gauntlet_reset"]) | json_values,
                "arguments": json_values,
                "_meta": json_values,
            },
        )
        | json_values,
    },
)
bodies = (
    st.binary(max_size=200)
    | json_values.map(lambda value: json.dumps(value).encode())
    | rpc_bodies.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries({"text": json_values}).map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries({"steps": json_values}).map(lambda value: json.dumps(value).encode())
)
paths = st.sampled_from(["mcp", "mcp", "mcp", "messages", "plan", "notes"]) | st.text(max_size=10)
headers = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from(["application/json", "text/plain", "application/json; charset=latin-1"]),
        "accept": st.sampled_from(["application/json", "*/*", "application/json, text/event-stream", "text/html"]),
        "mcp-protocol-version": st.sampled_from(["2025-06-18", "2026-07-28", "1999-01-01"]) | st.text(max_size=5),
        "mcp-method": st.sampled_from(["tools/call", "tools/list"]),
        "content-length": st.sampled_from(["5", "99999999", "x"]),
        "idempotency-key": st.text(max_size=3),
    },
)


async def ask(api, method, path, body, given_headers):
    """One request straight into the application; the status and the body of its answer."""
    sent, delivered = [], False

    async def receive():
        nonlocal delivered
        if delivered:
            return {"type": "http.disconnect"}
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in given_headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": encoded, "query_string": b""}
    await api.serve(1, scope, receive, send)
    assert [message["type"] for message in sent[:1]] == ["http.response.start"]
    assert sum(message["type"] == "http.response.start" for message in sent) == 1
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture
def environment():
    process = subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


async def test_every_request_gets_one_answer(environment, tmp_path, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.gateway.actions.MALFORMED_LIMIT", 10**9)
    monkeypatch.setattr("gauntlet_runtime.gateway.actions.REFUSED_LIMIT", 10**9)
    setup = JobSetup(
        episodes=[EpisodeSpec(episode="e", scenario="s", key="SECRET-KEY", seed=1, text="t")],
        limits=EpisodeLimits(turns=10**9, tool_calls=10**9, episode_seconds=600),
        slots=1,
        isolation="submission",
        probe=False,
        folder=tmp_path,
        idle_seconds=600,
        grace_seconds=600,
        leave_seconds=600,
        call_seconds=60,
    )
    job = Job(setup, lambda notice: None)
    actions = Actions(job)
    door = ToolDoor(actions, BodyRoom())
    api = EpisodeApi(job, actions, door)
    loop = asyncio.get_running_loop()
    job.environment_up(0, os.dup(environment.stdin.fileno()), os.dup(environment.stdout.fileno()))
    job.agent_starting(1)

    @settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.sampled_from(["POST", "POST", "POST", "PUT", "GET", "DELETE"]), paths, bodies, headers)
    def check(method, path, body, given_headers):
        answered = asyncio.run_coroutine_threadsafe(ask(api, method, f"/episodes/e/{path}", body, given_headers), loop)
        status, content = answered.result(timeout=30)
        assert status in STATUSES
        assert b"SECRET-KEY" not in content
        if content:
            json.loads(content)

    async with door.run():
        assert (await ask(api, "POST", "/episodes", b"", {}))[0] == 201
        await asyncio.to_thread(check)
        status, _ = await ask(api, "POST", "/episodes/e/answer", b'{"text": "still here"}', {})
    assert status == 200
    events = list(read_events((tmp_path / "00000/trajectory.jsonl").read_bytes().splitlines()))
    assert [event.seq for event in events] == list(range(len(events)))
    assert (events[0].kind, events[-1].kind) == ("scenario", "end")
