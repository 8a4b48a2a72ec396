"""Containers that are held for programs that nobody has asked for yet: of a shape that is asked for again and again.

A shape is all that a container is made with: image, limits, what is bound into it, and how large its folders are.
Nothing of a submission is in a spare one: its folders are empty, and what the program is comes through its gate.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from gauntlet_runtime.sandbox.docker_container import Container, ContainerPlan
from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_runtime.sandbox.layout import Placed
from gauntlet_runtime.sandbox.records import RunRecord

_MOST: Final = 2  # at once; as many as a score job runs programs beside each other

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a program's container has to be."""

    owner: str  # see `SandboxSpec.owner`
    mounts: Sequence[Placed]
    environment: Mapping[str, str]  # the image's
    plan: Callable[[str, int], ContainerPlan]  # for a run of this name, with this uid

    @functools.cached_property
    def shape(self) -> str:
        """What two containers have in common of which either will do."""
        plan = self.plan("", 0)
        return json.dumps([self.owner, plan.container, plan.gatekeeper], sort_keys=True)

    def fits(self, held: Held) -> bool:
        """Whether the folders that are bound into it are those that lie in their places now.

        An artifact that was dropped from the cache and fetched again is another folder under the same name.
        """
        anchor = held.container.anchor
        return all(anchor.shows(one.source, str(one.target)) for one in self.mounts if one.source and not one.size)


@dataclass(frozen=True, kw_only=True)
class Held:
    """A container that is held, with what belongs to it on the host."""

    container: Container
    record: RunRecord
    folder: Path
    uid: int
    release: Callable[[], None]  # gives the uid back and removes the record

    def close(self) -> None:
        """Remove all of it, for one that became no run."""
        self.container.end()
        self.container.anchor.close()
        self.release()


class _Making:
    """A spare one, made by a thread of its own."""

    def __init__(self, shape: str, make: Callable[[], Held], *, instead_of: _Making | None) -> None:
        self.shape = shape
        self._make = make
        self._instead_of = instead_of
        self._held: Held | None = None
        self._thread = threading.Thread(target=self._run, name="sandbox-spare", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        if self._instead_of is not None:
            self._instead_of.remove()
        try:
            self._held = self._make()
        except SandboxError as error:  # whoever wants one makes it then, and hears why that does not work
            _log.warning("spare_container_not_made", reason=str(error))

    def wait(self) -> Held | None:
        """The container, or None where it could not be made."""
        self._thread.join()
        return self._held

    def remove(self) -> None:
        """Nobody wanted it."""
        held = self.wait()
        if held is not None:
            held.close()


class Spares:
    """The spare containers of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[str] = deque(maxlen=2 * _MOST)  # shapes that were asked for
        self._spares: list[_Making] = []  # the oldest first

    def expect(self, shape: str, make: Callable[[], Held]) -> None:
        """One of this shape was just taken. Where that happened before, make the next, without waiting for it."""
        with self._lock:
            likely = shape in self._recent
            self._recent.append(shape)
            if not likely:
                return
            instead_of = None
            if len(self._spares) >= _MOST:
                instead_of = next((one for one in self._spares if one.shape != shape), None)
                if instead_of is None:
                    return
                self._spares.remove(instead_of)
            self._spares.append(_Making(shape, make, instead_of=instead_of))

    def take(self, shape: str, fits: Callable[[Held], bool]) -> Held | None:
        """One of this shape that is alive and fits, made or in the making, or None."""
        while True:
            with self._lock:
                found = next((one for one in self._spares if one.shape == shape), None)
                if found is None:
                    return None
                self._spares.remove(found)
            held = found.wait()
            if held is not None and held.container.is_alive and fits(held):
                return held
            if held is not None:
                held.close()

    def drop(self) -> None:
        """Remove them all. Idempotent."""
        with self._lock:
            spares, self._spares = self._spares, []
            self._recent.clear()
        for one in spares:
            one.remove()
