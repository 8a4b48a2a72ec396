"""The loop around an agent: open an episode, solve it, answer, until there is none left."""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final

from gauntlet_agent.episode import Episode, open_next
from gauntlet_agent.errors import EpisodeClosed, GatewayError, GatewayUnreachable
from gauntlet_agent.gateway import Gateway
from gauntlet_agent.tools import load_client_early

GAVE_UP: Final = "solve raised"  # how the note begins that such an episode is closed with
Solve = Callable[[Episode], str | tuple[str, Any] | None]


def run(solve: Solve, *, url: str | None = None, keep_going: bool = True, parallel: int = 1) -> int:
    """Work through all scenarios and return how many were answered by ``solve``.

    Args:
        solve: takes an :class:`Episode`; returns the answer as text, or as ``(text, data)``, or None after having
            called ``episode.answer`` itself
        url: the gateway, where it is not what the sandbox put into ``GAUNTLET_URL``
        keep_going: what happens when ``solve`` raises. The traceback goes to stderr in any case. True: the episode is
            closed with an empty answer and a note, and the next one is opened, so that one bad scenario does not lose
            the others. False: the exception goes up, which ends the program and the episode with it
        parallel: how many scenarios to work on at once, each in a thread; never more than the phase allows
            (``GAUNTLET_PARALLEL_EPISODES``)

    Raises:
        NoGateway: the program does not run inside a sandbox
        GatewayUnreachable: the gateway is gone
        Exception: what ``solve`` raised, when it raised in every single scenario: then the agent is broken, not the
            scenarios, and the program must not end as if all were well
    """
    gateway = Gateway(url)
    load_client_early()
    work = _Work(gateway, solve, keep_going=keep_going)
    allowed = int(os.environ.get("GAUNTLET_PARALLEL_EPISODES", "1"))
    work.go(threads=max(1, min(parallel, allowed)))
    if work.broken is not None and work.solved == 0:
        raise work.broken
    return work.solved


class _Work:
    """The scenarios of one run, shared by its threads."""

    def __init__(self, gateway: Gateway, solve: Solve, *, keep_going: bool) -> None:
        self._gateway = gateway
        self._solve = solve
        self._keep_going = keep_going
        self._lock = threading.Lock()
        self.solved = 0
        self.broken: Exception | None = None  # what the last scenario raised that was given up

    def go(self, threads: int) -> None:
        """Work until no scenario is left; what ends one thread for good goes up at once and ends the program."""
        if threads == 1:
            self._until_none_is_left()
            return
        ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        for number in range(threads):
            threading.Thread(target=self._report, args=(ended,), name=f"episodes-{number}", daemon=True).start()
        for _ in range(threads):
            if (error := ended.get()) is not None:
                raise error

    def _report(self, ended: queue.SimpleQueue[BaseException | None]) -> None:
        try:
            self._until_none_is_left()
        except BaseException as error:  # noqa: BLE001  the main thread raises it
            ended.put(error)
        else:
            ended.put(None)

    def _until_none_is_left(self) -> None:
        while (episode := open_next(self._gateway)) is not None:
            try:
                _deliver(episode, self._solve(episode))
                with self._lock:
                    self.solved += 1
            except GatewayUnreachable:
                raise
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                sys.stderr.flush()
                if not self._keep_going:
                    raise
                self.broken = error
                _give_up(episode, error)
            finally:
                episode.close()


def _deliver(episode: Episode, result: Any) -> None:
    """Send what ``solve`` returned."""
    if result is None and episode.answered:
        return
    if isinstance(result, str):
        episode.answer(result)
    elif isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str):
        episode.answer(result[0], data=result[1])
    else:
        raise TypeError(
            "solve must return the answer as text or as (text, data), or call episode.answer and return None; "
            f"it returned {type(result).__name__}."
        )


def _give_up(episode: Episode, error: Exception) -> None:
    """Close an episode that ``solve`` could not, with the reason in the record."""
    if episode.answered or isinstance(error, EpisodeClosed):
        return
    try:
        episode.note(f"{GAVE_UP} {type(error).__name__}: {error}"[:2000])
        episode.answer("")
    except GatewayError:
        # Its time is up, or its limits are: the gateway closes it by itself.
        return
