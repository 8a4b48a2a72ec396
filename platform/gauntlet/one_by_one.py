"""Sweeps take each thing by itself, so that one with which it fails keeps no other waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

import structlog

from gauntlet.away import is_away

log = structlog.get_logger(__name__)
Thing = TypeVar("Thing")

#: So many fail because the database or the storage is away: then all will, each perhaps after its time-out.
_AWAY: Final = 3


def one_by_one(things: Iterable[Thing], do: Callable[[Thing], int]) -> int:
    """Do something with each; return the sum of what comes back. What fails is logged, and the next sweep finds it.

    Raises:
        Exception: the third of those that say that the database or the storage is away.
    """
    done = away = 0
    for thing in things:
        try:
            done += do(thing)
        except Exception as error:
            # Its name alone: what it holds may be somebody's secret.
            log.exception("sweep.failed", doing=_name(do), thing=_name(thing))
            away += is_away(error)
            if away == _AWAY:
                raise
    return done


def every(*steps: Callable[[], object]) -> None:
    """Take every step of a sweep."""
    for step in steps:
        try:
            step()
        except Exception:
            log.exception("sweep.step_failed", step=_name(step))


def _name(thing: object) -> str:
    thing = thing.func if isinstance(thing, partial) else thing
    return str(getattr(thing, "pk", None) or getattr(thing, "__qualname__", None) or thing)
