"""Starting a server that outlives its starter, finding it again, and ending it.

A server is recognised by its working folder and nothing else: a recorded process id can be stale, or belong to somebody
else by now.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from .errors import ServiceError
from .home import open_log

#: How long a server may take to answer its first query, in seconds. Recovery after a crash is the longest case.
START_SECONDS = 120.0
#: How long a server may take to end after a polite signal, in seconds.
STOP_SECONDS = 30.0
#: Between two looks at something that is awaited, in seconds.
PAUSE = 0.02
#: A log longer than this is set aside at the next start, in bytes.
_LONGEST_LOG = 10 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """How to start a server: it runs in `folder`, as `uid`, with `standard_input`, and writes to `log`."""

    command: Sequence[str]
    folder: Path
    uid: int
    log: Path
    standard_input: bytes = b""


def account(uid: int) -> dict[str, object]:
    """The arguments of `subprocess` for a child that runs as `uid` without any group of ours; none if we are `uid`."""
    return {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() != uid else {}


def environment() -> dict[str, str]:
    """The environment of every server program: nothing of ours goes in."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def start(program: Program, answers: Callable[[], bool]) -> None:
    """Start a server in a session of its own and wait until it answers.

    The server becomes a child of PID 1, so it lives on when its starter is killed and no terminal signal reaches it.
    The writing end of a pipe goes with it: the pipe's end of file tells that the server has died.

    Raises:
        ServiceError: it ended or did not answer in time; the message quotes the end of its log.
    """
    _set_aside(program.log)
    alive, inherited = os.pipe()
    try:
        with open_log(program.log) as log:
            subprocess.run(
                ["setsid", "--fork", *program.command],
                input=program.standard_input,
                stdout=log,
                stderr=log,
                cwd=program.folder,
                env=environment(),
                umask=0o077,
                pass_fds=(inherited,),
                check=True,
                **account(program.uid),  # type: ignore[call-overload]  # the three arguments are optional together
            )
        os.close(inherited)
        inherited = -1
        _await_answer(program, answers, alive)
    finally:
        os.close(alive)
        if inherited >= 0:
            os.close(inherited)


def running_in(folder: Path) -> list[psutil.Process]:
    """The live processes whose working folder is `folder`; corpses that nobody has reaped do not count."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
            continue
    return found


def end(folder: Path, polite: signal.Signals, *, first: Iterable[int] = (), patience: float = STOP_SECONDS) -> None:
    """End every process that runs in `folder`.

    `polite` goes to those of `first` (or to all), SIGKILL to what is left after `patience` seconds.

    Raises:
        ServiceError: a process survived SIGKILL.
    """
    chosen = set(first)
    processes = running_in(folder)
    _signal([p for p in processes if not chosen or p.pid in chosen], polite)
    if _await_gone(folder, patience):
        return
    _signal(running_in(folder), signal.SIGKILL)
    if not _await_gone(folder, STOP_SECONDS):
        raise ServiceError(f"A server in {folder} does not end, even when killed")


def accepts(path: Path) -> bool:
    """Whether a live process listens on the unix socket `path`. The kernel refuses once it is dead, reaped or not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1.0)
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True


def log_end(log: Path, characters: int = 2000) -> str:
    """The last lines of a server's log."""
    try:
        return log.read_text(errors="replace")[-characters:].strip()
    except FileNotFoundError:
        return ""


def _await_answer(program: Program, answers: Callable[[], bool], alive: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    name = Path(program.command[0]).name
    end_of_it = select.poll()  # select() takes no descriptor above 1023
    end_of_it.register(alive, select.POLLIN)
    while not answers():
        ended = bool(end_of_it.poll(PAUSE * 1000))
        if ended or time.monotonic() > deadline:
            end(program.folder, signal.SIGKILL)
            what = "ended at once" if ended else f"did not answer within {START_SECONDS:.0f} s"
            raise ServiceError(f"{name} {what}. Its log, {program.log}, ends:\n{log_end(program.log)}")


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _await_gone(folder: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while running_in(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def _set_aside(log: Path) -> None:
    if log.exists() and log.stat().st_size > _LONGEST_LOG:
        log.replace(log.with_suffix(".log.1"))
