"""What only Docker can do to a run: its engine goes away."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxGone, SandboxSpec, SandboxUnavailable


@pytest.mark.conformance
def test_a_stopped_engine_is_not_a_program_that_failed(
    doomed_engine: subprocess.Popen[bytes], state_folder: Path, eventually, processes_with_uid
):
    sandbox = open_sandbox("docker", state=state_folder)
    program = ["sh", "-c", "echo up; sleep 600"]
    spec = SandboxSpec(image="gauntlet/base", command=program, label="test-engine", owner=this_process())
    with sandbox.prepare(spec) as run:
        run.start()
        eventually(lambda: run.log_tail("stdout"))
        doomed_engine.terminate()
        with pytest.raises(SandboxGone):
            run.wait(60)
        assert processes_with_uid(run.uid) == []
        doomed_engine.wait(60)
        with pytest.raises(SandboxError, match="could not remove what test-engine left"):
            sandbox.reap(lambda owner: False)
    with pytest.raises(SandboxUnavailable):
        open_sandbox("docker", state=state_folder)
