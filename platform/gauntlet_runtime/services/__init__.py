"""The embedded PostgreSQL and Valkey of an installation that names neither DATABASE_URL nor BROKER_URL.

Web, workers and beat are separate processes; each calls `ensure` when it starts and gets the same two servers,
whoever comes first. The servers belong to none of them: they outlive any process of the platform, and any of them may
be killed at any time. `keep_alive` replaces a server that died; `stop` ends both. Whoever is the last to need them
(``./run demo``, ``./run dev``, a test run) calls `stop`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from . import home as _home
from . import postgres, valkey
from .errors import ServiceError

__all__ = ["ServiceError", "ServiceStatus", "ServiceUrls", "ensure", "keep_alive", "status", "stop"]


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    """Where the services are. The addresses hold passwords and stay out of the representation, and so out of logs."""

    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The process ids of the live servers (None: not running) and where their files are."""

    postgres: int | None
    valkey: int | None
    base: Path | None


def ensure(var: Path, *, durable: bool = True) -> ServiceUrls:
    """The addresses of a PostgreSQL and a Valkey that have just answered a query; starts what does not answer.

    Args:
        var: the folder of the installation's state; made if missing.
        durable: False lets PostgreSQL skip fsync, for data that nobody will miss (tests). Decided when the data folder
            is made, and kept.

    Raises:
        ServiceError: a server cannot be had; the message says why and what to do.
    """
    var = var.resolve()
    known = _home.find(var)
    if known is not None:
        passwords = _home.read_secrets(known)
        if postgres.answers(known, passwords) and valkey.answers(known, passwords):
            return _urls(known, passwords)
    with _home.locked(var):
        place = _home.prepare(var, durable=durable)
        passwords = _home.read_secrets(place)
        postgres.ensure(place, passwords)
        valkey.ensure(place, passwords)
        return _urls(place, passwords)


def keep_alive(var: Path) -> bool:
    """Replace a server that died since `ensure`; True if there was one. Cheap (two connects) while both live."""
    known = _home.find(var.resolve())
    if known is not None and postgres.accepts(known) and valkey.accepts(known):
        return False
    ensure(var)
    return True


def stop(var: Path) -> None:
    """End both servers, in an orderly way, whoever started them. Does nothing where none were ever started."""
    var = var.resolve()
    if _home.find(var) is None:
        return
    with _home.locked(var):
        place = _home.find(var)
        if place is not None:
            valkey.stop(place)
            postgres.stop(place)
            _home.remove_short_sockets(place)


def status(var: Path) -> ServiceStatus:
    """Which servers run. Starts nothing."""
    place = _home.find(var.resolve())
    if place is None:
        return ServiceStatus(postgres=None, valkey=None, base=None)
    return ServiceStatus(postgres=postgres.process_id(place), valkey=valkey.process_id(place), base=place.base)


def _urls(place: _home.Home, passwords: _home.Secrets) -> ServiceUrls:
    return ServiceUrls(database_url=postgres.url(place, passwords), broker_url=valkey.url(place, passwords))
