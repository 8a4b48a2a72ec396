"""Containers that are held for programs that nobody has asked for yet, and what must not be in them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys

import docker
import pytest

from gauntlet_runtime.sandbox import is_alive, open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import Limits, Mount, SandboxError, SandboxSpec

PROGRAM = """\
import os, sys
places = ["/app/program", "/app/input/ref", "/app/output", "/tmp", "/dev/shm"]
print(sys.argv[1], {place: sorted(os.listdir(place)) for place in places}, open("/app/input/ref/truth").read())
for place in ("/app/program", "/app/output", "/tmp", "/dev/shm"):
    open(f"{place}/left-by-{sys.argv[1]}", "w").close()
"""
CLEAN = "{'/app/program': ['score.py'], '/app/input/ref': ['truth'], '/app/output': [], '/tmp': [], '/dev/shm': []}"


@pytest.fixture
def sandbox(docker_engine, state_folder, images_folder):
    made = open_sandbox("docker", state=state_folder, images=images_folder)
    yield made
    made.drop_spares()


@pytest.fixture
def scoring(tmp_path, label):
    """Makes a program of one shape: the same but for its argument."""
    for name, content in {"program/score.py": PROGRAM, "ref/truth": "old"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(content)

    def spec(word: str, **fields: object) -> SandboxSpec:
        return SandboxSpec(
            image="gauntlet/agent",
            command=["python", "score.py", word],
            label=f"{label}-{word}",
            owner=this_process(),
            working_directory="/app/program",
            mounts=[
                Mount(target="/app/program", source=tmp_path / "program", writable=True),
                Mount(target="/app/input/ref", source=tmp_path / "ref"),
                Mount(target="/app/output", writable=True),
            ],
            **fields,  # type: ignore[arg-type]
        )

    return spec


@pytest.fixture
def containers(state_folder):
    def look() -> set[str]:
        with contextlib.closing(docker.from_env()) as client:
            ours = {"label": f"org.gauntlet.state={state_folder}"}
            return {one.id for one in client.containers.list(filters=ours)}

    return look


def _run(sandbox, spec):
    with sandbox.prepare(spec) as run:
        run.start()
        sandbox.expect_another(spec)
        verdict = run.wait(60)
        said = (run.log_tail("stdout") + run.log_tail("stderr")).decode()
    assert verdict is not None
    assert verdict.ok, said
    return run.uid, said


def test_the_second_of_a_shape_has_one_held_for_the_third_with_nothing_of_the_others(
    sandbox, scoring, containers, eventually
):
    uids = [_run(sandbox, scoring("first"))[0]]
    assert containers() == set()
    uids.append(_run(sandbox, scoring("second"))[0])
    held = eventually(containers)
    assert len(held) == 1
    with sandbox.prepare(scoring("third")) as run:
        assert containers() == held
        run.start()
        assert run.wait(60).ok
        assert run.log_tail("stdout").decode() == f"third {CLEAN} old\n"
        assert run.uid not in uids


@pytest.mark.parametrize("other", [{"limits": Limits(memory=512 << 20)}, {"owner": "1:1"}])
def test_a_program_of_another_shape_does_not_get_it(sandbox, scoring, containers, eventually, other):
    for word in ("first", "second"):
        _run(sandbox, scoring(word))
    held = eventually(containers)
    fields = {**vars(scoring("third")), **other}
    with sandbox.prepare(SandboxSpec(**fields)):
        assert containers() > held


def test_one_whose_folders_are_not_those_in_their_places_any_more_is_not_used(sandbox, scoring, tmp_path):
    for word in ("first", "second"):
        _run(sandbox, scoring(word))
    (tmp_path / "ref").rename(tmp_path / "dropped")
    (tmp_path / "ref").mkdir()
    (tmp_path / "ref" / "truth").write_text("new")
    assert _run(sandbox, scoring("third"))[1] == f"third {CLEAN} new\n"


def test_one_that_was_taken_away_costs_nothing_but_its_time(sandbox, scoring, containers, eventually):
    for word in ("first", "second"):
        _run(sandbox, scoring(word))
    [held] = eventually(containers)
    with contextlib.closing(docker.from_env()) as client:
        client.containers.get(held).remove(force=True)
    assert _run(sandbox, scoring("third"))[1] == f"third {CLEAN} old\n"


def test_one_that_cannot_be_made_costs_nothing_at_all(sandbox, scoring, monkeypatch):
    hold = type(sandbox)._hold
    made: list[str] = []

    def fails_for_spares(self, wanted, *, label):
        made.append(label)
        if label == "spare":
            raise SandboxError("no room")
        return hold(self, wanted, label=label)

    monkeypatch.setattr(type(sandbox), "_hold", fails_for_spares)
    for word in ("first", "second", "third"):
        _run(sandbox, scoring(word))
    assert "spare" in made


def test_dropping_them_leaves_nothing(sandbox, scoring, containers, state_folder):
    for word in ("first", "second"):
        _run(sandbox, scoring(word))
    sandbox.drop_spares()
    assert containers() == set()
    assert list(state_folder.glob("docker-runs/*")) == []
    assert [path for path in state_folder.glob("uids/*") if path.stat().st_size] == []


WORKER = """
import sys
from pathlib import Path
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec
sandbox = open_sandbox("docker", state=Path(sys.argv[1]), images=Path(sys.argv[2]))
spec = SandboxSpec(image="gauntlet/agent", command=["true"], label="gone", owner=this_process())
for _ in range(2):
    sandbox.expect_another(spec)
held = sandbox._spares._spares[0].wait()
print(held.uid, flush=True)
sys.stdin.read()
"""


def test_a_dead_workers_are_reaped(sandbox, containers, state_folder, images_folder, processes_with_uid, eventually):
    command = [sys.executable, "-c", WORKER, str(state_folder), str(images_folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        uid = int(worker.stdout.readline())
        assert processes_with_uid(uid) != []
        assert sandbox.reap(is_alive) == []
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    eventually(lambda: not processes_with_uid(uid))
    assert sandbox.reap(is_alive) == ["spare"]
    assert containers() == set()
    assert list(state_folder.glob("docker-runs/*")) == []


def test_what_cannot_be_prepared_gives_its_uid_back(sandbox, scoring, state_folder, monkeypatch):
    with pytest.raises(SandboxError, match="memory"):
        sandbox.prepare(scoring("small", limits=Limits(memory=1 << 10)))
    monkeypatch.setattr("gauntlet_runtime.sandbox.docker.Container", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sandbox.prepare(scoring("broken"))
    assert list(state_folder.glob("docker-runs/*")) == []
    assert [path for path in state_folder.glob("uids/*") if path.stat().st_size] == []
