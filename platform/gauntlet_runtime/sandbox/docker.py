"""The backend for production: containers."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
from docker.errors import ImageNotFound, NotFound
from docker.types import LogConfig, Mount, Ulimit

from gauntlet_runtime.sandbox import gate, seccomp, uids
from gauntlet_runtime.sandbox.cgroups import CPU_PERIOD, Counters, group_of
from gauntlet_runtime.sandbox.docker_container import ENGINE_ERRORS, Container, ContainerPlan
from gauntlet_runtime.sandbox.docker_images import DockerImages
from gauntlet_runtime.sandbox.docker_run import DockerRun
from gauntlet_runtime.sandbox.docker_spares import Held, Spares, Wanted
from gauntlet_runtime.sandbox.image_shelf import SUBMITTED, default_shelf_bytes
from gauntlet_runtime.sandbox.images import default_images_folder
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
from gauntlet_runtime.sandbox.launcher import Launcher, find_launcher
from gauntlet_runtime.sandbox.layout import SCRATCH, SHARED_MEMORY, Placed, place
from gauntlet_runtime.sandbox.open_files import open_files
from gauntlet_runtime.sandbox.records import (
    RunRecord,
    default_state_folder,
    new_run_name,
    read_records,
    remove_record,
    write_label,
    write_record,
)
from gauntlet_runtime.sandbox.supervision import Setting

_LABEL = "org.gauntlet.run"  # on every container of ours: the run's name
_STATE_LABEL = "org.gauntlet.state"  # whose: workers with another state folder leave it alone
_DIGEST_LABEL = "org.gauntlet.digest"
_TIMEOUT = 60  # seconds that the engine may take to answer

# The holder: waits until its standard input is closed, which happens when the worker closes it or dies. It ignores
# SIGCHLD, so that the kernel clears away the orphans that the program leaves to it.
_HOLDER = ("sh", "-c", "trap '' CHLD; exec cat")
_HOLD_WITHOUT_CAT = ("-c", "trap '' CHLD; while read -r _; do :; done")
_NOBODY = "65534:65534"
_OWN_PROCESSES = 1
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOSTS = "127.0.0.1 localhost\n"
_LEAST_COPY = 1 << 20  # bytes of a folder for what is copied into it
_SPARE = "spare"  # what a container is called that no job has taken yet


class Docker(Sandbox):
    """See :class:`Sandbox`.

    ``state`` holds records, logs and uid leases of runs: one folder for all workers of a host. The worker must be root
    on the engine's own host: it opens the door in a container's network namespace, and reads outputs by descriptor.
    """

    name = "docker"

    def __init__(self, *, state: Path | None = None, images: Path | None = None, runtime: str | None = None) -> None:
        self._runtime = runtime  # None: the engine's default
        self._images = images or default_images_folder()  # Docker keeps its own; these start participants' ones
        self._state = (state or default_state_folder()).absolute()
        self._client: docker.DockerClient | None = None
        self._spares = Spares()

    @property
    def _runs(self) -> Path:
        return self._state / "docker-runs"

    @property
    def _uids(self) -> Path:
        return self._state / "uids"

    def check(self) -> None:
        if os.geteuid() != 0:
            raise SandboxUnavailable("the Docker backend enters containers' namespaces: run the worker as root")
        try:
            seccomp.this_architecture()
        except KeyError as error:
            raise SandboxUnavailable(f"Docker: {error.args[0]}") from error
        default_shelf_bytes()  # a wrong setting stops the start, and not the first image of a participant's
        self._connect()

    def _connect(self) -> docker.DockerClient:
        if self._client is None:
            try:
                client = docker.from_env(timeout=_TIMEOUT)
                # It is on this host, so no proxy. To look for one at each request would be slow, and goes through the
                # environment, which another thread may change meanwhile.
                client.api.trust_env = False
                client.ping()
                runtimes = client.info().get("Runtimes") or {}
            except ENGINE_ERRORS as error:
                raise SandboxUnavailable(
                    f"Docker does not answer ({error}); as root run: apt-get install -y docker.io, and start it, "
                    "or set DOCKER_HOST"
                ) from error
            if self._runtime is not None and self._runtime not in runtimes:
                raise SandboxUnavailable(
                    f"Docker has no container runtime {self._runtime!r}, only {', '.join(sorted(runtimes))}; install "
                    'it and name it under "runtimes" in /etc/docker/daemon.json, or change DOCKER_RUNTIME'
                )
            self._client = client
        return self._client

    def enforcement(self) -> Mapping[str, Enforcement]:
        try:
            info = self._connect().info()
        except ENGINE_ERRORS as error:
            raise SandboxUnavailable(f"Docker went away: {error}") from error
        kept = {
            "memory": bool(info.get("MemoryLimit")),
            "cpus": bool(info.get("CpuCfsQuota")),
            "processes": bool(info.get("PidsLimit")),
            "output": True,
            "scratch": True,
            "uid": True,
            "seccomp": any("seccomp" in option for option in info.get("SecurityOptions") or ()),
        }
        return {name: Enforcement.ENFORCED if kept[name] else Enforcement.BEST_EFFORT for name in kept}

    def image_digest(self, image: str) -> str:
        found = self._image(image)
        return str(found.labels.get(_DIGEST_LABEL) or found.id)

    def _image(self, name: str) -> Any:
        try:
            return self._connect().images.get(_tag(name))
        except ImageNotFound as error:
            raise ImageUnavailable(
                f"image {name} is not in Docker; make it with: python sandbox_images/build.py --docker"
            ) from error
        except ENGINE_ERRORS as error:
            raise SandboxUnavailable(f"Docker went away: {error}") from error

    def submitted_image(self, archive: Path, *, digest: str) -> AbstractContextManager[str]:
        return DockerImages(self._connect(), self._state / "docker-images").borrowed(archive, digest=digest)

    def prepare(self, spec: SandboxSpec) -> Run:
        self.check()
        wanted = self._wanted(spec)
        environment = {**wanted.environment, **spec.environment}
        word = gate.line(environment, program=spec.command, folder=spec.working_directory)
        held = self._spares.take(wanted.shape, wanted.fits)
        if held is None:
            held = self._hold(wanted, label=spec.label)
        else:
            self._rename(held, spec.label)
        setting = Setting(uid=held.uid, owner=held.uid, folder=held.folder, mounts=wanted.mounts, release=held.release)
        return DockerRun(spec, setting, held.container, word=word)

    def expect_another(self, spec: SandboxSpec) -> None:
        with contextlib.suppress(SandboxError):  # whoever prepares one hears of it
            wanted = self._wanted(spec)
            self._spares.expect(wanted.shape, lambda: self._hold(wanted, label=_SPARE))

    def drop_spares(self) -> None:
        self._spares.drop()

    def _wanted(self, spec: SandboxSpec) -> Wanted:
        """What a container for this has to be.

        Raises:
            SandboxUnavailable, ImageUnavailable, SandboxError
        """
        image = self._image(spec.image)
        launcher = find_launcher(self._images) if spec.image.startswith(f"{SUBMITTED}/") else None
        mounts = [
            replace(one, size=_roomy(one.size, room=spec.limits.output)) if one.size else one
            for one in place(spec.mounts, room=spec.limits.output, foreign_uid=True)
        ]
        environment = dict(one.split("=", 1) for one in image.attrs["Config"].get("Env") or () if "=" in one)
        shell = ["sh"] if launcher is None else launcher.shell()

        def plan(run: str, uid: int) -> ContainerPlan:
            container = self._container(spec.limits, str(image.id), mounts, launcher, run=run, uid=uid)
            # What the image sets is the program's: it comes through the gate, and the holder has none of it.
            container["environment"] = [_PATH, *(name for name in environment if name != "PATH")]
            wait = gate.keep_open_files(*open_files(spec.limits.processes)) + gate.WAIT_FOR_A_LINE
            gatekeeper = {"cmd": [*shell, "-c", wait], "user": f"{uid}:{uid}", "workdir": "/"}
            return ContainerPlan(
                container=container,
                gatekeeper={**gatekeeper, "stdin": True},
                mounts=mounts,
                counters=lambda pid: _counters(pid, memory=spec.limits.memory),
            )

        return Wanted(owner=spec.owner, mounts=mounts, environment=environment, plan=plan)

    def _hold(self, wanted: Wanted, *, label: str) -> Held:
        """A container of this shape, up to its gate.

        Raises:
            SandboxError: it cannot be had; nothing of it is left.
        """
        run = new_run_name(label)
        lease = uids.lease(self._uids, run=run)

        def release() -> None:
            lease.release()
            remove_record(self._runs, run)

        try:
            record = RunRecord(run=run, label=label, owner=wanted.owner, uid=lease.uid)
            folder = write_record(self._runs, record)
            container = Container(self._connect(), wanted.plan(run, lease.uid))
        except BaseException as error:
            release()
            if isinstance(error, OSError):
                raise SandboxError(f"cannot prepare the sandbox: {error}") from error
            raise
        return Held(container=container, record=record, folder=folder, uid=lease.uid, release=release)

    def _rename(self, held: Held, label: str) -> None:
        """The reaper calls what it removes by the name of the job that it belonged to."""
        try:
            write_label(self._runs, held.record, label)
        except OSError as error:
            held.close()
            raise SandboxError(f"cannot prepare the sandbox: {error}") from error

    def _container(
        self,
        limits: Limits,
        image: str,
        mounts: Sequence[Placed],
        launcher: Launcher | None,
        *,
        run: str,
        uid: int,
    ) -> dict[str, Any]:
        api = self._connect().api
        scratch, _ = SCRATCH  # /dev/shm is shm_size
        tmpfs = {scratch: f"rw,exec,nosuid,nodev,size={limits.scratch},mode=1777"}
        bound = {"/etc/hosts": self._hosts(), **({} if launcher is None else launcher.mounts())}
        bound |= {str(one.target): one.source for one in mounts if one.source is not None and not one.size}
        for one in mounts:
            if one.size:
                tmpfs[str(one.target)] = f"rw,exec,nosuid,nodev,size={one.size},mode=0755,uid={uid},gid={uid}"
        soft, hard = open_files(limits.processes)
        host_config = api.create_host_config(
            network_mode="none",
            runtime=self._runtime,
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", "seccomp=" + json.dumps(seccomp.docker_profile())],
            mem_limit=limits.memory,
            memswap_limit=limits.memory,  # memory and swap together: no swap
            cpu_period=CPU_PERIOD,  # as nano_cpus more of them than the host has would be refused
            cpu_quota=int(limits.cpus * CPU_PERIOD),
            pids_limit=limits.processes + _OWN_PROCESSES,
            shm_size=min(limits.scratch, SHARED_MEMORY),
            ulimits=[
                Ulimit(name="core", soft=seccomp.CORE_BYTES, hard=seccomp.CORE_BYTES),
                Ulimit(name="nofile", soft=soft, hard=hard),
            ],
            tmpfs=tmpfs,
            mounts=[
                Mount(target=target, source=str(source), type="bind", read_only=True)
                for target, source in bound.items()
            ],
            log_config=LogConfig(type="none"),
            cgroupns="private",
        )
        return {
            "image": image,
            "command": list(_HOLDER) if launcher is None else [*launcher.shell(), *_HOLD_WITHOUT_CAT],
            "entrypoint": [],
            "user": _NOBODY,
            "working_dir": "/",
            "hostname": "sandbox",
            # The runtime makes a network namespace all the same; for a network the engine would start itself twice.
            "network_disabled": True,
            "stdin_open": True,  # and closed for good when the connection that attaches to it ends
            "labels": {_LABEL: run, _STATE_LABEL: str(self._state)},
            "host_config": host_config,
        }

    def _hosts(self) -> Path:
        """What our images say; the engine would hide it under an empty file."""
        file = self._state / "docker-hosts"
        if not file.exists():
            self._state.mkdir(parents=True, exist_ok=True)
            draft = self._state / f".docker-hosts-{os.getpid()}-{threading.get_ident()}"
            draft.write_text(_HOSTS, encoding="ascii")
            draft.chmod(0o644)
            draft.rename(file)
        return file

    def containers(self) -> list[str]:
        try:
            found = self._connect().api.containers(all=True, filters={"label": _LABEL})
        except ENGINE_ERRORS as error:
            raise SandboxUnavailable(f"Docker went away: {error}") from error
        return [container["Labels"][_LABEL] for container in found]

    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        client = self._connect()
        reaped = []
        for record in read_records(self._runs):
            if is_alive(record.owner):
                continue
            ours: dict[str, str | list[str] | bool] = {"label": f"{_LABEL}={record.run}"}
            try:
                # What another reaper removes between the listing and the look at each is no reason to give up.
                for container in client.containers.list(all=True, filters=ours, ignore_removed=True):
                    with contextlib.suppress(NotFound):
                        container.remove(force=True, v=True)
            except ENGINE_ERRORS as error:
                raise SandboxError(f"Docker could not remove what {record.label} left: {error}") from error
            if record.uid is not None:
                uids.forget(self._uids, uid=record.uid, run=record.run)
            remove_record(self._runs, record.run)
            reaped.append(record.label)
        uids.forget_strays(self._uids, has_record=lambda run: (self._runs / run).exists())
        return reaped


def _tag(name: str) -> str:
    """Our images are imported as <name>:current; a reference with a tag or a digest is taken as it is."""
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:current"


def _counters(pid: int, *, memory: int) -> Callable[[], Counters]:
    hierarchy, run = group_of(pid)
    # Most engines have no word for it. A worker that sees the groups only to read them cannot do it for them.
    with contextlib.suppress(OSError):
        hierarchy.bound_tcp(run, memory)
    return lambda: hierarchy.counters(run)


def _roomy(size: int, *, room: int) -> int:
    """A folder's size in steps, beside the room for what is written: inputs of about one size have one shape."""
    copied = size - room
    return size if copied <= 0 else room + max(_LEAST_COPY, 1 << (copied - 1).bit_length())
