"""How much the web server's memory grows while it takes an archive of 500 MB, over HTTP, as `gauntlet submit` sends it.

The plain alternative is the same server with Django's in-memory upload handler. The
bytes are zeros, made as they are sent; no worker runs that would unpack them.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
import tiny_competition

if TYPE_CHECKING:
    from gauntlet.processes import Processes

ARCHIVE_MB: Final = 500
GOAL_MB: Final = 64
SAMPLE_SECONDS: Final = 0.05
START_SECONDS: Final = 60.0
CHUNK: Final = 1 << 20
BOUNDARY: Final = "gauntlet-bench"
HERE: Final = Path(__file__).resolve().parent


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    ours = _grown("gauntlet.asgi:application")
    plain = _grown("plain_uploads:application")
    return [
        {
            "name": f"upload of {ARCHIVE_MB} MB: the server's memory grows by",
            "ours": ours,
            "plain": plain,
            "goal": GOAL_MB,
            "unit": "MB",
            "ok": ours < GOAL_MB,
            "plain_is": "the same server with Django's in-memory upload handler",
        }
    ]


def _grown(application: str) -> float:
    """Megabytes between the most that the server held during the upload and what it held before."""
    from django.conf import settings

    from gauntlet.processes import free_port, platform_processes

    slug, token = _competition()
    port = free_port(0)
    with platform_processes(settings.VAR / "log", environment={"PYTHONPATH": str(HERE)}) as processes:
        command = [sys.executable, "-m", "uvicorn", application, "--port", str(port), "--lifespan", "off"]
        server = psutil.Process(processes.start("web", [*command, "--log-level", "warning"]).pid)
        _wait_for(port, processes)
        _upload(port, slug=slug, token=token, megabytes=1)  # everything that any upload needs is loaded
        before = server.memory_info().rss
        with _peak(server) as peak:
            _upload(port, slug=slug, token=token, megabytes=ARCHIVE_MB)
        return (peak[0] - before) / 2**20


def _wait_for(port: int, processes: Processes) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        processes.check()
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the web server did not start within {START_SECONDS:.0f} s")
        time.sleep(SAMPLE_SECONDS)


def _competition() -> tuple[str, str]:
    """A competition's slug and the token of one who may submit to it."""
    from django.conf import settings

    from gauntlet.accounts.models import User
    from gauntlet.accounts.services import create_token
    from gauntlet.competitions.services import join

    name = f"u{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
        phase = tiny_competition.make_phase(Path(folder) / "competition", scenarios=1, slug=name)
    user = User.objects.create(username=name, email=f"{name}@localhost")
    join(phase.competition, user=user, terms_accepted=True)
    return name, create_token(user, name="bench")[1]


def _upload(port: int, *, slug: str, token: str, megabytes: int) -> None:
    """Send zeros as the bundle of a submission.

    Raises:
        RuntimeError: they were not taken.
    """
    head = (
        f"--{BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="bundle"; filename="agent.zip"\r\n'
        "Content-Type: application/zip\r\n\r\n"
    ).encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.putrequest("POST", f"/api/v1/competitions/{slug}/phases/0/submissions")
    connection.putheader("Authorization", f"Bearer {token}")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    connection.putheader("Content-Length", str(len(head) + megabytes * CHUNK + len(tail)))
    connection.endheaders(head)
    chunk = bytes(CHUNK)
    for _ in range(megabytes):
        connection.send(chunk)
    connection.send(tail)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    if answer.status != http.client.CREATED:
        raise RuntimeError(f"the upload was answered with {answer.status}: {said[:500]!r}")


@contextlib.contextmanager
def _peak(server: psutil.Process) -> Iterator[list[int]]:
    """The most resident memory of a process while the block runs, in the list's only place."""
    peak, done = [0], threading.Event()

    def sample() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], server.memory_info().rss)
            time.sleep(SAMPLE_SECONDS)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
