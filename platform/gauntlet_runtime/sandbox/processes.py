"""Looking at processes through /proc: who owns a run, and how much memory a tree of processes has."""

from __future__ import annotations

import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def _start_time(pid: int) -> str | None:
    """When the process started, in clock ticks after boot; None where there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command before it may hold anything
    return None if fields[0] in "ZX" else fields[19]


def this_process() -> str:
    """This process as the ``owner`` of runs: "<pid>:<start time>"."""
    return f"{os.getpid()}:{_start_time(os.getpid())}"


def is_alive(owner: str) -> bool:
    """Whether the process that :func:`this_process` named still lives; its number alone may be somebody else's."""
    pid, _, started = owner.partition(":")
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
