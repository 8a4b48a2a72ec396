"""The writable folders of a sandbox, held open from the host: filled before the start, read after the end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_runtime.sandbox.layout import SCRATCH, Placed
from gauntlet_runtime.sandbox.outputs import seed_tree


@dataclass(kw_only=True)
class Anchor:
    """The first process of a sandbox, and its writable folders, each of them a tmpfs."""

    init: int  # process id on the host; all of the sandbox dies with it
    init_handle: int  # pidfd of the same: a number may be used again, a handle is not
    folders: dict[str, int] = field(default_factory=dict)  # target -> descriptor; it keeps the tmpfs alive
    _closed: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def open_folders(self, mounts: Sequence[Placed]) -> None:
        """Open every writable folder.

        Raises:
            SandboxError: one cannot be opened.
        """
        try:
            for target in (*SCRATCH, *(str(one.target) for one in mounts if one.size)):
                path = f"/proc/{self.init}/root{target}"
                self.folders[target] = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise SandboxError(f"cannot prepare the sandbox's folders: {error}") from error

    def fill_folders(self, mounts: Sequence[Placed], *, owner: int | None) -> None:
        """Fill the open folders that have a source, and give all to ``owner`` (None: they are ours).

        Raises:
            SandboxError: one cannot be filled.
        """
        try:
            for one in mounts:
                if one.size:
                    _fill(self.folders[str(one.target)], one.source, owner)
        except OSError as error:
            raise SandboxError(f"cannot fill the sandbox's folders: {error}") from error

    def shows(self, source: Path, target: str) -> bool:
        """Whether what the sandbox sees at ``target`` is what lies at ``source`` now."""
        try:
            return os.path.samestat(os.stat(source), os.stat(f"/proc/{self.init}/root{target}"))
        except OSError:
            return False

    def kill(self) -> None:
        """End all of the sandbox: its process namespace goes with its first process. From any thread, also too late.

        The handle's number may be another sandbox's as soon as it is closed.
        """
        with self._lock, contextlib.suppress(ProcessLookupError):
            if not self._closed:
                signal.pidfd_send_signal(self.init_handle, signal.SIGKILL)

    def wait(self, seconds: float) -> None:
        """Until the first process, and so all of them, has ended; not longer than this."""
        ended = select.poll()  # select() takes no descriptor above 1023
        ended.register(self.init_handle, select.POLLIN)
        ended.poll(seconds * 1000)

    def close(self) -> None:
        """Close the descriptors; the folders' contents are gone then. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for descriptor in (*self.folders.values(), self.init_handle):
                os.close(descriptor)
            self.folders.clear()


def _fill(folder: int, source: Path | None, owner: int | None) -> None:
    if source is not None:
        seed_tree(source, folder, owner=owner)
    if owner is not None:
        os.fchown(folder, owner, owner)
