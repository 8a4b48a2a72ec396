"""The whole platform: real services, web server, workers, beat and sandboxes, on an installation of their own.

Nothing here names a database or a broker to the platform's processes: they run the embedded ones, which tests may kill.
The test itself looks at the same database through the models; what participants do, it does over HTTP.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import environ
import httpx
import psutil
import pytest
from small_competitions import SmallTask, Workshop

from gauntlet.processes import Processes, free_port, platform_processes
from gauntlet_runtime import services

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Competition
    from gauntlet.evaluation.models import Evaluation
    from gauntlet_scoring.trajectory import Event

T = TypeVar("T")
PATIENCE = 120.0  # seconds until a condition that should come true soon counts as one that never does
FINAL = ("finished", "failed", "cancelled")


@dataclass
class Installation:
    """An installation's folder, and where its services are."""

    var: Path
    urls: services.ServiceUrls

    @property
    def environment(self) -> dict[str, str]:
        """What its processes are started with: short leases, a quick bell, services of its own."""
        from django.conf import settings

        return {
            "DATABASE_URL": "",
            "BROKER_URL": "",
            "GAUNTLET_VAR": str(self.var),
            "GAUNTLET_STATE": str(self.var / "sandbox"),
            "SECRET_KEY": settings.SECRET_KEY,
            "GAUNTLET_SECRET": settings.GAUNTLET_SECRET,
            "SANDBOX": "bubblewrap",
            "LEASE_SECONDS": "3",
            "BELL_SECONDS": "1",
            "RETRY_SECONDS": "1",
            "STOP_SECONDS": "1",
            "MIN_FREE_BYTES": str(64 << 20),
        }


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    """A fresh installation with running services. The folder's name lets a later run remove what a killed one left."""
    folder = Path(tempfile.mkdtemp(prefix=f"gauntlet-tests-{os.getpid()}-"))
    folder.chmod(0o711)  # the servers' account passes through
    var = folder / "var"
    yield Installation(var=var, urls=services.ensure(var, durable=False))
    services.stop(var)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def in_database(installation: Installation, django_db_blocker: Any) -> Iterator[None]:
    """Lets the module's tests look into the installation's database; what they put there is theirs to remove."""
    from django.core.management import call_command
    from django.db import connections
    from django.test import override_settings

    connection = connections["default"]
    before = connection.settings_dict
    with django_db_blocker.unblock(), override_settings(**_settings(installation)):
        connection.close()
        connection.settings_dict = {**before, **environ.Env.db_url_config(installation.urls.database_url)}
        call_command("migrate", verbosity=0)
        yield
        connection.close()
        connection.settings_dict = before


def _settings(installation: Installation) -> dict[str, Any]:
    from django.conf import settings

    uploads = installation.var / "uploads"
    uploads.mkdir(exist_ok=True)
    storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(installation.var / "artifacts")},
    }
    return {
        "VAR": installation.var,
        "FILE_UPLOAD_TEMP_DIR": str(uploads),
        "STORAGES": {**settings.STORAGES, "default": storage},
        "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
    }


def wait_until(condition: Callable[[], T], *, patience: float = PATIENCE) -> T:
    """Wait until ``condition`` returns something true, and return that. A database that is just away is waited for."""
    from django.db import connection
    from django.db.utils import InterfaceError, OperationalError

    deadline = time.monotonic() + patience
    while True:
        try:
            found = condition()
        except (OperationalError, InterfaceError):
            connection.close()
            found = None  # type: ignore[assignment]
        if found:
            return found
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.05)


@pytest.fixture(name="wait_until")
def waiting() -> Callable[..., Any]:
    """See the function."""
    return wait_until


@dataclass
class Participant:
    """Somebody with a token, who reaches the platform over HTTP only."""

    name: str
    user: User
    api: httpx.Client
    base: str = ""

    def submit(self, competition: Competition, phase: int, bundle: bytes, *, name: str = "") -> str:
        """Upload a bundle and return the submission's id; the platform must take it."""
        self.api.post(f"/api/v1/competitions/{competition.slug}/join", json={"terms_accepted": True}).raise_for_status()
        answer = self.api.post(
            f"/api/v1/competitions/{competition.slug}/phases/{phase}/submissions",
            files={"bundle": ("agent.zip", bundle, "application/zip")},
            data={"name": name},
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


@dataclass
class Platform:
    """The processes of one test, and ways to look at what they do."""

    installation: Installation
    processes: Processes
    port: int = 0
    people: list[Participant] = field(default_factory=list)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configure(self, **variables: str) -> None:
        """Set variables for processes that are started from now on.

        LEASE_SECONDS is "60" where no lease has to end, and "6" where one has to and attempts are counted: on a busy
        machine a worker is late to renew a short one.
        """
        self.processes.environment = {**self.processes.environment, **variables}

    def start(self, *, workers: int = 1, concurrency: int = 1) -> Platform:
        """Start web, beat and workers."""
        for number in range(workers):
            self.processes.start_worker(f"worker{number}", concurrency=concurrency)
        self.processes.start_beat()
        return self.start_web()

    def start_web(self) -> Platform:
        """Start web alone."""
        self.port = free_port(0)
        self.processes.start_web(self.port)
        return self

    def person(self, name: str, **fields: Any) -> Participant:
        """A new account with a token."""
        from gauntlet.accounts.models import User
        from gauntlet.accounts.services import create_token

        user = User.objects.create_user(name, f"{name}@example.org", "a long pass phrase", **fields)
        _, token = create_token(user, name="tests")
        api = httpx.Client(base_url=self.base, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        self.people.append(Participant(name=name, user=user, api=api, base=self.base))
        return self.people[-1]

    def evaluation(self, submission: str) -> Evaluation | None:
        """The submission's newest evaluation, read anew."""
        from gauntlet.evaluation.models import Evaluation

        return Evaluation.objects.filter(submission=submission).order_by("-number").first()

    def wait_for_end(self, submission: str, *, patience: float = PATIENCE) -> Evaluation:
        """Wait until the submission's newest evaluation is over."""
        from gauntlet.submissions.models import Submission

        def ended() -> Evaluation | None:
            found = self.evaluation(submission)
            refused = Submission.objects.filter(pk=submission, state="rejected").values_list("failure_message").first()
            assert refused is None, refused
            return found if found is not None and found.state in FINAL else None

        return wait_until(ended, patience=patience)

    def wait_for_job(self, submission: str, *, kind: str = "run", done: int = 0) -> Any:
        """Wait until a worker holds a job of this kind and ``done`` episodes are over; return the job."""
        from gauntlet.evaluation.models import Job

        held = Job.objects.filter(
            evaluation__submission=submission, kind=kind, state="leased", evaluation__episodes_done__gte=done
        )
        return wait_until(held.first)

    def log(self, name: str) -> str:
        """What a process wrote."""
        return (self.processes.logs / f"{name}.log").read_text(errors="replace")

    def members(self, session: int) -> list[psutil.Process]:
        """The live processes of a session; its number is that of the process it was started with."""
        return [one for one in psutil.process_iter() if _session(one) == session and _lives(one)]

    def kill(self, name: str) -> None:
        """SIGKILL a process and its Python children, and forget it; only when they are dead does this return.

        What they had started (gateways, sandboxes) is not touched: it must not outlive them.
        """
        process = self.processes.running.pop(name)
        parent = psutil.Process(process.pid)
        _kill_all([parent, *parent.children()])
        process.wait()

    def close(self) -> None:
        for person in self.people:
            person.api.close()


def kill_now(pid: int) -> None:
    """SIGKILL a process and wait until the kernel has done it."""
    _kill_all([psutil.Process(pid)])


def _kill_all(processes: list[psutil.Process]) -> None:
    """Children end with their parent: some may be gone before it is their turn."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    wait_until(lambda: not any(_lives(process) for process in processes))


@pytest.fixture(name="kill_now")
def killing() -> Callable[[int], None]:
    """See the function."""
    return kill_now


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except (ProcessLookupError, PermissionError):
        return None


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def platform(installation: Installation, in_database: None, tmp_path: Path) -> Iterator[Platform]:
    """The platform for one test; start what it needs with ``start``."""
    yield from _platform(installation, tmp_path)


@pytest.fixture(scope="module")
def module_platform(
    installation: Installation, in_database: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """The platform for all tests of a module, started."""
    for made in _platform(installation, tmp_path_factory.mktemp("platform")):
        yield made.start(concurrency=2)


@pytest.fixture(scope="module")
def emptied(installation: Installation, in_database: None) -> Iterator[None]:
    """For modules that start no platform: removes all rows afterwards."""
    yield
    _empty(installation)


def _platform(installation: Installation, folder: Path) -> Iterator[Platform]:
    with platform_processes(folder / "logs", environment=installation.environment) as processes:
        made = Platform(installation=installation, processes=processes)
        yield made
        made.close()
    _empty(installation)


def _empty(installation: Installation) -> None:
    """Remove all rows, on services that live again if the test has killed them last."""
    from django.core.management import call_command
    from django.db import connection

    connection.close()
    services.ensure(installation.var)
    call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Bundles for one test."""
    return Workshop(tmp_path)


@pytest.fixture(scope="module")
def module_workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Bundles for a module."""
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def small_task() -> type[SmallTask]:
    """The class, for modules that import nothing from here."""
    return SmallTask


@pytest.fixture(scope="session")
def read_record() -> Callable[[Any], list[Event]]:
    """Reads an episode's stored trajectory."""

    def read(episode: Any) -> list[Event]:
        from gauntlet.storage.services import open_artifact
        from gauntlet.trajectories.reading import events

        with open_artifact(episode.trajectory) as archive:
            return list(events(archive))

    return read
