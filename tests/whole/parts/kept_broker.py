"""A Valkey of one test's own, which unlike the embedded one keeps what it holds in an append-only file."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gauntlet_runtime.tethered import tethered

START_SECONDS = 30.0


@dataclass
class KeptBroker:
    """The server, to be killed and started again with its data or without."""

    program: Path
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "valkey.sock"

    @property
    def url(self) -> str:
        """Its address, as Celery reads it."""
        return f"redis+socket://{self.socket}"

    def client(self) -> redis.Redis:
        """A client of the test's own."""
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=5, retry=Retry(NoBackoff(), 0))

    def start(self, *options: str) -> None:
        """Start it on the data that is there, and wait until it answers."""
        place = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""]
        kept = ["--appendonly", "yes", "--appendfsync", "always"]
        self.process = subprocess.Popen(
            tethered([str(self.program), *place, *kept, *options]), stdout=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self.process.poll() is None, "the broker has ended"
            assert time.monotonic() < deadline, "the broker does not answer"
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it answers a query."""
        with contextlib.suppress(redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
            return bool(self.client().ping())
        return False

    def kill(self) -> None:
        """SIGKILL, and wait until it is dead."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def wipe(self) -> None:
        """Remove all that a dead one kept."""
        shutil.rmtree(self.folder / "appendonlydir")

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        assert self.process is not None
        self.process.send_signal(number)


@contextlib.contextmanager
def kept_broker(program: Path, folder: Path) -> Iterator[KeptBroker]:
    """A broker that runs, and ends with the block."""
    broker = KeptBroker(program, folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
