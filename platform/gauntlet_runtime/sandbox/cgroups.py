"""Control groups: limits that the kernel enforces, and the counters that a verdict comes from. Version 1 and 2.

A run's group lies under a parent of ours, named "gauntlet", below the group that this process is in, so that limits on
the worker hold for its sandboxes too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet_runtime.sandbox.interface import Limits, SandboxGone

ROOT = Path("/sys/fs/cgroup")
OURS = "gauntlet"
_LEAF = "worker"  # for our own processes, where a group with some may have none below it
CPU_PERIOD = 100_000  # microseconds, the kernel's default
_OWN_PROCESSES = 1  # bubblewrap's init counts among the group's processes, and is none of the program's
_REMOVAL_SECONDS = 5.0
_MAKE_ATTEMPTS = 100
_MET = 0.95  # of the memory limit: version 1 does not say who ran out, and the kernel counts in batches
_V1_TREES = ("memory", "pids", "cpu", "cpuacct")


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What the kernel counted for one run. None: this host does not count it."""

    oom_kills: int = 0
    process_limit_hits: int = 0
    memory_peak: int | None = None
    cpu_seconds: float | None = None


class Hierarchy(ABC):
    """Where this process may make groups. One for the whole host, or one for each controller."""

    controllers: frozenset[str]  # of "memory", "pids" and "cpu", those that can be used

    @abstractmethod
    def folders(self, run: str) -> list[Path]:
        """The folders that make up the group of a run."""

    @abstractmethod
    def make(self, run: str, limits: Limits) -> None:
        """Make the group and set its limits."""

    @abstractmethod
    def counters(self, run: str) -> Counters:
        """Read the counters.

        Raises:
            SandboxGone: the group is not there any more, or processes of it were killed for memory that others used.
        """

    def add(self, run: str, pid: int) -> None:
        """Move a process into the group; its later children follow."""
        for folder in self.folders(run):
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    @abstractmethod
    def bound_tcp(self, run: str, size: int) -> None:
        """Let the buffers of TCP connections have ``size`` bytes, where they do not count towards the memory limit."""

    def remove(self, run: str) -> None:
        """Kill what is left in the group and remove it."""
        for folder in self.folders(run):
            remove_group(folder)


def _make_group(folder: Path) -> None:
    """Make a group and the parent of ours, which goes away with its last group."""
    for _ in range(_MAKE_ATTEMPTS):
        folder.parent.mkdir(exist_ok=True)
        try:
            folder.mkdir()
            return
        except FileNotFoundError:
            continue  # another process has just removed the empty parent
    raise FileNotFoundError(errno.ENOENT, "the parent group keeps disappearing", str(folder))


def remove_group(folder: Path) -> None:
    """Kill every process of the group, again and again until it is empty, and remove it. Missing is fine.

    Under version 1 the parent goes with its last group: whoever made the group above it can then remove that.

    Raises:
        OSError: it could not be emptied.
    """
    end = time.monotonic() + _REMOVAL_SECONDS
    while True:
        try:
            folder.rmdir()
            if folder.parent.name == OURS and not (folder.parent / "cgroup.subtree_control").exists():
                with contextlib.suppress(OSError):
                    folder.parent.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            # A process that was killed leaves the group some milliseconds later.
            if error.errno not in (errno.EBUSY, errno.ENOTEMPTY) or time.monotonic() > end:
                raise
        for pid in processes_of(folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.002)


def processes_of(folder: Path) -> list[int]:
    """The processes of a group."""
    try:
        return [int(word) for word in (folder / "cgroup.procs").read_text(encoding="ascii").split()]
    except FileNotFoundError:
        return []


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value), encoding="ascii")


def _read(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))


def _most_v1(memory: Path, peak: int) -> int:
    """The most that the group had, swap included: a limit on both together is met by their sum."""
    with_swap = memory / "memory.memsw.max_usage_in_bytes"
    return max(peak, _read(with_swap)) if with_swap.exists() else peak


def _starved(run: str, peak: int | None) -> SandboxGone:
    """The kernel's choice among the host's processes, or those of the worker's group, fell on the sandbox."""
    had = "" if peak is None else f"; it had {peak >> 20} MiB at most, which is within its limit"
    return SandboxGone(f"the host, or the control group of its workers, ran out of memory: {run} lost processes{had}")


def _keyed(path: Path) -> Mapping[str, int]:
    """A file of "name number" lines."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2}


class HierarchyV1(Hierarchy):
    """cgroup v1: a tree for each controller."""

    def __init__(self, parents: Mapping[str, Path]) -> None:
        self._parents = parents  # controller -> our parent group in its tree
        self.controllers = frozenset(parents) & {"memory", "pids", "cpu"}

    def folders(self, run: str) -> list[Path]:
        # Two controllers can share a tree (cpu,cpuacct).
        return list(dict.fromkeys(parent / run for parent in self._parents.values()))

    def make(self, run: str, limits: Limits) -> None:
        for folder in self.folders(run):
            _make_group(folder)
        if "memory" in self._parents:
            memory = self._parents["memory"] / run
            _write(memory / "memory.limit_in_bytes", limits.memory)
            self.bound_tcp(run, limits.memory)
            with_swap = memory / "memory.memsw.limit_in_bytes"
            if with_swap.exists():
                _write(with_swap, limits.memory)
        if "pids" in self._parents:
            _write(self._parents["pids"] / run / "pids.max", limits.processes + _OWN_PROCESSES)
        if "cpu" in self._parents:
            cpu = self._parents["cpu"] / run
            _write(cpu / "cpu.cfs_period_us", CPU_PERIOD)
            _write(cpu / "cpu.cfs_quota_us", int(limits.cpus * CPU_PERIOD))

    def bound_tcp(self, run: str, size: int) -> None:
        if "memory" in self._parents:
            limit = self._parents["memory"] / run / "memory.kmem.tcp.limit_in_bytes"
            if limit.exists():
                _write(limit, size)

    def counters(self, run: str) -> Counters:
        oom_kills, hits, peak, cpu_seconds = 0, 0, None, None
        try:
            if "memory" in self._parents:
                memory = self._parents["memory"] / run
                # memory.failcnt is no measure: it stays 0 where the limit with swap is the one that is hit.
                oom_kills = _keyed(memory / "memory.oom_control")["oom_kill"]
                peak = _read(memory / "memory.max_usage_in_bytes")
                if oom_kills and _most_v1(memory, peak) < _MET * _read(memory / "memory.limit_in_bytes"):
                    raise _starved(run, peak)
            if "pids" in self._parents:
                hits = _keyed(self._parents["pids"] / run / "pids.events")["max"]
            if "cpuacct" in self._parents:
                usage = (self._parents["cpuacct"] / run / "cpuacct.usage").read_text(encoding="ascii")
                cpu_seconds = int(usage) / 1e9
        except FileNotFoundError as error:
            raise SandboxGone(f"the control group of {run} disappeared") from error
        return Counters(oom_kills=oom_kills, process_limit_hits=hits, memory_peak=peak, cpu_seconds=cpu_seconds)


class HierarchyV2(Hierarchy):
    """cgroup v2: one tree for everything."""

    def __init__(self, parent: Path, controllers: frozenset[str]) -> None:
        self._parent = parent
        self.controllers = controllers

    def folders(self, run: str) -> list[Path]:
        return [self._parent / run]

    def make(self, run: str, limits: Limits) -> None:
        folder = self._parent / run
        folder.mkdir()
        if "memory" in self.controllers:
            _write(folder / "memory.max", limits.memory)
            if (folder / "memory.swap.max").exists():
                _write(folder / "memory.swap.max", 0)
        if "pids" in self.controllers:
            _write(folder / "pids.max", limits.processes + _OWN_PROCESSES)
        if "cpu" in self.controllers:
            _write(folder / "cpu.max", f"{int(limits.cpus * CPU_PERIOD)} {CPU_PERIOD}")

    def bound_tcp(self, run: str, size: int) -> None:
        """Nothing to do: under version 2 they count as memory."""

    def counters(self, run: str) -> Counters:
        folder = self._parent / run
        oom_kills, hits, peak = 0, 0, None
        try:
            if "memory" in self.controllers:
                events = _keyed(folder / "memory.events")
                oom_kills = events["oom_kill"]
                if (folder / "memory.peak").exists():  # since Linux 5.19
                    peak = _read(folder / "memory.peak")
                if oom_kills and not events["oom"]:  # how often the group's own limit left no way out
                    raise _starved(run, peak)
            if "pids" in self.controllers:
                hits = _keyed(folder / "pids.events")["max"]
            cpu_seconds = _keyed(folder / "cpu.stat")["usage_usec"] / 1e6
        except FileNotFoundError as error:
            raise SandboxGone(f"the control group of {run} disappeared") from error
        return Counters(oom_kills=oom_kills, process_limit_hits=hits, memory_peak=peak, cpu_seconds=cpu_seconds)


def find_hierarchy(root: Path = ROOT, own: Path = Path("/proc/self/cgroup")) -> Hierarchy | None:
    """The place for this process's groups, made ready; None where it may make none."""
    groups = _own_groups(own.read_text(encoding="ascii"))
    parents: dict[str, Path] = {}
    for controller in _V1_TREES:
        if controller in groups:
            parent = _ready_v1(root, controller, groups[controller])
            if parent is not None:
                parents[controller] = parent
    if parents:
        return HierarchyV1(parents)
    if "" in groups and (root / "cgroup.controllers").exists():
        return _ready_v2(root, groups[""])
    return None


def _own_groups(text: str) -> dict[str, str]:
    """Controller -> path of our group in its tree; "" is version 2."""
    groups = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _ready_v1(root: Path, controller: str, path: str) -> Path | None:
    above = root / controller / path.lstrip("/")
    return above / OURS if above.is_dir() and os.access(above, os.W_OK) else None


_WANTED: Sequence[str] = ("memory", "pids", "cpu")


def _ready_v2(root: Path, path: str) -> Hierarchy | None:
    """Make the parent group and let the controllers through to it.

    A group that has processes cannot pass controllers on (except the host's root), so as a plain user, whose own group
    was delegated to it, we move our processes into a leaf beside the parent. Root makes its parent at the top, as
    Docker does; in a container the top is a group as others, and what runs there is moved too.
    """
    above = root if os.geteuid() == 0 else root / path.lstrip("/")
    if above.name == _LEAF and (above.parent / OURS).is_dir():  # where an earlier call moved us
        above = above.parent
    parent = above / OURS
    try:
        parent.mkdir(exist_ok=True)
        if above != root or (root / "cgroup.type").exists():  # which the host's root has not
            _move_processes(above, above / _LEAF)
        for folder in (above, parent):
            available = (folder / "cgroup.controllers").read_text(encoding="ascii").split()
            for controller in _WANTED:
                if controller in available:
                    _write(folder / "cgroup.subtree_control", f"+{controller}")
    except OSError:
        return None
    return HierarchyV2(parent, frozenset((parent / "cgroup.subtree_control").read_text(encoding="ascii").split()))


def _move_processes(group: Path, leaf: Path) -> None:
    """Move what is in the group into one below it: also what was started, and not what has ended, meanwhile."""
    leaf.mkdir(exist_ok=True)
    for _ in range(_MAKE_ATTEMPTS):
        pids = processes_of(group)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                _write(leaf / "cgroup.procs", pid)


def group_of(pid: int, root: Path = ROOT) -> tuple[Hierarchy, str]:
    """The group of somebody else's making that a process is in, for reading its counters."""
    return group_in(Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii"), root)


def group_in(told: str, root: Path) -> tuple[Hierarchy, str]:
    """The group that a process is in, as its /proc/PID/cgroup tells it."""
    groups = _own_groups(told)
    folders = {name: root / name / path.lstrip("/") for name, path in groups.items() if name in _V1_TREES}
    if folders:
        # Engines name the group alike in every tree.
        run = next(iter(folders.values())).name
        return HierarchyV1({name: folder.parent for name, folder in folders.items()}), run
    folder = root / groups[""].lstrip("/")
    controllers = frozenset((folder / "cgroup.controllers").read_text(encoding="ascii").split())
    return HierarchyV2(folder.parent, controllers), folder.name
