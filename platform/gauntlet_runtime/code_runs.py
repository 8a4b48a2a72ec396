"""Runs the code that an environment's tool takes: each piece in a sandbox of its own, with the task's data read-only.

The environment's own sandbox is no place for it: the code is the agent's, and would reach what the environment keeps.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gauntlet_runtime.environments import BARE_ENVIRONMENT, DATA_FOLDER, PROGRAM_FOLDER
from gauntlet_runtime.gateway.code_bench import PROGRAM_NAME
from gauntlet_runtime.gateway.messages import CodeRan, CodeWanted
from gauntlet_runtime.gateway.pool import GatewayLost, GatewayProcess
from gauntlet_runtime.jobs import CodeToolSpec, EnvironmentSpec, SandboxLimits
from gauntlet_runtime.sandbox.interface import Limits, Mount, Run, Sandbox, SandboxError, SandboxSpec, Verdict
from gauntlet_runtime.verdicts import how_it_ended, limit_hit, limit_sentence, readable, sandbox_limits
from gauntlet_scoring.program_metadata import CodeTool

STREAM_BYTES: Final = 16 << 10  # of what it printed, to the agent: the end of each stream
_LOG_BYTES: Final = 1 << 20  # beyond it the code is ended
_SCRATCH_BYTES: Final = 64 << 20
_PROCESSES: Final = 32


def code_tool_spec(tool: CodeTool) -> CodeToolSpec:
    """A tool that takes code, as an environment's metadata declares it, with the limits of what it runs."""
    limits = SandboxLimits(
        seconds=tool.seconds,
        memory=tool.memory,
        processes=_PROCESSES,
        scratch=_SCRATCH_BYTES,
        output=0,
        log=_LOG_BYTES,
    )
    return CodeToolSpec(name=tool.name, limits=limits)


class CodeRuns:
    """The code runs of one job, each in a thread of its own: a sandbox lives and dies with the thread that made it."""

    def __init__(
        self,
        tool: CodeToolSpec,
        environment: EnvironmentSpec,
        *,
        sandbox: Sandbox,
        data: Path | None,
        owner: str,
        label: str,
        gateway: GatewayProcess,
        fail: Callable[[SandboxError], None],
    ) -> None:
        self._limits: Limits = sandbox_limits(tool.limits)
        self._image = environment.image
        self._sandbox = sandbox
        self._mounts = [] if data is None else [Mount(target=DATA_FOLDER, source=data)]
        self._owner = owner
        self._label = label
        self._gateway = gateway
        self._fail = fail
        self._lock = threading.Lock()
        self._closing = False
        self._threads: set[threading.Thread] = set()
        self._runs: set[Run] = set()

    def take(self, wanted: CodeWanted) -> None:
        """Run what the gateway laid down; does not wait."""
        thread = threading.Thread(target=self._serve, args=(wanted,), name=f"{self._label}-code", daemon=True)
        with self._lock:
            if self._closing:
                return
            self._threads.add(thread)
        thread.start()

    def _serve(self, wanted: CodeWanted) -> None:
        try:
            result = self._run(wanted)
            if result is not None:
                path = wanted.folder.with_suffix(".json")
                path.write_text(json.dumps(result), encoding="utf-8")
                self._gateway.send(CodeRan(id=wanted.id, result=path))
        except SandboxError as error:
            if not self._closing:  # otherwise it was us who took it away
                self._fail(error)
        except GatewayLost:
            pass  # its reader tells the job
        finally:
            shutil.rmtree(wanted.folder, ignore_errors=True)
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _run(self, wanted: CodeWanted) -> dict[str, Any] | None:
        """The tool's result, or None where the job is over.

        Raises:
            SandboxError
        """
        spec = SandboxSpec(
            image=self._image,
            command=["python3", f"{PROGRAM_FOLDER}/{PROGRAM_NAME}"],
            label=f"{self._label}-code-{wanted.id}",
            owner=self._owner,
            environment=BARE_ENVIRONMENT,
            working_directory="/tmp",  # noqa: S108 - the sandbox's own
            mounts=[Mount(target=PROGRAM_FOLDER, source=wanted.folder), *self._mounts],
            limits=self._limits,
        )
        with self._sandbox.prepare(spec) as run:
            with self._lock:
                if self._closing:
                    return None
                self._runs.add(run)
            try:
                run.start()
                verdict = run.wait()
            finally:
                with self._lock:
                    self._runs.discard(run)
            if verdict is None or self._closing:
                return None
            return self._result(run, verdict)

    def _result(self, run: Run, verdict: Verdict) -> dict[str, Any]:
        streams = {name: run.log_tail(name, STREAM_BYTES + 1) for name in ("stdout", "stderr")}
        told: dict[str, Any] = {name: readable(content[-STREAM_BYTES:]) for name, content in streams.items()}
        told["exit_code"] = verdict.exit_code
        told["seconds"] = round(verdict.seconds, 3)
        told["truncated"] = any(len(content) > STREAM_BYTES for content in streams.values())
        code = limit_hit(verdict)
        if code is not None:
            told["stopped"] = limit_sentence(code, verdict, subject="The code", limits=self._limits)
        elif verdict.exit_code is None:
            told["stopped"] = f"The code {how_it_ended(verdict)}."
        text = json.dumps(told, ensure_ascii=False)
        return {
            "content": [{"type": "text", "text": text}],
            "structuredContent": told,
            "isError": not verdict.ok or code is not None,
        }

    def close(self) -> None:
        """End what runs, and wait until nothing of it is left. Idempotent."""
        with self._lock:
            self._closing = True
            threads, runs = list(self._threads), list(self._runs)
        for run in runs:
            run.kill()
        for thread in threads:
            thread.join()
