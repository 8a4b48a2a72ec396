"""bubblewrap as a plain user: the same isolation by a user namespace, and limits that are said to be best effort."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
UID = 54321

PROGRAM = """
import json, sys
from pathlib import Path
from gauntlet_runtime.sandbox import open_sandbox, this_process, is_alive
from gauntlet_runtime.sandbox.interface import Limits, Mount, SandboxSpec

work, images = Path(sys.argv[1]), Path(sys.argv[2])
sandbox = open_sandbox("bubblewrap", state=work / "state", images=images)
print(json.dumps({name: str(value) for name, value in sandbox.enforcement().items()}))

def run(program, port=None, **fields):
    spec = SandboxSpec(image="gauntlet/agent", command=["python", "-c", program], label="plain",
                       owner=this_process(), **fields)
    with sandbox.prepare(spec) as run:
        door = run.listen(port) if port else None
        run.start()
        verdict = run.wait()
        files = 0
        if spec.mounts:
            files = run.collect("/app/output", work / "out").files
        print(json.dumps([verdict.cause, verdict.exit_code, run.log_tail("stdout").decode(), files, verdict.disk_full]))

run("import os; print(os.getuid(), open('/proc/self/status').read().count('CapEff:\\t0000000000000000'))")
run("import socket; socket.create_connection(('127.0.0.1', 8080)); print('connected')", port=8080)
run("blocks = [bytearray(1 << 20) for _ in range(4000)]; import time; time.sleep(60)",
    limits=Limits(memory=100 << 20, seconds=30))
run("import os, time\\ntry:\\n    for _ in range(60): os.fork() or time.sleep(60)\\n"
    "except OSError as error: print(error.errno)", limits=Limits(processes=20))
run("import os\\nopen('/app/output/x','w').write('x')\\nos.symlink('/etc/passwd','/app/output/y')\\n"
    "open('/app/output/big', 'wb', buffering=0).write(bytes(4 << 20))",
    mounts=[Mount(target="/app/output", writable=True)], limits=Limits(output=1 << 20))
print(json.dumps(sandbox.reap(is_alive)))
"""


def _as_plain_user(interpreter: str, program: str, *arguments: str) -> list[str]:
    become = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
    return [*become, interpreter, "-c", program, *arguments]


def _interpreter() -> str:
    """One that a plain user can reach, also from there on: this one may lie in a folder that is root's alone."""
    again = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    for candidate in (sys.executable, "/usr/bin/python3.11"):
        done = subprocess.run(_as_plain_user(candidate, again), capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    raise AssertionError("there is no Python 3.11 that a plain user can start; apt-get install -y python3")


@pytest.mark.conformance
def test_a_plain_user_gets_a_sandbox_too(images_folder):
    with tempfile.TemporaryDirectory(prefix="gauntlet-plain-") as folder:  # pytest's own folders are root's alone
        os.chown(folder, UID, UID)
        lines = _run_as_plain_user(Path(folder), images_folder)
    enforcement, identity, door, memory, processes, output, reaped = lines
    assert enforcement["memory"] == enforcement["cpus"] == enforcement["uid"] == "best effort"
    assert enforcement["seccomp"] == enforcement["output"] == "enforced"
    assert identity[:3] == ["exited", 0, f"{UID} 1\n"]
    assert door[:3] == ["exited", 0, "connected\n"]
    assert memory[0] == "memory_limit"
    assert processes[2] == "11\n"
    assert output[3:] == [2, True]
    assert reaped == []


def _run_as_plain_user(home: Path, images: Path) -> list[Any]:
    """In a mount namespace of its own, where what is needed lies in a folder that everybody may enter.

    The checkout can be in root's home.
    """
    sources = [REPOSITORY / "platform", REPOSITORY / "scoring_programs", *map(Path, site.getsitepackages()), images]
    places = [home / str(number) for number in range(len(sources))]
    for place in places:
        place.mkdir()
    binds = [f"mount --bind {source} {place}" for source, place in zip(sources, places, strict=True)]
    paths = ":".join(str(place) for place in places[:-1])
    command = _as_plain_user(_interpreter(), PROGRAM, str(home), str(places[-1]))
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", " && ".join([*binds, 'exec "$@"']), "sh", *command],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths},
        cwd="/",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
