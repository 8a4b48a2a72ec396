"""The embedded PostgreSQL: made once, started when nothing answers, stopped when asked."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg
from psycopg import sql

from . import processes
from .binaries import postgres_folder
from .errors import ServiceError
from .home import POSTGRES_SOCKET, Home, Secrets, write_private

DATABASE: Final = "gauntlet"
ROLE: Final = "gauntlet"
_SUPERUSER: Final = "postgres"
#: How long a query may take to be answered by a server that is well; libpq takes whole seconds, 2 at least.
_ANSWER_SECONDS = 5
#: How long a server that is there but refuses connections may go on so before it is replaced, in seconds.
_PATIENCE = 5.0
#: What PostgreSQL says while it recovers or starts: wait, it is alive. (lc_messages keeps its messages in English.)
_STARTING: Final = (
    "the database system is starting up",
    "the database system is not yet accepting connections",
    "the database system is in recovery mode",
)
#: An answer that comes from a live server, though it is a refusal.
_FULL: Final = ("too many clients already", "remaining connection slots are reserved", "too many connections for role")
#: Small when idle, for a machine of two cores and little memory: each line differs from PostgreSQL's default.
_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "max_worker_processes": "2",
    "max_parallel_workers": "0",  # parallel queries would take shared memory that containers give sparingly
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",  # no standing input/output processes
    "jit": "off",
    "wal_level": "minimal",  # nothing replicates from it; backups are dumps
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "idle_in_transaction_session_timeout": "600000",
}
# The host may not crash, but the server may: what was committed is with the kernel, since commits stay synchronous.
_NOT_DURABLE: Final = {"fsync": "off", "full_page_writes": "off"}


def url(home: Home, passwords: Secrets) -> str:
    """The database's address, as libpq and django-environ both read it (the socket's folder is a parameter)."""
    return f"postgresql://{ROLE}:{passwords.database}@/{DATABASE}?host={quote(str(home.sockets), safe='')}"


def answers(home: Home, passwords: Secrets) -> bool:
    """Whether the platform's own role gets a query answered."""
    try:
        with psycopg.connect(url(home, passwords), connect_timeout=_ANSWER_SECONDS, autocommit=True) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError as error:
        return any(words in str(error) for words in _FULL)


def accepts(home: Home) -> bool:
    """Whether a process listens on the socket: the cheap check, without a query."""
    return processes.accepts(home.postgres_socket)


def ensure(home: Home, passwords: Secrets) -> None:
    """Adopt a live server, or replace a dead one. The caller holds the lock.

    Raises:
        ServiceError: the server cannot be started, or does not know its own password any more.
    """
    _remove_drafts(home)
    if not (home.postgres / "PG_VERSION").exists():
        _initialise(home, passwords)
    if not _wait_for_live(home, passwords):
        stop(home, patience=_PATIENCE)
        _start(home, passwords)
    _create_database(home, passwords)
    if not answers(home, passwords):
        raise ServiceError(f"PostgreSQL runs but does not answer. Its log ends:\n{processes.log_end(_log(home))}")


def stop(home: Home, *, patience: float = processes.STOP_SECONDS) -> None:
    """Stop the server in an orderly way (its clients are disconnected), or remove what a killed one left behind."""
    processes.end(home.postgres, signal.SIGINT, first=_postmaster(home), patience=patience)
    # With nothing alive in the folder these name a corpse, or a stranger that has its number now. PostgreSQL would
    # refuse to start beside either.
    (home.postgres / "postmaster.pid").unlink(missing_ok=True)
    home.postgres_socket.with_name(f"{POSTGRES_SOCKET}.lock").unlink(missing_ok=True)


def process_id(home: Home) -> int | None:
    """The process id of the live server, or None."""
    return next(iter(_postmaster(home)), None)


def _log(home: Home) -> Path:
    return home.base / "postgres.log"


def _postmaster(home: Home) -> list[int]:
    """The main process, out of those that really run in the data folder."""
    try:
        recorded = int((home.postgres / "postmaster.pid").read_bytes().split(b"\n", 1)[0])  # below it is a path
    except (FileNotFoundError, ValueError):
        return []
    return [p.pid for p in processes.running_in(home.postgres) if p.pid == recorded]


def _wait_for_live(home: Home, passwords: Secrets) -> bool:
    """Whether a server that is already there answers, now or (while it recovers) soon."""
    begun = time.monotonic()
    while _postmaster(home):
        state = _state(home, passwords)
        if state == "alive":
            return True
        if time.monotonic() - begun > (processes.START_SECONDS if state == "starting" else _PATIENCE):
            return False
        time.sleep(processes.PAUSE)
    return False


def _state(home: Home, passwords: Secrets) -> str:
    try:
        with _as_superuser(home, passwords, "postgres"):
            return "alive"
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            raise ServiceError(
                f"PostgreSQL in {home.postgres} refuses the password kept in {home.base / 'secrets.json'}: "
                "restore that file from a backup"
            ) from error
        if any(words in str(error) for words in _FULL):
            return "alive"
        return "starting" if any(words in str(error) for words in _STARTING) else "silent"


def _as_superuser(home: Home, passwords: Secrets, database: str) -> psycopg.Connection:
    return psycopg.connect(
        host=str(home.sockets),
        user=_SUPERUSER,
        password=passwords.superuser,
        dbname=database,
        autocommit=True,
        connect_timeout=_ANSWER_SECONDS,
    )


def _start(home: Home, passwords: Secrets) -> None:
    settings = _SETTINGS | ({} if home.durable else _NOT_DURABLE) | {"unix_socket_directories": _quoted(home.sockets)}
    command = [str(postgres_folder(home) / "postgres"), "-D", str(home.postgres)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    processes.start(
        processes.Program(command=command, folder=home.postgres, uid=home.uid, log=_log(home)),
        lambda: _state(home, passwords) == "alive",
    )


def _quoted(folder: Path) -> str:
    """`folder` as one element of a PostgreSQL list setting, which a comma or a space would otherwise cut."""
    return '"' + str(folder).replace('"', '""') + '"'


def _initialise(home: Home, passwords: Secrets) -> None:
    """Make the data folder under another name and rename it: an interruption leaves nothing that looks finished."""
    draft = Path(tempfile.mkdtemp(prefix="initdb-", dir=home.base))
    # initdb wants an account with a name, and ours is a bare number: it runs as `nobody`, in a folder that is handed
    # over afterwards.
    uid = home.uid if os.geteuid() == home.uid else pwd.getpwnam("nobody").pw_uid
    data, password_file = draft / "data", draft / "password"
    write_private(password_file, passwords.superuser, uid=uid)
    if os.geteuid() == 0:
        os.chown(draft, uid, uid)
    done = subprocess.run(
        [
            str(postgres_folder(home) / "initdb"),
            f"--pgdata={data}",
            f"--username={_SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            # The order of texts is PostgreSQL's own and the same on every machine, whatever locales it has.
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *(() if home.durable else ("--no-sync",)),
        ],
        cwd=draft,
        env=processes.environment(),
        capture_output=True,
        text=True,
        umask=0o077,
        **processes.account(uid),  # type: ignore[call-overload]  # the three arguments are optional together
    )
    if done.returncode:
        raise ServiceError(f"initdb failed:\n{done.stdout}{done.stderr}")
    _hand_over(data, home.uid)
    home.postgres.rmdir()
    data.rename(home.postgres)
    shutil.rmtree(draft)


def _remove_drafts(home: Home) -> None:
    """Remove what starts that were killed half way left, with whatever of them still runs: it holds a password."""
    for leftover in home.base.glob("initdb-*"):
        processes.end(leftover, signal.SIGKILL)
        shutil.rmtree(leftover)


def _hand_over(folder: Path, uid: int) -> None:
    if os.geteuid() != 0:
        return
    for parent, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(Path(parent, name), uid, uid, follow_symlinks=False)


def _create_database(home: Home, passwords: Secrets) -> None:
    """Make the platform's role and database where they are missing. The role is no superuser: it may make databases."""
    role, database = sql.Identifier(ROLE), sql.Identifier(DATABASE)
    with _as_superuser(home, passwords, "postgres") as connection:
        if not connection.execute("select 1 from pg_roles where rolname = %s", [ROLE]).fetchone():
            connection.execute(
                sql.SQL("create role {} login createdb password {}").format(role, sql.Literal(passwords.database))
            )
        if not connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone():
            connection.execute(sql.SQL("create database {} owner {}").format(database, role))
