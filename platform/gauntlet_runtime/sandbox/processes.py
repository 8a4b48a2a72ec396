"""Looking at processes through /proc: who owns a run, and how much memory a tree of processes has."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


_EXITING = 0x4  # PF_EXITING, linux/sched.h


def _fields(pid: int) -> list[str] | None:
    """What proc(5) says in `stat` from the state on; None where there is no such process, or a dead one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command before it may hold anything
    return None if fields[0] in "ZX" else fields


def _start_time(pid: int) -> str | None:
    """When the process started, in clock ticks after boot; None where there is no such process."""
    fields = _fields(pid)
    return fields[19] if fields is not None else None


def is_dying(pid: int) -> bool:
    """Whether the process has ended or is about to.

    A first process that was killed is in this state before it takes the other processes of its namespace with it.
    """
    fields = _fields(pid)
    return fields is None or bool(int(fields[6]) & _EXITING)


def this_process() -> str:
    """This process as the ``owner`` of runs: "<pid>:<start time>:<host>"."""
    return f"{os.getpid()}:{_start_time(os.getpid())}:{socket.gethostname()}"


def is_alive(owner: str) -> bool:
    """Whether the process that :func:`this_process` named still lives; its number alone may be somebody else's.

    Folders may be shared by hosts: a process of another host cannot be looked at from here, and counts as alive.
    """
    pid, _, rest = owner.partition(":")
    started, _, host = rest.partition(":")
    if host and host != socket.gethostname():
        return True
    return pid.isdecimal() and _start_time(int(pid)) == started


def resident_bytes(root: int) -> int:
    """Resident memory of a process and all below it; pages that they share count once for each."""
    total = 0
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += [int(word) for word in (task / "children").read_text(encoding="ascii").split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total
