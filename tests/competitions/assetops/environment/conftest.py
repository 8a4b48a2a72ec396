"""Sites to ask, the environment as a process and in this one, and a server that speaks CouchDB's protocol."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from assetops_data import Site, Size, write_site
from assetops_tools.duckdb_storage import DuckDBStorage
from assetops_tools.errors import BadArgument
from assetops_tools.program import SiteProgram
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = ROOT / "competitions" / "assetops" / "environment"
POUCHDB = "pouchdb-server@4.2.0"
SMALL = Size(years=3, alert_years=2, telemetry_days=35, work_orders=300, alerts=120, anomalies=60)


class InProcess:
    """The program in this process: quick enough for many random calls."""

    def __init__(self, data: Path, scratch: Path) -> None:
        self.data = data
        self.files = scratch / "files"
        self.program = SiteProgram(data, self.files, open_storage=lambda: DuckDBStorage(data))
        self.call("gauntlet_reset", scenario="fixture", seed=1)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.program.answer(name, arguments)

    def refusal(self, name: str, /, **arguments: Any) -> str:
        with pytest.raises(BadArgument) as refused:
            self.program.answer(name, arguments)
        text = str(refused.value)
        assert text.endswith(".")
        assert len(text) < 700
        return text

    def table(self, name: str) -> dict[str, list[Any]]:
        """The columns of a file that a tool wrote, read past the tools."""
        value = json.loads((self.files / name).read_text(encoding="utf-8"))
        return {column: [row[place] for row in value["rows"]] for place, column in enumerate(value["columns"])}


class SiteProcess:
    """The program in a process of its own, spoken to with the official client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        is_error, text, found = self._call(name, arguments)
        assert not is_error, text
        assert json.loads(text) == found, "the text and the structured result must say the same"
        return found

    def refusal(self, name: str, /, **arguments: Any) -> str:
        is_error, text, found = self._call(name, arguments)
        assert is_error, found
        return text

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def _call(self, name: str, arguments: dict[str, Any]) -> tuple[bool, str, dict[str, Any]]:
        result = self._portal.call(self._client.call_tool, name, arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        return result.is_error, text, result.structured_content


@pytest.fixture(scope="session")
def in_process() -> type[InProcess]:
    """Serve a data folder in this process; the second argument is a folder for the files of episodes."""
    return InProcess


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assetops") / "small"


@pytest.fixture(scope="session")
def small_site(small_folder: Path) -> Site:
    """A site of three years and five weeks of readings."""
    return write_site(small_folder, seed=b"a small site", size=SMALL)


@pytest.fixture(scope="session")
def large_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assetops") / "large"


@pytest.fixture(scope="session")
def large_site(large_folder: Path) -> Site:
    """A site of the usual size."""
    return write_site(large_folder, seed=b"a large site")


@pytest.fixture(scope="session")
def small(small_site: Site, small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(small_folder, tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="session")
def large(large_site: Site, large_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(large_folder, tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the real records."""
    return Path(os.environ.get("GAUNTLET_SHARED", ROOT.parent / "shared"))


OpenProcess = Callable[..., SiteProcess]


@pytest.fixture(scope="session")
def open_process() -> Iterator[OpenProcess]:
    """Start the program on a data folder; ended with the session."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def start(data: Path, *arguments: str, **environment: str) -> SiteProcess:
            program = StdioServerParameters(
                command=sys.executable,
                args=["server.py", *arguments],
                cwd=str(PROGRAM),
                env={"GAUNTLET_DATA": str(data), **environment},
            )
            client = Client(stdio_client(program))
            stack.enter_context(portal.wrap_async_context_manager(client))
            return SiteProcess(portal, client)

        yield start


@pytest.fixture(scope="session")
def read_csv() -> Callable[[Path], list[dict[str, str]]]:
    """Read a table past the tools."""

    def read(path: Path) -> list[dict[str, str]]:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture(scope="session")
def couchdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on the loopback that speaks CouchDB's protocol and keeps everything in memory."""
    server = pouchdb_server()  # may take long, so before a port is looked for
    folder = tmp_path_factory.mktemp("pouchdb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["node", str(server), "--in-memory", "--host", "127.0.0.1", "--port", str(port), "--no-stdout-logs"]
    with (
        (folder / "output").open("w") as output,
        subprocess.Popen(command, cwd=folder, stdout=output, stderr=output) as process,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_it_answers(address, process, folder / "output")
            yield address
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="session")
def bookmarking(couchdb: str) -> Iterator[str]:
    """The same server with CouchDB's bookmarks, which PouchDB does not have; it takes no ``skip``."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on(client.get(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert "skip" not in body
            seen = int(body.pop("bookmark", "after 0").removeprefix("after "))
            answer = client.post(self.path, json={**body, "skip": seen})
            self._pass_on(answer, bookmark=f"after {seen + len(answer.json()['docs'])}")

        def _pass_on(self, answer: httpx.Response, **more: str) -> None:
            found = answer.json()
            content = json.dumps({**found, **more} if isinstance(found, dict) else found).encode()
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with httpx.Client(base_url=couchdb, timeout=60) as client, ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def pouchdb_server() -> Path:
    """The server's program, fetched once by npm into a folder below var; two runs at once take turns."""
    if shutil.which("npm") is None:
        raise RuntimeError("npm is missing; ./run test installs it")
    folder = Path(os.environ.get("GAUNTLET_VAR") or ROOT / "var") / "npm" / POUCHDB
    program = folder / "node_modules" / "pouchdb-server" / "bin" / "pouchdb-server"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            # Without scripts: they would build a storage on disk, which nothing here uses.
            install = [
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--prefix",
                str(folder),
                POUCHDB,
            ]
            subprocess.run(install, check=True, capture_output=True, cwd=folder)
            (folder / "installed").touch()
    return program


def wait_until_it_answers(address: str, process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {output.read_text()}")
        try:
            httpx.get(address, timeout=5).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)  # between two looks; the condition ends it
    raise RuntimeError(f"the server does not answer: {output.read_text()}")
