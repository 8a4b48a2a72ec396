"""The platform's own processes, for the demonstration, the benchmarks and the tests of the whole: web, worker, beat."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import psutil

from gauntlet_runtime.tethered import tethered

_STOP_SECONDS: Final = 15.0
_START_SECONDS: Final = 60.0


class ProcessDied(Exception):
    """A process of the platform ended by itself; the message names its log."""


@dataclass
class Processes:
    """Processes that were started together and are stopped together; each writes a log of its own."""

    logs: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own, so that a Ctrl-C in the terminal reaches only us.

        It ends when we do, also when we are killed: start it from a thread that lasts.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        log: IO[bytes]
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                tethered(list(command)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        self.running[name] = process
        return process

    def start_web(self, port: int) -> None:
        """Start the web server and wait until it answers.

        Raises:
            ProcessDied: it ended, or did not answer in time.
            OSError: something else listens at this port.
        """
        if free_port(port) != port:
            raise OSError(f"port {port} is in use")
        command = [sys.executable, "-m", "uvicorn", "gauntlet.asgi:application", "--port", str(port)]
        web = self.start("web", [*command, "--log-level", "warning", "--lifespan", "off"])
        deadline = time.monotonic() + _START_SECONDS
        while not (_listens(web.pid, port) and _answers(f"http://127.0.0.1:{port}/")):
            self.check()
            if time.monotonic() > deadline:
                raise ProcessDied(f"the web server did not answer within {_START_SECONDS:.0f} s: {self.logs}/web.log")
            time.sleep(0.1)

    def start_worker(self, name: str = "worker", *, concurrency: int = 2) -> subprocess.Popen[bytes]:
        """Start a Celery worker that serves the default queue."""
        command = [sys.executable, "-m", "celery", "-A", "gauntlet.celery", "worker"]
        options = ["--concurrency", str(concurrency), "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
        return self.start(name, [*command, *options, "--hostname", f"{name}@%h"])

    def start_beat(self) -> subprocess.Popen[bytes]:
        """Start the beat, which rings whatever happens."""
        return self.start("beat", [sys.executable, "-m", "celery", "-A", "gauntlet.celery", "beat", "--pidfile", ""])

    def check(self) -> None:
        """Raise ProcessDied where one of them has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise ProcessDied(f"{name} ended with status {process.returncode}; see {self.logs}/{name}.log")

    def stop(self) -> None:
        """Ask each to end, the worker first to finish no further job; kill what does not."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self.running.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()


@contextlib.contextmanager
def platform_processes(logs: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[Processes]:
    """Processes that are stopped when the block is left, however it is left."""
    processes = Processes(logs=logs, environment=environment or {})
    try:
        yield processes
    finally:
        processes.stop()


def free_port(wanted: int) -> int:
    """``wanted`` if nothing listens there, else a port that the system gives."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")


def _listens(process: int, port: int) -> bool:
    """Whether it is this process that listens there: another may have come to the port first, and would answer."""
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(process).net_connections("tcp")
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in found)
    return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own loopback address
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
