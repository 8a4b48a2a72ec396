"""The embedded Valkey: the doorbell of the workers. It keeps nothing, so starting it again is all that recovery is."""

from __future__ import annotations

import signal
from typing import Final
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from . import processes
from .binaries import valkey_server
from .errors import ServiceError
from .home import Home, Secrets

#: How long a PING may take to be answered by a server that is well, in seconds.
_ANSWER_SECONDS = 5.0
#: How long the server may take to end, in seconds: it has nothing to save.
_PATIENCE = 5.0
#: Written to the server's standard input, so that the password is neither in a file more nor in the list of processes.
_CONFIGURATION: Final = """
port 0
unixsocket "{socket}"
unixsocketperm 700
requirepass "{password}"
daemonize no
save ""
appendonly no
maxmemory 64mb
maxmemory-policy noeviction
always-show-logo no
loglevel notice
"""


def url(home: Home, passwords: Secrets) -> str:
    """The broker's address, as Celery reads it."""
    return f"redis+socket://:{passwords.broker}@{quote(str(home.valkey_socket))}"


def answers(home: Home, passwords: Secrets) -> bool:
    """Whether the server answers a PING under the recorded password.

    Raises:
        ServiceError: a live server refuses the password.
    """
    client = redis.Redis(
        unix_socket_path=str(home.valkey_socket),
        password=passwords.broker,
        socket_timeout=_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),  # the default asks a dead server ten times, over seconds
    )
    try:
        return bool(client.ping())
    except redis.AuthenticationError as error:
        raise ServiceError(
            f"Valkey at {home.valkey_socket} refuses the password kept in {home.base / 'secrets.json'}"
        ) from error
    except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
        return False
    finally:
        client.close()


def accepts(home: Home) -> bool:
    """Whether a process listens on the socket: the cheap check, without a query."""
    return processes.accepts(home.valkey_socket)


def ensure(home: Home, passwords: Secrets) -> None:
    """Adopt a live server, or replace a dead one. The caller holds the lock.

    Raises:
        ServiceError: the server cannot be started.
    """
    if answers(home, passwords):
        return
    stop(home)
    configuration = _CONFIGURATION.format(socket=home.valkey_socket, password=passwords.broker)
    processes.start(
        processes.Program(
            command=[str(valkey_server(home)), "-"],
            folder=home.valkey,
            uid=home.uid,
            log=home.base / "valkey.log",
            standard_input=configuration.encode(),
        ),
        lambda: answers(home, passwords),
    )


def stop(home: Home) -> None:
    """End the server; what it holds is only rings that come again."""
    processes.end(home.valkey, signal.SIGTERM, patience=_PATIENCE)


def process_id(home: Home) -> int | None:
    """The process id of the live server, or None."""
    return next((p.pid for p in processes.running_in(home.valkey)), None)
