"""A site over TLS in a network of its own, and hosts for `gauntlet-worker` that reach its port and nothing else.

The site's own database and broker are behind unix sockets, which nothing tells those hosts of.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from network_hosts import Host, network
from own_authority import Certified, certify

from gauntlet.processes import Processes

SITE_PORT = 8443
QUEUE = "gpu-lab"


@dataclass
class OwnWorkers:
    """An organizer, their queue, and workers of it on hosts far away."""

    platform: Any
    folder: Path
    certified: Certified
    hosts: list[Host]
    organizer: Any
    queue: Any
    processes: Processes
    secrets: list[str] = field(default_factory=list)

    def issue(self, label: str = "a machine") -> tuple[Any, Path]:
        """A token of the queue, and the file that a worker reads it from."""
        from gauntlet.queues.services import issue_token

        token, secret = issue_token(self.queue, label=label, actor=self.organizer)
        self.secrets.append(secret)
        file = self.folder / f"token-{len(self.secrets)}"
        file.write_text(secret)
        file.chmod(0o600)
        return token, file

    def start(self, host: Host, token: Path, *options: str, sandbox: str = "bubblewrap") -> str:
        """Start a worker on a host, with nothing in its environment; its name among the processes."""
        name = f"{host.name}-{len(self.processes.running)}"
        words = [
            *(sys.executable, "-m", "gauntlet_runtime.remote", "--url", f"https://{host.hub_address}:{SITE_PORT}"),
            *("--token-file", str(token), "--ca-file", str(self.certified.authority)),
            *("--folder", str(self.folder / host.name), "--images", os.environ["GAUNTLET_IMAGES"]),
            *("--sandbox", sandbox, "--min-free", "64M", "--stop-seconds", "1", *options),
        ]
        path = f"PATH={os.environ['PATH']}"
        engine = [f"{key}={value}" for key, value in os.environ.items() if key == "DOCKER_HOST"]
        self.processes.start(name, host.command("env", "-i", path, *engine, *words))
        return name

    def log(self, name: str) -> str:
        """What a worker said."""
        return (self.processes.logs / f"{name}.log").read_text(errors="replace")

    def members(self, name: str) -> list[psutil.Process]:
        """A worker's main process and the processes that do its jobs."""
        main = psutil.Process(self.processes.running[name].pid)
        return [main, *main.children()]

    def kill(self, name: str, wait_until: Callable[..., Any]) -> None:
        """SIGKILL all of a worker at once, and wait until it is dead."""
        members = self.members(name)
        for member in members:
            with suppress(psutil.NoSuchProcess):  # its children end with the first
                member.kill()
        self.processes.running.pop(name).wait()
        wait_until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in members))

    def competition(self, workshop: Any, tasks: list[Any], phases: list[tuple[int, str]], **more: Any) -> Any:
        """A competition whose jobs wait in the queue."""
        return workshop.imported(queued(workshop.written(tasks, phases), **more), self.organizer)


def queued(
    bundle: Path,
    *,
    queue: str = QUEUE,
    phase: str = "",
    column: str = "rubric.score",
    files: dict[str, str] | None = None,
) -> Path:
    """Name the queue in a bundle's manifest; ``phase`` is put into each phase, ``files`` beside it."""
    for name, content in (files or {}).items():
        (bundle / name).parent.mkdir(exist_ok=True)
        (bundle / name).write_text(content)
    manifest = bundle / "competition.yaml"
    text = manifest.read_text().replace("terms: terms.md\n", f"terms: terms.md\nqueue: {queue}\n", 1)
    text = text.replace("from: rubric.score", f"from: {column}")
    manifest.write_text(text.replace("    visibility: full\n", f"    visibility: full\n{phase}"))
    return bundle


@contextmanager
def own_workers(platform: Any, folder: Path, *names: str) -> Iterator[OwnWorkers]:
    """The site, an organizer's queue, and hosts of these names."""
    from gauntlet.queues.services import create_queue

    folder.chmod(0o711)
    # Long enough that a busy machine loses no job that nobody meant to lose.
    platform.configure(LEASE_SECONDS="12")
    organizer = platform.person("organizer").user
    allow(organizer)
    with network(*names) as (hub, hosts):
        addresses = [host.hub_address for host in hosts]
        certified = certify(folder, *addresses)
        environment = platform.processes.environment | {"ALLOWED_HOSTS": ",".join(addresses)}
        site = Processes(logs=folder / "site", environment=environment)
        made = OwnWorkers(
            platform=platform,
            folder=folder,
            certified=certified,
            hosts=hosts,
            organizer=organizer,
            queue=create_queue(QUEUE, owner=organizer),
            processes=Processes(logs=folder / "workers"),
        )
        try:
            server = [sys.executable, "-m", "uvicorn", "gauntlet.asgi:application", "--host", "0.0.0.0"]  # noqa: S104
            secured = ["--ssl-certfile", str(certified.certificate), "--ssl-keyfile", str(certified.key)]
            rest = ["--port", str(SITE_PORT), "--log-level", "warning", "--lifespan", "off"]
            site.start("site", hub.command(*server, *secured, *rest))
            yield made
        finally:
            for host in hosts:
                host.mend()
            for process in made.processes.running.values():
                process.send_signal(signal.SIGTERM)
            made.processes.stop()
            site.stop()


def allow(user: Any) -> None:
    """Let somebody bring in competitions, and so have queues."""
    from django.contrib.auth.models import Permission

    user.user_permissions.add(Permission.objects.get(codename="add_competition"))
