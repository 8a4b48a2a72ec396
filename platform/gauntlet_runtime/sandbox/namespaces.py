"""The door: a listening socket inside another process's network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading

from gauntlet_runtime.sandbox.interface import SandboxError

_CLONE_NEWNET = 0x40000000

# Without root the way into the network namespace leads through the user namespace that owns it, which only a process
# with a single thread may enter; hence a helper, which hands the socket back.
_HELPER = """
import ctypes, fcntl, os, socket, sys
pid, port, channel = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
owner = fcntl.ioctl(network, 0xB701)  # NS_GET_USERNS, ioctl_ns(2); the process itself may be in one further down
for descriptor, flag in ((owner, 0x10000000), (network, 0x40000000)):
    if libc.setns(descriptor, flag) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
server.bind(("127.0.0.1", port))
server.listen(128)
socket.send_fds(socket.socket(fileno=channel), [b"x"], [server.fileno()])
"""


def listen_in(pid: int, port: int) -> socket.socket:
    """A listening, non-blocking socket on 127.0.0.1:port in the network namespace of process ``pid``.

    Raises:
        SandboxError: the namespace cannot be entered, or the port cannot be bound.
    """
    server = _listen_as_root(pid, port) if os.geteuid() == 0 else _listen_as_user(pid, port)
    server.setblocking(False)
    return server


def _listen_as_root(pid: int, port: int) -> socket.socket:
    outcome: list[socket.socket | OSError] = []

    def enter_and_bind() -> None:
        try:
            namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(namespace, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            finally:
                os.close(namespace)
            # With the protocol named: asyncio sets TCP_NODELAY only on such sockets.
            server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            try:
                server.bind(("127.0.0.1", port))
                server.listen(128)
            except OSError:
                server.close()
                raise
            outcome.append(server)
        except OSError as error:
            outcome.append(error)

    # A namespace is a thread's own: this one ends, and takes its membership with it.
    thread = threading.Thread(target=enter_and_bind, name="sandbox-door")
    thread.start()
    thread.join()
    if isinstance(outcome[0], OSError):
        raise SandboxError(f"cannot open the door at port {port}: {outcome[0]}") from outcome[0]
    return outcome[0]


def _listen_as_user(pid: int, port: int) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _HELPER, str(pid), str(port), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError(f"cannot open the door at port {port}: {done.stderr.decode(errors='replace')[-500:]}")
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptors[0])
