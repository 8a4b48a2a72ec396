"""A small platform that speaks the API of the contract, on a real loopback socket, and ways to type commands at it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker_command as docker_stand_in
import pytest
from image_archives import Layer, oci
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from typer.testing import CliRunner

TOKEN = "token-of-ada"


def problem(status: int, code: str, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"code": code, "message": message, **more}, status_code=status)


def submission(identifier: str = "s1", **more: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "name": "counter",
        "digest": "sha256:ab",
        "size": 1000,
        "competition": "quickstart",
        "phase": 0,
        "status": "queued",
        "state": "accepted",
        "evaluations": [],
        "scores": [],
        "failure": None,
        "scenarios": [],
        **more,
    }


FINISHED = submission(
    status="finished",
    final=True,
    evaluations=[
        {
            "id": "e1",
            "state": "finished",
            "failure": None,
            "episodes": [
                {"scenario": "x1", "text": "How many pumps?", "trial": 1, "scores": {"y1": 1.0}, "outcome": "answered"}
            ],
        }
    ],
    scores=[{"column": "rubric", "title": "Rubric", "value": 0.8125, "low": 0.75, "high": 0.9, "precision": 3}],
)
FAILED = submission(
    status="failed",
    final=True,
    evaluations=[
        {
            "id": "e1",
            "state": "failed",
            "failure": {"code": "agent_error", "owner": "participant", "message": "The agent ended with exit code 1."},
        }
    ],
)
RUNNING = submission(
    status="running",
    evaluations=[{"id": "e1", "state": "running", "episodes_done": 3, "episodes_total": 20, "failure": None}],
)


@dataclass
class Platform:
    """What the platform knows, what it is told to do, and what it saw."""

    url: str = ""
    limits: dict[str, Any] = field(
        default_factory=lambda: {
            "max_bundle_bytes": 50_000_000,
            "per_day": 5,
            "total": 100,
            "left_today": 4,
            "left_total": 90,
            "next_allowed_at": None,
        }
    )
    phases: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"index": 0, "name": "Development", "state": "open", "start": "2024-01-01T00:00:00Z", "end": None},
            {"index": 1, "name": "Test", "state": "future", "start": "2034-01-01T00:00:00Z", "end": None},
        ]
    )
    answers: dict[str, Response] = field(default_factory=dict)  # path's end -> what is answered instead, once
    states: list[dict[str, Any]] = field(default_factory=lambda: [FINISHED])  # of a submission, one a question
    streamed: list[dict[str, Any]] | None = None  # what the event stream sends before it ends; None: there is none
    own: list[dict[str, Any]] = field(default_factory=list)
    board: dict[str, Any] = field(default_factory=dict)
    kit: bytes = b""
    requests: list[tuple[str, str]] = field(default_factory=list)
    agents: set[str | None] = field(default_factory=set)
    uploads: list[dict[str, Any]] = field(default_factory=list)
    parts: bytes = b""  # what has come of the upload in parts, whose id is u1, of a second one u2
    begun: int = 0  # how many such were begun; the last is the one that is kept
    gone: set[str] = field(default_factory=set)  # those that expired or were deleted
    became: set[str] = field(default_factory=set)  # those that were submitted
    hangs_from: int | None = None  # a part that begins there or later gets no answer while this is so
    hanging: threading.Event = field(default_factory=threading.Event)
    announced: tuple[int, str] | None = None  # its length and metadata
    breaks_at_submission: int = 0  # how often its answer is lost
    hangs_at_submission: bool = False  # the answer to a file that was sent at once does not come while this is so
    keys: list[str] = field(default_factory=list)  # with which such files were sent
    breaks: int = 0  # how many parts break off in the middle, from the next on
    submitted: list[dict[str, Any]] = field(default_factory=list)  # of an upload in parts
    cancelled: list[str] = field(default_factory=list)
    revoked: int = 0
    tokens: list[dict[str, Any]] = field(default_factory=list)

    def asked(self, tail: str) -> int:
        """How often a path with this end was asked for."""
        return sum(path.endswith(tail) for _, path in self.requests)


def _application(platform: Platform) -> Starlette:
    def detail() -> dict[str, Any]:
        phases = [{**phase, "limits": platform.limits} for phase in platform.phases]
        return {"slug": "quickstart", "title": "Quick start", "description": "", "phases": phases}

    async def create_token(request: Request) -> Response:
        body = await request.json()
        platform.tokens.append(body)
        if body["password"] != "right":
            return problem(401, "wrong_credentials", "User name or password is wrong.")
        return JSONResponse({"token": TOKEN, "expires_at": None}, status_code=201)

    async def me(_request: Request) -> Response:
        return JSONResponse({"username": "ada"})

    async def revoke(_request: Request) -> Response:
        platform.revoked += 1
        return Response(status_code=204)

    async def competitions(request: Request) -> Response:
        if "page" in request.query_params:
            return JSONResponse({"results": [{**detail(), "slug": "second", "phases": []}], "next": None})
        return JSONResponse({"results": [detail()], "next": "http://internal.example/api/v1/competitions?page=2"})

    async def competition(request: Request) -> Response:
        if request.path_params["slug"] != "quickstart":
            return problem(404, "not_found", "There is no competition of this name.")
        return JSONResponse(detail())

    async def upload(request: Request) -> Response:
        form = await request.form()
        if "upload" in form:
            again = str(form["upload"]) in platform.became
            if not again:
                platform.became.add(str(form["upload"]))
                platform.submitted.append({name: str(value) for name, value in form.items()})
            if platform.breaks_at_submission:
                platform.breaks_at_submission -= 1
                raise ConnectionError("broken off")
            made = {"id": "s1", "url": "/submissions/s1/", "state": "received"}
            return JSONResponse(made, status_code=200 if again else 201)
        bundle: Any = form["bundle"]
        content = await bundle.read()
        key = request.headers.get("idempotency-key", "")
        again = key in platform.keys
        platform.keys.append(key)
        if not again:
            platform.uploads.append(
                {
                    "name": form.get("name"),
                    "file_name": bundle.filename,
                    "content": content,
                    "digest": hashlib.sha256(content).hexdigest(),
                    "phase": request.path_params["index"],
                    "chunked": "transfer-encoding" in request.headers,
                }
            )
        while platform.hangs_at_submission:
            platform.hanging.set()
            await asyncio.sleep(0.01)
        if platform.breaks_at_submission:
            platform.breaks_at_submission -= 1
            raise ConnectionError("broken off")
        made = {"id": f"s{len(platform.uploads)}", "url": f"/submissions/s{len(platform.uploads)}/"}
        return JSONResponse({**made, "state": "received"}, status_code=200 if again else 201)

    async def begin(request: Request) -> Response:
        platform.announced = (int(request.headers["upload-length"]), request.headers["upload-metadata"])
        platform.begun, platform.parts = platform.begun + 1, b""
        place = f"http://internal.example/api/v1/uploads/u{platform.begun}"
        return Response(status_code=201, headers={"Location": place})

    async def part(request: Request) -> Response:
        assert request.headers["tus-resumable"] == "1.0.0"
        identity = request.path_params["id"]
        if identity in platform.gone or identity != f"u{platform.begun}":
            return problem(404, "not_found", "There is no such upload (any more). Begin a new one.")
        if request.method == "DELETE":
            platform.gone.add(identity)
            return Response(status_code=204)
        if request.method == "HEAD":
            return Response(headers={"Upload-Offset": str(len(platform.parts))})
        if int(request.headers["upload-offset"]) != len(platform.parts):
            return problem(409, "wrong_offset", "The part does not begin where the upload ends.")
        content = await request.body()
        while platform.hangs_from is not None and len(platform.parts) >= platform.hangs_from:
            platform.hanging.set()
            await asyncio.sleep(0.01)
        if platform.hanging.is_set():
            platform.hanging.clear()
            return problem(503, "away", "Its sender is gone.")
        if platform.breaks:
            platform.breaks -= 1
            platform.parts += content[: len(content) // 2]
            raise ConnectionError("broken off")
        platform.parts += content
        return Response(status_code=204, headers={"Upload-Offset": str(len(platform.parts))})

    async def one(request: Request) -> Response:
        if request.path_params["id"] != "s1":
            return problem(404, "not_found", "There is no such submission.")
        return JSONResponse(platform.states.pop(0) if len(platform.states) > 1 else platform.states[0])

    async def events(_request: Request) -> Response:
        if platform.streamed is None:
            return problem(404, "not_found", "Not found.")
        streamed = platform.streamed

        async def lines() -> AsyncIterator[str]:
            yield ": still here\n\n"
            for state in streamed:
                yield f"event: state\ndata: {json.dumps(state)}\n\n"
                await asyncio.sleep(0)

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def mine(_request: Request) -> Response:
        return JSONResponse({"results": platform.own, "next": None})

    async def log(_request: Request) -> Response:
        return PlainTextResponse("hello\x1b[31m from the agent\n")

    async def cancel(request: Request) -> Response:
        platform.cancelled.append(request.path_params["id"])
        return Response(status_code=204)

    async def board(_request: Request) -> Response:
        return JSONResponse(platform.board)

    async def csv(_request: Request) -> Response:
        return PlainTextResponse("rank,participant\n1,ada\n", media_type="text/csv")

    async def kit(_request: Request) -> Response:
        return Response(platform.kit, media_type="application/zip")

    def guarded(handler: Callable[[Request], Any], *, public: bool = False) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            platform.requests.append((request.method, request.url.path))
            platform.agents.add(request.headers.get("user-agent"))
            for tail in list(platform.answers):
                if request.url.path.endswith(tail):
                    await request.body()
                    return platform.answers.pop(tail)
            if not public and request.headers.get("authorization") != f"Bearer {TOKEN}":
                return problem(401, "not_authenticated", "Authentication credentials were not provided.")
            response: Response = await handler(request)
            return response

        return answer

    phase = "/competitions/{slug}/phases/{index}"
    routes = [
        ("/tokens", create_token, "POST", True),
        ("/tokens/current", revoke, "DELETE", False),
        ("/me", me, "GET", False),
        ("/competitions", competitions, "GET", True),
        ("/competitions/{slug}", competition, "GET", True),
        (f"{phase}/kit", kit, "GET", True),
        (f"{phase}/submissions", upload, "POST", False),
        (f"{phase}/leaderboard", board, "GET", True),
        (f"{phase}/leaderboard.csv", csv, "GET", True),
        ("/uploads", begin, "POST", False),
        ("/uploads/{id}", part, "PATCH", False),
        ("/uploads/{id}", part, "HEAD", False),
        ("/uploads/{id}", part, "DELETE", False),
        ("/submissions", mine, "GET", False),
        ("/submissions/{id}", one, "GET", False),
        ("/submissions/{id}/log", log, "GET", False),
        ("/submissions/{id}/events", events, "GET", False),
        ("/submissions/{id}/cancel", cancel, "POST", False),
    ]
    return Starlette(
        routes=[
            Route(f"/api/v1{path}", guarded(handler, public=public), methods=[method])
            for path, handler, method, public in routes
        ]
    )


@pytest.fixture
def platform(listening: Any) -> Iterator[Platform]:
    """A platform with one open phase, one planned phase and the user ada, whose password is `right`."""
    state = Platform()
    with listening(_application(state)) as server:
        state.url = server.url
        yield state


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for the command's configuration, cache and state."""
    folder = tmp_path / "home"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    for name in ("GAUNTLET_SERVER", "GAUNTLET_TOKEN", "GAUNTLET_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def gauntlet(home: Path) -> Callable[..., Any]:
    """Type a command: ``gauntlet("status", "s1")``; the result has exit_code, stdout and stderr."""
    from gauntlet_agent.cli.app import app

    def typed(*words: str, stdin: str | None = None) -> Any:
        return CliRunner().invoke(app, list(words), input=stdin)

    return typed


@pytest.fixture
def as_ada(platform: Platform, home: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """The platform, with ada logged in through the environment."""
    monkeypatch.setenv("GAUNTLET_SERVER", platform.url)
    monkeypatch.setenv("GAUNTLET_TOKEN", TOKEN)
    return platform


@pytest.fixture
def process(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command as a process of its own."""

    def started(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("gauntlet")
        return subprocess.run(
            [program, *words], input=stdin, capture_output=True, text=True, timeout=60, env={**os.environ, **more}
        )

    return started


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A folder with a sound agent in it."""
    folder = tmp_path / "counter"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: counter\ncommand: python agent.py\n")
    (folder / "agent.py").write_text("from gauntlet_agent import run\nrun(lambda episode: 'four')\n")
    return folder


@dataclass
class StandInDocker:
    """What a stand-in of Docker's command knows and did."""

    folder: Path

    @property
    def saved(self) -> list[list[str]]:
        """The names that `docker save` wrote, each time."""
        return [json.loads(line) for line in (self.folder / "saved").read_text().splitlines()]

    def knows(self, images: dict[str, list[str]]) -> None:
        """Have other images: ids, each with its names."""
        (self.folder / "images.json").write_text(json.dumps(images))


@pytest.fixture
def docker_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInDocker:
    """The command `docker` is a stand-in, with the image `planner:latest` of some 100 KB."""
    folder = tmp_path / "docker"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{docker_stand_in.__file__}" "{folder}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    content = os.urandom(100_000)  # which compresses to as much
    (folder / "archive.tar").write_bytes(oci([Layer().file("agent", content, 0o755).tar], how=""))
    made = StandInDocker(folder)
    made.knows({f"sha256:{'5e' * 32}": ["planner:latest"]})
    return made


@pytest.fixture
def responses() -> dict[str, Any]:
    """Ready-made states of a submission, and ``problem(status, code, message)``."""
    return {"finished": FINISHED, "failed": FAILED, "running": RUNNING, "problem": problem, "submission": submission}
