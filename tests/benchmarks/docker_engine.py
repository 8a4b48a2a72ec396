"""A Docker engine for a measurement: the one that answers, or one that is started and stopped again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import docker

ROOT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 60.0


@contextlib.contextmanager
def docker_engine() -> Iterator[str | None]:
    """Have an engine with the images of bases and agents; yields why there is none, or None where there is one."""
    with contextlib.ExitStack() as stack:
        if not _answers():
            if os.geteuid() != 0 or shutil.which("dockerd") is None:
                yield "no engine answers, and only root with docker.io installed can start one"
                return
            stack.enter_context(_own_engine())
        build = [sys.executable, str(ROOT / "sandbox_images" / "build.py"), "--only", "base,agent", "--docker"]
        subprocess.run(build, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        yield None


def _answers() -> bool:
    try:
        with contextlib.closing(docker.from_env()) as client:
            return bool(client.ping())
    except docker.errors.DockerException:
        return False


@contextlib.contextmanager
def _own_engine() -> Iterator[None]:
    """No bridge and no packet filter: nothing of the host's is changed. What it stores stays for the next time."""
    data = ROOT / "var" / "docker-bench"
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gd-") as folder:  # a unix socket's path must be short
        address = f"unix://{folder}/docker.sock"
        command = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--bridge=none", "--iptables=false"]
        command += ["--data-root", str(data), "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
        with (data / "dockerd.log").open("wb") as log:
            engine = subprocess.Popen([*command, "--host", address], stdout=log, stderr=log)
        before = os.environ.get("DOCKER_HOST")
        os.environ["DOCKER_HOST"] = address
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers():
                if engine.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"dockerd does not start; see {data / 'dockerd.log'}")
                time.sleep(0.1)
            yield
        finally:
            os.environ.pop("DOCKER_HOST")
            if before is not None:
                os.environ["DOCKER_HOST"] = before
            engine.send_signal(signal.SIGTERM)
            engine.wait(START_SECONDS)
