"""Notes of what was begun to be sent and has no answer yet, so that a later run of the command goes on with it.

One file each in the user's folder for state, named by server, account, competition, phase and what is sent. Whoever
sends it holds a lock on its note: a second run of the same command at the same time says so and changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not told of each other
    fcntl = None  # type: ignore[assignment]

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import clean, console, size

_CHUNK: Final = 1 << 20
_OLD_SECONDS: Final = 7 * 86400.0  # a platform keeps an upload for a day or so; a note is not kept for ever either


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What is sent, and where to."""

    server: str
    account: str
    competition: str
    phase: int
    digest: str  # SHA-256 of the file
    file_name: str
    length: int  # bytes

    @property
    def key(self) -> str:
        """The same for the same bytes by the same person to the same phase, whatever the file is called."""
        words = [self.server, self.account, self.competition, str(self.phase), self.digest]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]


class Note:
    """Which upload a file is sent as, or with which key. While it exists it is this process's own."""

    def __init__(self, sent: Sent, file: IO[str] | None) -> None:
        self._sent = sent
        self._file = file  # None: there is nowhere to keep notes
        self._path = state_folder() / f"{sent.key}.json"
        self.upload: str | None = None
        self.key: str | None = None  # with which it is sent at once
        if file is not None:
            file.seek(0)
            found = _read(file)
            self.upload, self.key = found.get("upload"), found.get("key")

    def write(self, *, upload: str | None = None, key: str | None = None) -> None:
        """Note the upload that was begun, or the key with which the file is about to be sent."""
        self.upload, self.key = upload, key
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # without room for a note the file is sent all the same
            self._file.seek(0)
            self._file.truncate()
            json.dump({**asdict(self._sent), "upload": upload, "key": key}, self._file, indent=2)
            self._file.flush()
            os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Forget it: it was submitted or refused, or is not there any more."""
        self.upload = self.key = None
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.truncate(0)
                self._path.unlink()
            self._file = None  # what may have its name by now is another's


def digest_of(file: IO[bytes]) -> str:
    """SHA-256 of a file, which stands at its beginning before and after."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


@contextmanager
def noted(sent: Sent) -> Iterator[Note]:
    """The note of what is sent; empty where no earlier run left one.

    Raises:
        CommandFailed: another run sends it just now.
    """
    folder = state_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_old(folder)
        file = _locked(folder / f"{sent.key}.json")
    except OSError as error:
        console(stderr=True).print(
            f"warning: {folder} cannot be written ({error}): if this breaks off, it starts anew."
        )
        yield Note(sent, None)
        return
    if file is None:
        message = f"Another `gauntlet submit` sends {clean(sent.file_name)} to this phase just now."
        raise CommandFailed(message, code=Exit.USAGE, hints=("Wait for it, or end it and type this again.",))
    with file:
        note = Note(sent, file)
        try:
            yield note
        finally:
            if note.upload is None and note.key is None:
                note.remove()


def is_awaited(server: str, competition: str, phase: int) -> bool:
    """Whether something was begun to be sent to a phase from here and has no answer yet."""
    wanted = {"server": server, "competition": competition, "phase": phase}
    for path in state_folder().glob("*.json"):
        with contextlib.suppress(OSError), path.open(encoding="utf-8") as file:
            found = _read(file)
            if wanted.items() <= found.items() and (found.get("upload") or found.get("key")):
                return True
    return False


def others(server: str) -> Iterator[tuple[dict[str, Any], Note]]:
    """What else was begun to be sent to a server from here and is not being sent now, each with its note."""
    for path in sorted(state_folder().glob("*.json")):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            if (file := _locked(path)) is None:
                continue
            stack.enter_context(file)
            found = _read(file)
            with contextlib.suppress(TypeError):  # of another version
                sent = Sent(**{name: value for name, value in found.items() if name not in ("upload", "key")})
                if sent.server == server and found.get("upload"):
                    yield found, Note(sent, file)


def named(found: dict[str, Any]) -> str:
    """A note in words."""
    return f"{clean(found['file_name'])} ({size(found['length'])}, to {clean(found['competition'])})"


def state_folder() -> Path:
    """The folder of the notes, after the XDG base directory specification."""
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return root / "gauntlet" / "uploads"


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _OLD_SECONDS:
                path.unlink()


def _read(file: IO[str]) -> dict[str, Any]:
    """What a note says; nothing where it is new or damaged."""
    try:
        found = json.loads(file.read())
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _locked(path: Path) -> IO[str] | None:
    """The file, open and locked until it is closed; None where another process holds it."""
    while True:
        file = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8")  # noqa: SIM115  the caller closes it
        named_so = os.fstat(file.fileno())
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_ino == named_so.st_ino:
                return file
        file.close()  # whoever held it has removed it: make a new one
