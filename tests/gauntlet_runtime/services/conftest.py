"""A fresh home for services that only the test at hand knows, and ways to kill what runs in it."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gauntlet_runtime import services


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that every account may pass through (pytest's own only its owner may)."""
    folder = Path(tempfile.mkdtemp(prefix="gauntlet-services-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def var(open_folder: Path) -> Iterator[Path]:
    """The state folder of an installation that was never started; what a test starts in it is stopped."""
    yield open_folder / "var"
    services.stop(open_folder / "var")


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object]], None]:
    """Wait for a condition."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true"
            time.sleep(0.01)

    return wait


@pytest.fixture
def kill() -> Callable[[int | None], None]:
    """Kill -9 a process and wait until the kernel has done it; whether anybody reaps the corpse is another matter.

    A process whose first thread is a corpse may still have others, which hold its sockets open.
    """

    def kill_it(process: int | None) -> None:
        assert process is not None
        handle = os.pidfd_open(process)
        try:
            os.kill(process, signal.SIGKILL)
            dead = select.poll()
            dead.register(handle, select.POLLIN)
            assert dead.poll(30_000), "it does not die"
        finally:
            os.close(handle)

    return kill_it


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python on a piece of code, as another process of the platform would run."""
    children: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *(str(a) for a in arguments)]
        pipe = subprocess.PIPE
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **options)  # type: ignore[call-overload]
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()
