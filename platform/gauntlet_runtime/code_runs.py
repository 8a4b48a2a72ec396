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
from gauntlet_runtime.gateway.messages import CodeRan, CodeUnwanted, CodeWanted
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


class _Piece:
    """One piece of code: its sandbox once there is one, and whether anybody still waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: Run | None = None
        self.dropped = False

    def holds(self, run: Run | None) -> bool:
        """Take note of its sandbox, or of its end; False where nobody waits for it any more."""
        with self._lock:
            self._run = run
            return not self.dropped

    def drop(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self.dropped = True
            if self._run is not None:
                self._run.kill()


class CodeRuns:
    """The code runs of one job, each in a thread of its own: a sandbox lives and dies with the thread that made it.

    Args:
        at_once: how many run at the same time; further ones wait
        fail: is told where not the code failed but what runs it
    """

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
        at_once: int,
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
        self._turn = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._closing = False
        self._threads: set[threading.Thread] = set()
        self._pieces: dict[int, _Piece] = {}

    def take(self, notice: CodeWanted | CodeUnwanted) -> None:
        """Run what the gateway laid down, or end what nobody waits for any more; does not wait."""
        if isinstance(notice, CodeUnwanted):
            with self._lock:
                unwanted = self._pieces.get(notice.id)
            if unwanted is not None:
                unwanted.drop()
            return
        piece = _Piece()
        thread = threading.Thread(target=self._serve, args=(notice, piece), name=f"{self._label}-code", daemon=True)
        with self._lock:
            if self._closing:
                return
            self._pieces[notice.id] = piece
            self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError as error:
                self._threads.discard(thread)
                self._fail(SandboxError(f"The code of a tool could not be run: {error}."))

    def _serve(self, wanted: CodeWanted, piece: _Piece) -> None:
        try:
            with self._turn:
                result = self._run(wanted, piece)
            if result is not None:
                path = wanted.folder.with_suffix(".json")
                path.write_text(json.dumps(result), encoding="utf-8")
                self._gateway.send(CodeRan(id=wanted.id, result=path))
        except GatewayLost:
            pass  # its reader tells the job
        except Exception as error:  # noqa: BLE001 - whatever it was, somebody waits for this code
            if not piece.dropped:  # otherwise it was us who took it away
                problem = error if isinstance(error, SandboxError) else SandboxError(f"A tool's code: {error}.")
                self._fail(problem)
        finally:
            shutil.rmtree(wanted.folder, ignore_errors=True)
            with self._lock:
                self._threads.discard(threading.current_thread())
                del self._pieces[wanted.id]

    def _run(self, wanted: CodeWanted, piece: _Piece) -> dict[str, Any] | None:
        """The tool's result, or None where nobody waits for it any more.

        Raises:
            SandboxError
        """
        if piece.dropped:
            return None
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
            if not piece.holds(run):
                return None
            try:
                run.start()
                verdict = run.wait()
            finally:
                piece.holds(None)
            return None if verdict is None or piece.dropped else self._result(run, verdict)

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
            threads, pieces = list(self._threads), list(self._pieces.values())
        for piece in pieces:
            piece.drop()
        for thread in threads:
            thread.join()
