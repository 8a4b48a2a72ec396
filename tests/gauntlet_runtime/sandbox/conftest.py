"""Both backends, their images and their engine, and the small tools that tests of sandboxes share."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import Run, Sandbox, SandboxSpec, Verdict
from gauntlet_runtime.zoo.leftovers import control_groups

REPOSITORY = Path(__file__).resolve().parents[3]
IMAGE = "gauntlet/agent"


@dataclass
class Finished:
    """A program that ran to its end."""

    run: Run
    verdict: Verdict
    stdout: str
    stderr: str


def _build_images(*options: str, only: str = "base,agent") -> None:
    command = [sys.executable, str(REPOSITORY / "sandbox_images" / "build.py"), "--only", only, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def images_folder() -> Path:
    """Where the images are, made now where they are missing or old."""
    folder = Path(os.environ.get("GAUNTLET_IMAGES", REPOSITORY / "var" / "images"))
    os.environ["GAUNTLET_IMAGES"] = str(folder)
    _build_images()
    return folder


def _engine_answers() -> bool:
    try:
        with contextlib.closing(docker.from_env()) as client:
            return bool(client.ping())
    except docker.errors.DockerException:
        return False


@contextlib.contextmanager
def _own_engine(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Docker engine of the tests' own: no bridge, no packet filter, nothing of the host's changed."""
    before = os.environ.get("DOCKER_HOST")
    dockerd = shutil.which("dockerd")
    assert dockerd, "dockerd is missing; as root run: apt-get install -y docker.io"
    data = REPOSITORY / "var" / "docker-tests" / name  # one process of a run has all tests that need an engine
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gd-") as folder:  # a unix socket's path must be short
        address = f"unix://{folder}/docker.sock"
        command = ["setpriv", "--pdeathsig", "TERM", dockerd, "--bridge=none", "--iptables=false"]
        command += ["--data-root", str(data), "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
        with (data / "dockerd.log").open("wb") as log:
            engine = subprocess.Popen([*command, "--host", address], stdout=log, stderr=log)
        try:
            os.environ["DOCKER_HOST"] = address
            wait_until(lambda: _engine_answers() or engine.poll() is not None, seconds=60)
            assert engine.poll() is None, (data / "dockerd.log").read_text()[-4000:]
            yield engine
        finally:
            del os.environ["DOCKER_HOST"]
            if before is not None:
                os.environ["DOCKER_HOST"] = before
            engine.send_signal(signal.SIGTERM)
            engine.wait(60)


@pytest.fixture(scope="session")
def docker_engine(images_folder: Path) -> Iterator[None]:
    """A Docker engine that has the images: the host's, or one that is stopped afterwards."""
    with contextlib.ExitStack() as stack:
        if not _engine_answers():
            stack.enter_context(_own_engine("shared"))
        _build_images("--docker")
        yield


@pytest.fixture
def doomed_engine(images_folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An engine for one test, which may end it. It has the small image alone: it begins with nothing each time."""
    with _own_engine("doomed") as engine:
        _build_images("--docker", only="base")
        yield engine


@pytest.fixture
def state_folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def label() -> str:
    """What runs of this test are called, and no others'."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture(params=["bubblewrap", "docker"])
def sandbox(request: pytest.FixtureRequest, images_folder: Path, state_folder: Path) -> Sandbox:
    """One of the two backends, ready."""
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
    return open_sandbox(request.param, state=state_folder, images=images_folder)


@pytest.fixture
def prepare(sandbox: Sandbox, label: str) -> Iterator[Callable[..., Run]]:
    """Prepare a program: a command, or Python source. What is left is closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def prepare_one(program: str | Sequence[str], **fields: Any) -> Run:
            command = ["python", "-c", program] if isinstance(program, str) else program
            fields = {"image": IMAGE, "label": label, "owner": this_process(), **fields}
            return stack.enter_context(sandbox.prepare(SandboxSpec(command=command, **fields)))

        yield prepare_one


@pytest.fixture
def execute(prepare: Callable[..., Run]) -> Callable[..., Finished]:
    """Run a program to its end."""

    def execute_one(program: str | Sequence[str], **fields: Any) -> Finished:
        run = prepare(program, **fields)
        run.start()
        verdict = run.wait(timeout=120)
        assert verdict is not None, "the program did not end"
        return Finished(run, verdict, run.log_tail("stdout").decode(), run.log_tail("stderr").decode())

    return execute_one


@pytest.fixture
def destroy(sandbox: Sandbox, state_folder: Path) -> Callable[[Run], None]:
    """Take a sandbox away under its worker, as an operator or a failing host would."""

    def destroy_bubblewrap(run: Run) -> None:
        assert run.host_pid is not None
        os.kill(parent_of(parent_of(run.host_pid)), signal.SIGKILL)

    def destroy_container(run: Run) -> None:
        with contextlib.closing(docker.from_env()) as client:
            for container in client.containers.list(filters={"label": f"org.gauntlet.state={state_folder}"}):
                container.remove(force=True)

    return destroy_container if sandbox.name == "docker" else destroy_bubblewrap


@pytest.fixture
def remains(sandbox: Sandbox, state_folder: Path, label: str) -> Callable[[], list[str]]:
    """What runs left on the host: records, control groups, containers."""

    def look() -> list[str]:
        found = [str(path) for folder in state_folder.glob("*runs") for path in folder.iterdir()]
        found += map(str, control_groups(label))
        if sandbox.name == "docker":
            with contextlib.closing(docker.from_env()) as client:
                ours = {"label": f"org.gauntlet.state={state_folder}"}
                found += [one.id for one in client.containers.list(all=True, filters=ours)]
        return found

    return look


def parent_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("PPid:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no parent")


@pytest.fixture
def processes_with_uid(label: str) -> Callable[[int], list[int]]:
    """The processes that have a uid, but for those of another test's run: it leases from the same range."""

    def look(uid: int) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                lines = (folder / "status").read_text().splitlines()
                _, ours, run = (folder / "cgroup").read_text().partition("/gauntlet/")
                has_it = any(line.startswith("Uid:") and str(uid) in line.split() for line in lines)
                if has_it and (not ours or run.startswith(label)):
                    found.append(int(folder.name))
        return found

    return look


def wait_until(condition: Callable[[], Any], *, seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (outcome := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return outcome


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Wait for a condition, and return what it gave."""
    return wait_until
