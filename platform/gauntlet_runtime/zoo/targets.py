"""What hostile programs try to reach and to read: listeners and secrets that were put up for them, and nothing else.

The listeners stand in this host's network and, for root, in a network namespace made for the zoo, which has a
link-local address as clouds give their metadata services. Sandboxes of the zoo are started from inside that namespace:
one that failed to leave its network would reach both of its listeners.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from gauntlet_runtime.zoo.programs import ZooFault

_CLONE_NEWNET: Final = 0x40000000
LINK_LOCAL: Final = "169.254.169.254"
SECRET_VARIABLE: Final = "GAUNTLET_ZOO_SECRET"  # noqa: S105  the name of a variable of the worker's environment
_CONNECT: Final = """
import json, socket, sys
reached = []
for family, address in json.loads(sys.argv[1]):
    client = socket.socket(getattr(socket, family))
    client.settimeout(5)
    try:
        client.connect(address if isinstance(address, str) else tuple(address))
        reached.append([family, address])
    except OSError:
        pass
print(json.dumps(reached))
"""

T = TypeVar("T")


@dataclass
class Listener:
    """A place that only an escaped program can reach."""

    family: str  # "AF_INET" or "AF_UNIX"
    address: str | tuple[str, int]
    socket: socket.socket

    def was_reached(self) -> bool:
        """Whether somebody connected since the last question."""
        try:
            connection, _ = self.socket.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True


@dataclass
class Targets:
    """Everything of the host that programs are set upon."""

    secret: str  # stands in every place that is to be read; found nowhere afterwards
    secret_file: Path
    here: list[Listener]
    elsewhere: list[Listener] = field(default_factory=list)  # in the zoo's own namespace
    namespace: int | None = None

    def addresses(self) -> list[list[object]]:
        """What a program is told to connect to."""
        return [[one.family, one.address] for one in (*self.here, *self.elsewhere)]

    def reached(self) -> list[str]:
        """The listeners that somebody connected to."""
        return [str(one.address) for one in (*self.here, *self.elsewhere) if one.was_reached()]

    def enter(self) -> None:
        """Put the calling thread, and so what it starts, into the zoo's namespace, for good."""
        if self.namespace is not None:
            _check(_libc().setns(self.namespace, _CLONE_NEWNET))

    def prove(self) -> None:
        """Show that a program without a sandbox reaches every listener.

        Raises:
            ZooFault: it does not, and a program that does not either proves nothing.
        """
        places: list[tuple[list[Listener], Callable[[], None] | None]] = [(self.here, None)]
        places += [(self.elsewhere, self.enter)] if self.elsewhere else []
        for listeners, enter in places:
            wanted = [[one.family, one.address] for one in listeners]
            said = _in_a_thread(lambda wanted=wanted: _connect(wanted), enter)  # type: ignore[misc]
            if said != json.loads(json.dumps(wanted)) or not all(one.was_reached() for one in listeners):
                raise ZooFault(f"The zoo's own listeners cannot be reached: only {said} of {wanted}.")


@contextlib.contextmanager
def open_targets() -> Iterator[Targets]:
    """Put them up, and take them away.

    Raises:
        ZooFault: this host does not let us.
    """
    secret = secrets.token_hex(16)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gauntlet-zoo-")))
        folder.chmod(0o755)
        secret_file = folder / "secret.txt"
        secret_file.write_text(secret)
        secret_file.chmod(0o644)  # whoever sees it may read it: only not being there protects it
        os.environ[SECRET_VARIABLE] = secret
        stack.callback(os.environ.pop, SECRET_VARIABLE, None)
        targets = Targets(secret=secret, secret_file=secret_file, here=_listen(folder, ["127.0.0.1"]))
        if os.geteuid() == 0:
            try:
                targets.namespace, targets.elsewhere = _in_a_thread(_in_a_namespace)
            except (OSError, subprocess.SubprocessError) as error:
                raise ZooFault(
                    f"The zoo's network namespace cannot be made ({error}). It needs `ip` (apt-get install -y "
                    "iproute2) and the right to make and configure one (CAP_SYS_ADMIN, CAP_NET_ADMIN)."
                ) from error
            stack.callback(os.close, targets.namespace)
        for listener in (*targets.here, *targets.elsewhere):
            stack.callback(listener.socket.close)
        targets.prove()
        yield targets


def _listen(folder: Path | None, hosts: list[str]) -> list[Listener]:
    listeners = []
    for host in hosts:
        server = socket.create_server((host, 0))
        listeners.append(Listener("AF_INET", (host, server.getsockname()[1]), server))
    name = f"\0gauntlet-zoo-{os.getpid()}-{secrets.token_hex(4)}"
    for path in [name, *([] if folder is None else [str(folder / "door.sock")])]:
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()
        if folder is not None and path != name:
            Path(path).chmod(0o666)
        listeners.append(Listener("AF_UNIX", path, server))
    for listener in listeners:
        listener.socket.setblocking(False)
    return listeners


def _in_a_namespace() -> tuple[int, list[Listener]]:
    """Make the namespace, in a thread that ends; what keeps it alive is the descriptor."""
    _check(_libc().unshare(_CLONE_NEWNET))
    for command in (
        "link set lo up",
        "link add zoo type veth peer name ooz",
        f"addr add {LINK_LOCAL}/16 dev zoo",
        "link set zoo up",
        "link set ooz up",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    return descriptor, _listen(None, ["127.0.0.1", LINK_LOCAL])


def _connect(addresses: list[list[object]]) -> list[list[object]]:
    command = [sys.executable, "-I", "-S", "-c", _CONNECT, json.dumps(addresses)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    reached: list[list[object]] = json.loads(done.stdout)
    return reached


def _in_a_thread(work: Callable[[], T], enter: Callable[[], None] | None = None) -> T:
    """A namespace is a thread's own: this one ends, and takes its membership with it."""
    outcome: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            if enter is not None:
                enter()
            outcome.append(work())
        except Exception as error:  # noqa: BLE001  raised again below, in the thread that asked
            errors.append(error)

    thread = threading.Thread(target=run, name="zoo-targets")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
