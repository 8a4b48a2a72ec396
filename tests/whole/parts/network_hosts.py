"""Network namespaces as hosts: a hub that has the services, and hosts that reach nothing but the hub.

Each host has a link of its own to the hub, which a test can cut; nothing of the machine's own network is touched.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_PREFIX = "gauntlet-hosts-"
DATABASE_PORT, BROKER_PORT, STORAGE_PORT = 5432, 6379, 5000


@dataclass(frozen=True)
class Host:
    """A namespace, its name among hosts, and the hub's address as it is reached from there."""

    namespace: str
    name: str
    hub_address: str
    hub: str  # the hub's namespace
    link: str  # the hub's end of its link; empty: it is the hub

    def command(self, *words: str) -> list[str]:
        """A command that runs ``words`` there."""
        here = ["nsenter", f"--net=/var/run/netns/{self.namespace}", "unshare", "--uts"]
        return [*here, "sh", "-c", 'hostname "$0" && exec "$@"', self.name, *words]

    def add_address(self, address: str) -> None:
        """Another address of this host, that nobody else reaches."""
        _ip("-n", self.namespace, "address", "add", f"{address}/32", "dev", "lo")

    def cut(self) -> None:
        """Pull the plug: packets are lost, and nobody is told."""
        _ip("-n", self.hub, "link", "set", self.link, "down")

    def mend(self) -> None:
        """Put the plug back."""
        _ip("-n", self.hub, "link", "set", self.link, "up")


@contextmanager
def network(*names: str) -> Iterator[tuple[Host, list[Host]]]:
    """The hub and a host of each name; the namespaces and all in them are gone at the end."""
    _remove_dead_runs()
    prefix = f"{_PREFIX}{os.getpid()}"
    hub = Host(namespace=f"{prefix}-hub", name="hub", hub_address="127.0.0.1", hub=f"{prefix}-hub", link="")
    made: list[str] = []
    try:
        _add(hub.namespace, made)
        hosts = [_host(hub, name, number, made) for number, name in enumerate(names, start=1)]
        yield hub, hosts
    finally:
        for namespace in made:
            _ip("netns", "delete", namespace)


def _host(hub: Host, name: str, number: int, made: list[str]) -> Host:
    namespace, link = hub.namespace.replace("-hub", f"-{number}"), f"to{number}"
    _add(namespace, made)
    # Made in the hub: no other name than these two ever appears elsewhere.
    _ip("-n", hub.namespace, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    for where, device, address in ((hub.namespace, link, 1), (namespace, "eth0", 2)):
        _ip("-n", where, "address", "add", f"10.77.{number}.{address}/24", "dev", device)
        _ip("-n", where, "link", "set", device, "up")
    return Host(namespace=namespace, name=name, hub_address=f"10.77.{number}.1", hub=hub.namespace, link=link)


def _add(namespace: str, made: list[str]) -> None:
    _ip("netns", "add", namespace)
    made.append(namespace)
    _ip("-n", namespace, "link", "set", "lo", "up")


def _remove_dead_runs() -> None:
    """Remove the namespaces of runs that were killed: their names hold the process id."""
    for left in Path("/var/run/netns").glob(f"{_PREFIX}*"):
        if not psutil.pid_exists(int(left.name.removeprefix(_PREFIX).partition("-")[0])):
            _ip("netns", "delete", left.name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
