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
        told = [verdict.cause, verdict.exit_code, run.log_tail("stdout").decode(), files, verdict.disk_full]
        print(json.dumps([*told, verdict.memory_peak]))

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

ZOO = """
import dataclasses, json, sys
from pathlib import Path
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.zoo.keeper import Keeper
from gauntlet_runtime.zoo.programs import load_zoo
from gauntlet_runtime.zoo.targets import open_targets

work, images, zoo = Path(sys.argv[1]), Path(sys.argv[2]), load_zoo(Path(sys.argv[3]))
sandbox = open_sandbox("bubblewrap", state=work / "state", images=images)
chosen = [one for one in zoo.programs if one.head.without or one.head.needs or one.name == "agent/connects_elsewhere"]
with open_targets() as targets, GatewayPool() as gateways:
    keeper = Keeper(zoo, sandbox=sandbox, state=work / "state", folder=work, targets=targets, gateways=gateways)
    rows = [future.result() for future in keeper.begin(chosen).values()]
    keeper.close()
for row in rows:
    print(json.dumps([row.program, row.got, row.problems, row.lacking]))
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
        lines = _run_as_plain_user(PROGRAM, Path(folder), images_folder)
    enforcement, identity, door, memory, processes, output, reaped = lines
    assert enforcement["memory"] == enforcement["cpus"] == enforcement["uid"] == "best effort"
    assert enforcement["seccomp"] == enforcement["output"] == "enforced"
    assert identity[:3] == ["exited", 0, f"{UID} 1\n"]
    assert door[:3] == ["exited", 0, "connected\n"]
    assert memory[0] == "memory_limit"
    assert memory[5] > 100 << 20
    assert processes[2] == "11\n"
    assert output[3:5] == [2, True]
    assert reaped == []


@pytest.mark.zoo
def test_a_plain_user_s_hostile_programs_get_what_they_declare_for_it(images_folder):
    with tempfile.TemporaryDirectory(prefix="gauntlet-plain-") as folder:
        os.chown(folder, UID, UID)
        rows = _run_as_plain_user(ZOO, Path(folder), images_folder, REPOSITORY / "tests/security/zoo")
    ran = {program: problems for program, _, problems, lacking in rows if not lacking}
    assert ran.keys() >= {"agent/connects_elsewhere", "agent/kills_everybody", "agent/fork_bomb"}
    assert {program: problems for program, problems in ran.items() if problems} == {}
    left_out = {program: (got, lacking) for program, got, _, lacking in rows if lacking}
    assert left_out["agent/memory_by_heap"] == ("not run", ["memory"])


def _run_as_plain_user(program: str, home: Path, *folders: Path) -> list[Any]:
    """In a mount namespace of its own, where what is needed lies in a folder that everybody may enter.

    The checkout can be in root's home. The program is told its home, and where the folders are.
    """
    code = [REPOSITORY / "platform", REPOSITORY / "scoring_programs", *map(Path, site.getsitepackages())]
    sources = [*code, *folders]
    places = [home / str(number) for number in range(len(sources))]
    for place in places:
        place.mkdir()
    binds = [f"mount --bind {source} {place}" for source, place in zip(sources, places, strict=True)]
    paths = ":".join(str(place) for place in places[: len(code)])
    command = _as_plain_user(_interpreter(), program, str(home), *map(str, places[len(code) :]))
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
