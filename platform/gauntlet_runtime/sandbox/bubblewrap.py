"""The backend for one machine without a daemon: namespaces by bubblewrap, limits by control groups.

Started by root no user namespace is made: the program gets a uid of the host that nobody else has. Started by a plain
user, a user namespace stands in for that, and limits for which no control group was delegated are best effort.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from gauntlet_runtime.sandbox import seccomp, uids
from gauntlet_runtime.sandbox.bubblewrap_run import BubblewrapRun
from gauntlet_runtime.sandbox.cgroups import Counters, Hierarchy, find_hierarchy, remove_group
from gauntlet_runtime.sandbox.image_shelf import default_shelf_bytes
from gauntlet_runtime.sandbox.images import InstalledImage, default_images_folder, installed_image
from gauntlet_runtime.sandbox.interface import (
    Enforcement,
    ImageUnavailable,
    Limits,
    Run,
    Sandbox,
    SandboxError,
    SandboxSpec,
    SandboxUnavailable,
)
from gauntlet_runtime.sandbox.launch import Plan, bubblewrap
from gauntlet_runtime.sandbox.launcher import Launcher, find_launcher
from gauntlet_runtime.sandbox.layout import Placed, file_system, place
from gauntlet_runtime.sandbox.open_files import open_files
from gauntlet_runtime.sandbox.records import (
    RunRecord,
    default_state_folder,
    new_run_name,
    read_records,
    remove_record,
    write_record,
)
from gauntlet_runtime.sandbox.submitted_trees import SubmittedTrees
from gauntlet_runtime.sandbox.supervision import Setting

_NAMESPACES = ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup")
_HOST_NAME = "sandbox"
_DATA_FACTOR = 2


class Bubblewrap(Sandbox):
    """See :class:`Sandbox`.

    ``state`` holds records, logs and uid leases of runs: one folder for all workers of a host. ``images`` is where
    `sandbox_images/build.py` installs.
    """

    name = "bubblewrap"

    def __init__(self, *, state: Path | None = None, images: Path | None = None) -> None:
        self._state = (state or default_state_folder()).absolute()
        self._images = images or default_images_folder()
        self._root = os.geteuid() == 0
        self._hierarchy: Hierarchy | None = find_hierarchy()
        self._checked = False

    @property
    def _runs(self) -> Path:
        return self._state / "runs"

    @property
    def _uids(self) -> Path:
        return self._state / "uids"

    def check(self) -> None:
        if self._checked:
            return
        try:
            seccomp.this_architecture()
        except KeyError as error:
            raise SandboxUnavailable(f"bubblewrap: {error.args[0]}") from error
        default_shelf_bytes()  # a wrong setting stops the start, and not the first image of a participant's
        namespaces = _NAMESPACES if self._root else ("--unshare-user", *_NAMESPACES)
        command = [bubblewrap(), *namespaces, "--die-with-parent", "--perms", "0755", "--size", "4096"]
        command += ["--tmpfs", "/", "--ro-bind", "/", "/", "true"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SandboxUnavailable(
                f"bubblewrap cannot make a sandbox here ({done.stderr.strip()}); run the worker as root, or allow "
                "user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, AppArmor), "
                "or use Docker"
            )
        self._checked = True

    def enforcement(self) -> Mapping[str, Enforcement]:
        controllers = self._hierarchy.controllers if self._hierarchy is not None else frozenset()
        kept = {
            "memory": "memory" in controllers,
            "cpus": "cpu" in controllers,
            "processes": "pids" in controllers,
            "output": True,
            "scratch": True,
            "uid": self._root,
            "seccomp": True,
        }
        return {name: Enforcement.ENFORCED if kept[name] else Enforcement.BEST_EFFORT for name in kept}

    def image_digest(self, image: str) -> str:
        return installed_image(image, folder=self._images).digest

    def submitted_image(self, archive: Path, *, digest: str) -> AbstractContextManager[str]:
        return SubmittedTrees(self._images).borrowed(archive, digest=digest)

    def prepare(self, spec: SandboxSpec) -> Run:
        self.check()
        image = installed_image(spec.image, folder=self._images)
        launcher = find_launcher(self._images) if image.submitted else None
        if launcher is None:
            _check_starters(image)
        mounts = place(spec.mounts, room=spec.limits.output, foreign_uid=self._root)
        run = new_run_name(spec.label)
        lease = uids.lease(self._uids, run=run) if self._root else None
        groups = self._hierarchy.folders(run) if self._hierarchy is not None else []
        uid = lease.uid if lease is not None else os.geteuid()
        record = RunRecord(
            run=run,
            label=spec.label,
            owner=spec.owner,
            uid=lease.uid if lease is not None else None,
            groups=tuple(str(folder) for folder in groups),
        )

        def release() -> None:
            for folder in groups:
                remove_group(folder)
            if lease is not None:
                lease.release()
            remove_record(self._runs, run)

        try:
            folder = write_record(self._runs, record)
            if self._hierarchy is not None:
                self._hierarchy.make(run, spec.limits)
            plan = Plan(
                arguments=self._arguments(spec, image, mounts, launcher),
                become=_become(uid, launcher) if self._root else (),
                shell=["/usr/bin/sh"] if launcher is None else launcher.shell(),
                program=spec.command,
                environment={**image.environment, **spec.environment},
                seccomp=seccomp.bpf(seccomp.this_architecture()),
                join=self._join(run, spec.limits),
                counters=self._counters(run),
                open_files=open_files(spec.limits.processes),
                resident_limit=None if self._enforces("memory") else spec.limits.memory,
            )
        except OSError as error:
            release()
            raise SandboxError(f"cannot prepare the sandbox: {error}") from error
        except BaseException:
            release()
            raise
        owner = uid if self._root else None
        setting = Setting(uid=uid, owner=owner, folder=folder, mounts=mounts, release=release)
        return BubblewrapRun(spec, setting, plan)

    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        reaped = []
        for record in read_records(self._runs):
            if is_alive(record.owner):
                continue
            # Its processes died with their supervisor; where one is left it is in the group.
            for folder in record.groups:
                remove_group(Path(folder))
            if record.uid is not None:
                uids.forget(self._uids, uid=record.uid, run=record.run)
            remove_record(self._runs, record.run)
            reaped.append(record.label)
        uids.forget_strays(self._uids, has_record=lambda run: (self._runs / run).exists())
        return reaped + SubmittedTrees(self._images).reap(is_alive)

    def _enforces(self, controller: str) -> bool:
        return self._hierarchy is not None and controller in self._hierarchy.controllers

    def _arguments(
        self, spec: SandboxSpec, image: InstalledImage, mounts: list[Placed], launcher: Launcher | None
    ) -> list[str]:
        arguments = [*_NAMESPACES, "--die-with-parent", "--new-session", "--hostname", _HOST_NAME, "--clearenv"]
        arguments += ["--cap-drop", "ALL"]
        if self._root:
            # setpriv needs these three to become the sandbox's uid, and drops them with it.
            arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        else:
            arguments += ["--unshare-user", "--uid", str(os.geteuid()), "--gid", str(os.getegid())]
        first = launcher.arguments() if launcher is not None else ()
        arguments += file_system(image.rootfs, mounts, spec.limits, first=first)
        return [*arguments, "--chdir", spec.working_directory]

    def _join(self, run: str, limits: Limits) -> Callable[[int], None]:
        def join(pid: int) -> None:
            if self._hierarchy is not None:
                self._hierarchy.add(run, pid)
            if not self._enforces("pids"):
                most = limits.processes + 1  # and bubblewrap's own
                resource.prlimit(pid, resource.RLIMIT_NPROC, (most, most))
            if not self._enforces("memory"):
                # The supervisor looks at the memory now and then; this is for what grows faster than it looks.
                most = _DATA_FACTOR * limits.memory
                resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))

        return join

    def _counters(self, run: str) -> Callable[[], Counters]:
        def counters() -> Counters:
            return self._hierarchy.counters(run) if self._hierarchy is not None else Counters()

        return counters


def _check_starters(image: InstalledImage) -> None:
    """An operator's image brings what starts a program in it."""
    for program in ("sh", "setpriv"):
        if not (image.rootfs / "usr/bin" / program).exists():
            raise ImageUnavailable(f"image {image.name} has no /usr/bin/{program}, which is needed to start in it")


def _become(uid: int, launcher: Launcher | None) -> list[str]:
    """The command that turns root without capabilities into the sandbox's uid, for good."""
    if launcher is not None:
        return launcher.become(uid)
    words = ["/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--inh-caps=-all"]
    return [*words, "--bounding-set=-all", "--no-new-privs", "--"]
