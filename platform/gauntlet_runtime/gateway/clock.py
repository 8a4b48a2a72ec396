"""An episode's clock, which stands still while the agent waits for the platform; and how long it waits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Counts the seconds in which at least one of what it times was under way."""

    def __init__(self) -> None:
        self._total = 0.0
        self._since = 0.0
        self._running = 0

    @property
    def seconds(self) -> float:
        """So far."""
        return self._total + (time.monotonic() - self._since if self._running else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count inside the block; blocks that overlap count once."""
        if self._running == 0:
            self._since = time.monotonic()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if self._running == 0:
                self._total += time.monotonic() - self._since


class EpisodeClock:
    """Counts the seconds that an agent spends on its own; starts at once.

    Requests that overlap stop it once: it goes on when the last of them was answered.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._used = 0.0
        self._since = time.monotonic()
        self._waits = 0

    @property
    def used(self) -> float:
        """Seconds on the clock so far."""
        running = 0.0 if self._waits else time.monotonic() - self._since
        return self._used + running

    @property
    def left(self) -> float:
        """Seconds until the limit, never below 0."""
        return max(0.0, self._seconds - self.used)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stand still inside the block."""
        if self._waits == 0:
            self._used += time.monotonic() - self._since
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if self._waits == 0:
                self._since = time.monotonic()
