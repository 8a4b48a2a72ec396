"""Where the embedded services live: folders, their account, passwords, and the lock that makes starts exclusive.

``var/services`` holds it all::

    lock  secrets.json  place.json  bin/  postgres/  valkey/  sockets/  postgres.log  valkey.log

Two things can force a part elsewhere, and ``place.json`` then says where:

* The platform runs as root below a folder that only root may enter (a clone in root's home). The servers refuse to run
  as root, and no mode of a folder that is not ours is changed, so everything but ``place.json`` and ``lock`` lives in
  ``/var/lib/gauntlet/<digest of var's path>``.
* The path of a socket is longer than a unix address can be, or has a comma or quote in it: the sockets live in a folder
  of their own in the runtime or temporary folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from .errors import ServiceError

#: The account of the servers when the platform runs as root: a bare number that no distribution, systemd or usual
#: container image hands out (65520 to 65533 are reserved in Debian and free in systemd's table; 65532 is taken by
#: "nonroot" images). `nobody` would be shared with strangers. Under 65536, so that it exists in a user namespace of the
#: usual size too.
SERVICE_UID: Final = 65523
#: Longest path that fits into a unix address on Linux, in bytes (sun_path less the closing zero).
LONGEST_SOCKET_PATH: Final = 107
POSTGRES_SOCKET: Final = ".s.PGSQL.5432"
VALKEY_SOCKET: Final = "valkey.sock"
#: Where the servers' files live when they cannot live under var/.
OUTSIDE: Final = Path("/var/lib/gauntlet")


@dataclass(frozen=True, slots=True)
class Home:
    """The places of one installation's services. `uid` owns the servers' folders and runs the servers."""

    var: Path
    base: Path
    sockets: Path
    uid: int
    durable: bool = True

    @property
    def postgres(self) -> Path:
        """PostgreSQL's data folder."""
        return self.base / "postgres"

    @property
    def valkey(self) -> Path:
        """Valkey's working folder; it never holds data."""
        return self.base / "valkey"

    @property
    def postgres_socket(self) -> Path:
        """The unix socket of PostgreSQL."""
        return self.sockets / POSTGRES_SOCKET

    @property
    def valkey_socket(self) -> Path:
        """The unix socket of Valkey."""
        return self.sockets / VALKEY_SOCKET


@dataclass(frozen=True, slots=True)
class Secrets:
    """The passwords of the services, made once and kept in a file of mode 0600."""

    superuser: str
    database: str
    broker: str


def services_folder(var: Path) -> Path:
    """The folder of the services under `var`."""
    return var / "services"


@contextlib.contextmanager
def locked(var: Path) -> Iterator[None]:
    """Hold the lock under which servers are started and stopped. A killed holder lets go of it."""
    folder = services_folder(var)
    _make_folder(folder, mode=0o711)
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        raise _belongs_to_another(folder) from error
    try:
        _give_to_owner_of_folder(folder / "lock")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find(var: Path) -> Home | None:
    """The home that an earlier start recorded, or None. Changes nothing.

    Raises:
        ServiceError: it belongs to another user.
    """
    folder = services_folder(var)
    try:
        place = json.loads((folder / "place.json").read_text())
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise _belongs_to_another(folder) from error
    base = Path(place["base"]) if place["base"] else folder
    sockets = Path(place["sockets"]) if place["sockets"] else base / "sockets"
    return Home(var=var, base=base, sockets=sockets, uid=place["uid"], durable=place["durable"])


def prepare(var: Path, *, durable: bool) -> Home:
    """Make and record the home of the services. The caller holds the lock.

    An earlier choice (account, base, durability) stays; only a socket folder that is no longer ours is replaced.

    Raises:
        ServiceError: the folders belong to another user.
    """
    home = find(var) or _choose(var, durable=durable)
    # Others may pass through the base (the servers' account has to), but see only what is theirs.
    _make_folder(home.base, mode=0o711)
    for folder in (home.postgres, home.valkey):
        _make_folder(folder, mode=0o700, uid=home.uid)
    home = replace(home, sockets=_socket_folder(home))
    _make_secrets(home)
    _record(home)
    return home


def remove_short_sockets(home: Home) -> None:
    """Remove the socket folder outside the base, if there is one. No server runs."""
    if home.sockets != home.base / "sockets" and _is_private(home.sockets, home.uid):
        shutil.rmtree(home.sockets)


def read_secrets(home: Home) -> Secrets:
    """The passwords of the services of a prepared home.

    Raises:
        ServiceError: they are gone.
    """
    path = home.base / "secrets.json"
    try:
        return Secrets(**json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise ServiceError(f"{path} is missing, and with it the database's passwords: restore that file") from error


def write_private(path: Path, text: str, *, uid: int | None = None) -> None:
    """Write a file of mode 0600 in one step: a reader sees the old or the new content, never a part.

    It belongs to `uid`, or else to the owner of its folder: root may visit the installation of a plain user.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    if uid is None:
        _give_to_owner_of_folder(draft)
    else:
        _give(draft, uid)
    draft.replace(path)


def open_log(log: Path) -> BinaryIO:
    """A log for appending, for the owner of its folder only."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _give_to_owner_of_folder(log)
    return os.fdopen(descriptor, "ab")


def enterable(path: Path, uid: int) -> bool:
    """Whether an account without groups of its own may pass through `path` and every folder above it."""
    return all(_may(folder, uid, execute=True) for folder in (path, *path.parents) if folder.exists())


def _may(path: Path, uid: int, *, execute: bool) -> bool:
    status = path.stat()
    owner, other = (stat.S_IXUSR, stat.S_IXOTH) if execute else (stat.S_IRUSR, stat.S_IROTH)
    return bool(status.st_mode & (owner if status.st_uid == uid else other))


def _choose(var: Path, *, durable: bool) -> Home:
    uid = os.geteuid() or SERVICE_UID
    base = services_folder(var)
    if os.geteuid() == 0 and not enterable(base, uid):
        digest = hashlib.sha256(os.fsencode(var)).hexdigest()[:12]
        base = OUTSIDE / digest
        _make_folder(OUTSIDE, mode=0o711)
        _say(f"Only root may enter {var}, and the database does not run as root: its files are in {base}")
    return Home(var=var, base=base, sockets=base / "sockets", uid=uid, durable=durable)


def _socket_folder(home: Home) -> Path:
    """Beside the data; if that path is too long, the recorded short folder while it is still ours, else a new one."""
    inside = home.base / "sockets"
    if _fits_an_address(inside):
        _make_folder(inside, mode=0o700, uid=home.uid)
        return inside
    if home.sockets != inside and _is_private(home.sockets, home.uid):
        return home.sockets
    # mkdtemp makes it 0700 under a name that nobody could foresee.
    made = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=_short_parent(home.uid)))
    _give(made, home.uid)
    _say(f"The path of {home.base} cannot name a unix socket: the sockets are in {made}")
    return made


def _fits_an_address(folder: Path) -> bool:
    """Whether sockets in `folder` can be named: not too long, and no comma (libpq: a list) or quote."""
    name = str(folder / POSTGRES_SOCKET)
    return len(os.fsencode(name)) <= LONGEST_SOCKET_PATH and not set(name) & set(',"\\\n')


def _short_parent(uid: int) -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(runtime)] if runtime and os.geteuid() != 0 else []
    candidates += [Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108  (only the parent of a private folder)
    for folder in candidates:
        usable = folder.is_dir() and os.access(folder, os.W_OK) and enterable(folder, uid)
        if usable and _fits_an_address(folder / "gauntlet-xxxxxxxx"):
            return folder
    raise ServiceError("No folder for the services' unix sockets: set TMPDIR to a short path that every user may enter")


def _is_private(folder: Path, uid: int) -> bool:
    """Whether `folder` is a real folder of `uid` that nobody else may enter, and no stranger's in its place."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == uid and stat.S_IMODE(status.st_mode) == 0o700


def _make_folder(folder: Path, *, mode: int, uid: int | None = None) -> None:
    """Make `folder` with `mode` whatever the umask; one that exists is left as it is.

    It appears under its name only when it is right: an interrupted start leaves no folder of a wrong owner or mode.
    One process at a time makes folders in a parent: a rename takes the place of an empty folder, and would pull it from
    under a process that is about to make its first file there.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(parent, fcntl.LOCK_EX)
        if folder.is_dir():
            return
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        if uid is not None:
            _give(draft, uid)
        draft.chmod(mode)
        draft.rename(folder)
    finally:
        os.close(parent)


def _make_secrets(home: Home) -> None:
    path = home.base / "secrets.json"
    if path.exists() or (home.postgres / "PG_VERSION").exists():  # a made database knows its passwords already
        return
    made = {name: secrets.token_urlsafe(32) for name in ("superuser", "database", "broker")}
    write_private(path, json.dumps(made))


def _give(path: Path, uid: int) -> None:
    if os.geteuid() == 0 and path.stat().st_uid != uid:
        os.chown(path, uid, uid)


def _give_to_owner_of_folder(path: Path) -> None:
    _give(path, path.parent.stat().st_uid)


def _belongs_to_another(folder: Path) -> ServiceError:
    return ServiceError(
        f"The services in {folder} belong to user id {folder.stat().st_uid}. "
        "Run the platform as that user or as root, or give GAUNTLET_VAR another folder."
    )


def _record(home: Home) -> None:
    """Write down what cannot be derived: a moved var/ keeps working, so what lies in it is not recorded by its path."""
    base = None if home.base == services_folder(home.var) else str(home.base)
    sockets = None if home.sockets == home.base / "sockets" else str(home.sockets)
    place = {"base": base, "sockets": sockets, "uid": home.uid, "durable": home.durable}
    write_private(services_folder(home.var) / "place.json", json.dumps(place))


def _say(sentence: str) -> None:
    """Tell the operator where things are; standard error, since a command's output belongs to the command."""
    sys.stderr.write(sentence + "\n")
