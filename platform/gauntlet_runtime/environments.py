"""Keeps a run job's environments alive: starts their sandboxes, hands their pipes to the gateway, starts them again."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from gauntlet_runtime.gateway.messages import EnvironmentDown, EnvironmentUp
from gauntlet_runtime.gateway.pool import GatewayProcess
from gauntlet_runtime.jobs import EnvironmentSpec
from gauntlet_runtime.sandbox.interface import Mount, Run, Sandbox, SandboxError, SandboxSpec, Stdio, Verdict
from gauntlet_runtime.verdicts import how_it_ended, limit_hit, limit_sentence, readable, sandbox_limits

PROGRAM_FOLDER: Final = "/app/program"
DATA_FOLDER: Final = "/app/data"
BARE_ENVIRONMENT: Final = {  # PATH is the image's own
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "LANG": "C.UTF-8",
}
LOG_BYTES: Final = 32 << 10
CHATTER_BYTES: Final = 64 << 20  # on stderr, in a whole job: an environment that logs is not to be ended for it
STARTING_AT_ONCE: Final = len(os.sched_getaffinity(0))  # programs of one job; more would only slow each other
_END_SECONDS: Final = 1.0  # for an environment whose pipe ended to be seen ending
_KILL_SECONDS: Final = 10.0
_STARTS: Final = 3  # how often a program that never answers the handshake is tried


class Environments:
    """The environments of one job. Call it from the thread that owns the job: sandboxes live and die with it."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        *,
        sandbox: Sandbox,
        program: Path,
        data: Path | None,
        owner: str,
        label: str,
        gateway: GatewayProcess,
        fail: Callable[[SandboxError], None],
    ) -> None:
        self._spec = spec
        self._sandbox = sandbox
        self._mounts = [Mount(target=PROGRAM_FOLDER, source=program)]
        if data is not None:
            self._mounts.append(Mount(target=DATA_FOLDER, source=data))
        self._limits = replace(sandbox_limits(spec.limits), log=max(spec.limits.log, CHATTER_BYTES))
        self._owner = owner
        self._label = label
        self._gateway = gateway
        self._fail = fail
        self._runs: dict[int, Run] = {}
        self._failed_starts: dict[int, int] = {}  # in a row, by place
        self._waiting: deque[int] = deque()  # places that have not had a program yet
        self._starting: set[int] = set()
        self.log = ""  # the end of what the lost ones printed on stderr

    def open(self, places: int) -> None:
        """Start a program for each of this many places: the first at once, the others as those before have started.

        So the first episode does not wait until all of them have.

        Raises:
            SandboxError
        """
        self._waiting.extend(range(places))
        self._start_more()

    def ready(self, slot: int) -> None:
        """The gateway was told the tools of this one.

        Raises:
            SandboxError
        """
        self._starting.discard(slot)
        self._start_more()

    def _start_more(self) -> None:
        while self._waiting and len(self._starting) < STARTING_AT_ONCE:
            self._starting.add(self._waiting[0])
            self._start(self._waiting.popleft())

    def _start(self, slot: int) -> None:
        """Start a program for this place and hand its pipes over."""
        run = self._sandbox.prepare(
            SandboxSpec(
                image=self._spec.image,
                command=self._spec.command,
                label=f"{self._label}-environment-{slot}",
                owner=self._owner,
                environment=BARE_ENVIRONMENT,
                working_directory=PROGRAM_FOLDER,
                mounts=self._mounts,
                limits=self._limits,
                stdio=Stdio.PIPES,
            )
        )
        self._runs[slot] = run
        run.start()
        if run.stdin is None or run.stdout is None:
            raise SandboxError("The sandbox gave no pipes for an environment.")
        self._gateway.send(EnvironmentUp(slot=slot), [run.stdin.fileno(), run.stdout.fileno()])
        # The gateway has its own copies now; with ours closed, each side sees the other's end.
        run.stdin.close()
        run.stdout.close()
        threading.Thread(target=self._watch, args=(run,), name=f"{self._label}-environment", daemon=True).start()

    def _watch(self, run: Run) -> None:
        """Somebody has to wait: a sandbox enforces its time and output limits while it is waited for."""
        try:
            run.wait()
        except SandboxError as error:
            if run in list(self._runs.values()):  # otherwise it was us who took it away
                self._fail(error)

    def lost(self, slot: int, *, served: bool) -> None:
        """The gateway could not use this one any more: take it away and start another, or give up.

        Raises:
            SandboxError
        """
        with self._runs.pop(slot) as run:  # which closes it also where its sandbox is gone and `wait` says so
            verdict = run.wait(timeout=_END_SECONDS)  # a kill would hide why, and whose fault, it is ending by itself
            if verdict is None:
                run.kill()
                verdict = run.wait(timeout=_KILL_SECONDS)
            self.log = (self.log + readable(run.log_tail("stderr", LOG_BYTES)))[-LOG_BYTES:]
        failed = self._failed_starts[slot] = 0 if served else self._failed_starts.get(slot, 0) + 1
        if failed < _STARTS:
            self._start(slot)
        else:
            self._gateway.send(EnvironmentDown(slot=slot, message=self._why(verdict)))
            self.ready(slot)

    def _why(self, verdict: Verdict | None) -> str:
        subject = "The competition's environment"
        code = None if verdict is None else limit_hit(verdict)
        if verdict is not None and code is not None:
            said = limit_sentence(code, verdict, subject=subject, limits=self._limits)
        elif verdict is not None and verdict.exit_code is not None:
            said = f"{subject} {how_it_ended(verdict)} while it was starting."
        else:
            said = f"{subject} does not start."
        return f"{said} It was tried {_STARTS} times; its organizer has to look at it."

    def close(self) -> None:
        """End them all. Idempotent."""
        with ExitStack() as stack:
            while self._runs:
                stack.callback(self._runs.popitem()[1].close)
