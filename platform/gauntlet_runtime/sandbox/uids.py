"""A uid of its own for every running sandbox, leased so that no two processes of this host use one at once."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

from gauntlet_runtime.sandbox.interface import SandboxError

# Above the ranges of useradd's subordinate ids (to 600,100,000) and of systemd's containers (to 1,879,048,191), and
# below 2**31, which is where Docker stops.
FIRST_UID = 1_900_000_000
UID_COUNT = 10_000
_ATTEMPTS = 1_000


class UidLease:
    """A uid that is ours until :meth:`release`.

    The lock falls with our process, whatever ends it; the run's name in the file stays. A file with a name in it and
    without a lock belongs to a run that was not cleaned up, whose processes may still be about: it is not leased again
    before the reaper has called :func:`forget`.
    """

    def __init__(self, uid: int, descriptor: int) -> None:
        self.uid = uid
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the uid back; only when no process has it any more. Idempotent."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def lease(folder: Path, *, run: str, first: int = FIRST_UID, count: int = UID_COUNT) -> UidLease:
    """Lease a uid for the run named ``run``.

    Raises:
        SandboxError: all uids that were tried are in use, or none can be noted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Not the lowest free one: a uid rests as long as possible before somebody else gets it.
        for uid in random.sample(range(first, first + count), min(count, _ATTEMPTS)):
            descriptor = os.open(folder / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if _taken(descriptor, run):
                return UidLease(uid, descriptor)
    except OSError as error:
        raise SandboxError(f"no uid can be leased in {folder}: {error}") from error
    raise SandboxError(f"no free uid among {first} to {first + count - 1}; reap the runs of dead workers")


def _taken(descriptor: int, run: str) -> bool:
    """Lock the file of a uid that nobody has and write the run's name into it; else close it."""
    taken = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_size == 0:
            os.write(descriptor, run.encode())
            taken = True
    except BlockingIOError:
        pass
    finally:
        if not taken:
            os.close(descriptor)
    return taken


def forget_strays(folder: Path, *, has_record: Callable[[str], bool]) -> int:
    """Free the uids of runs that died before they had a record, or whose end was late; return how many.

    A live owner holds the lock, so whoever gets it is alone with what the dead one left.
    """
    freed = 0
    for path in [path for path in folder.glob("*") if path.stat().st_size]:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            run = os.read(descriptor, 4096).decode()
            if run and not has_record(run):
                os.ftruncate(descriptor, 0)
                freed += 1
        except BlockingIOError:
            continue  # leased to a live run
        finally:
            os.close(descriptor)
    return freed


def forget(folder: Path, *, uid: int, run: str) -> None:
    """Free the uid of a run that was reaped, unless it is somebody else's by now."""
    try:
        descriptor = os.open(folder / str(uid), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(descriptor, 4096).decode() == run:
            os.ftruncate(descriptor, 0)
    except BlockingIOError:
        return  # leased to a live run
    finally:
        os.close(descriptor)
