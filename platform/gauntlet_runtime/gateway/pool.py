"""The supervisor's side of gateways: a process that is warm, and a gateway of its own for each job that wants one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from gauntlet_runtime.gateway.judge_messages import JUDGE_NOTICES, JudgeNotice
from gauntlet_runtime.gateway.messages import NOTICES, Notice, Ready, receive_message, send_message
from gauntlet_runtime.sandbox.interface import SandboxError

START_SECONDS: Final = 60.0


class GatewayLost(SandboxError):
    """The gateway process is gone in the middle of a job: the platform's fault, to be retried."""


N = TypeVar("N")


class Gateway(Generic[N]):
    """One gateway process. `receive` may run in another thread than the rest."""

    notices: ClassVar[TypeAdapter[Any]]

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        ready = self.receive()
        if not isinstance(ready, Ready):
            raise GatewayLost("The gateway did not start.")
        self.pid = ready.pid

    def send(self, command: BaseModel, descriptors: Sequence[int] = ()) -> None:
        """Send a command; the descriptors stay open here.

        Raises:
            GatewayLost
        """
        try:
            send_message(self._control, command, descriptors)
        except OSError as error:
            raise GatewayLost("The gateway ended unexpectedly.") from error

    def receive(self) -> N | None:
        """Wait for the next notice; None where the gateway is gone or was closed."""
        try:
            body, _ = receive_message(self._control)
        except OSError:
            return None
        if not body:
            return None
        notice: N = self.notices.validate_json(body)
        return notice

    def close(self) -> None:
        """Let the gateway end, and wake whoever waits in `receive`. Idempotent."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close the socket, once nobody waits in `receive`."""
        self._control.close()


class GatewayProcess(Gateway[Notice]):
    """The gateway of a run job."""

    notices = NOTICES


class JudgeProcess(Gateway[JudgeNotice]):
    """The gateway of a score job's judge."""

    notices = JUDGE_NOTICES


class GatewayPool:
    """Keeps one process with everything loaded, and forks a gateway from it for each job. Use as a context manager.

    Thread-safe. A pool that was never asked costs nothing until `warm`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._is_warm = False

    def warm(self) -> None:
        """Start loading, without waiting for it."""
        with self._lock:
            self._ensure()

    def _ensure(self) -> socket.socket:
        if self._process is not None and self._requests is not None and self._process.poll() is None:
            return self._requests
        self._drop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                # -P: the folder that somebody types `gauntlet test` in may hold modules of any name.
                [sys.executable, "-P", "-m", "gauntlet_runtime.gateway", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
            )
        ours.settimeout(START_SECONDS)
        self._requests, self._is_warm = ours, False
        return ours

    def spawn(self) -> GatewayProcess:
        """A gateway without a job.

        Raises:
            GatewayLost: it does not start.
        """
        return GatewayProcess(self._fork(b"job"))

    def spawn_judge(self) -> JudgeProcess:
        """A gateway without a judge.

        Raises:
            GatewayLost: it does not start.
        """
        return JudgeProcess(self._fork(b"judge"))

    def _fork(self, kind: bytes) -> socket.socket:
        """The control socket of a new process of this kind."""
        with self._lock:
            requests = self._ensure()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                if not self._is_warm:
                    self._is_warm = requests.recv(16) == b"warm"
                    if not self._is_warm:
                        raise GatewayLost("The gateway does not start; the worker's log says why.")
                with theirs:
                    socket.send_fds(requests, [kind], [theirs.fileno()])
            except OSError as error:
                ours.close()
                self._drop()
                raise GatewayLost("The gateway does not start.") from error
        return ours

    def close(self) -> None:
        """End the warm process. Gateways that run go on until their job closes them."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> GatewayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _environment() -> dict[str, str]:
    """What the gateway inherits: where Python and its packages are, and nothing else, least of all a database's URL."""
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "HOME")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONUNBUFFERED": "1"}
