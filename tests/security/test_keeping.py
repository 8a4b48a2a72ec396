"""The zoo's own controls: what a zoo must notice is noticed, and a platform's fault is told from a program's."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import docker
import pytest

from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.sandbox.interface import Run, Sandbox, SandboxSpec
from gauntlet_runtime.zoo.keeper import Keeper
from gauntlet_runtime.zoo.leftovers import leftovers
from gauntlet_runtime.zoo.programs import Program, ZooFault, load_zoo, same_sentence, same_value
from gauntlet_runtime.zoo.table import table
from gauntlet_runtime.zoo.targets import SECRET_VARIABLE, open_targets
from gauntlet_runtime.zoo.watched import WatchedSandbox, processes_of

pytestmark = [pytest.mark.zoo, pytest.mark.security]
HEAD = """#: attacks: agent
#: why: Planted.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
"""
BEGIN = "from door import *\n\nepisode = next_episode()"
HARMLESS = "from door import *\n\nepisode = next_episode()\nsay(6)\nanswer(episode)\n"


@pytest.fixture
def planted(tmp_path) -> Callable[..., Program]:
    """A program with this head and body, as the zoo would load it."""

    def plant(body: str = HARMLESS, *, head: str = HEAD, kind: str = "agent", **more: str) -> Program:
        lines = "".join(f"#:   {name}: {value}\n" for name, value in more.items())
        (tmp_path / "zoo" / kind).mkdir(parents=True, exist_ok=True)
        head = head.replace("attacks: agent", f"attacks: {kind}")
        (tmp_path / "zoo" / kind / "planted.py").write_text(head + lines + body)
        return load_zoo(tmp_path / "zoo").programs[0]

    return plant


@pytest.fixture
def keeper(runs) -> Keeper:
    return runs.keeper("bubblewrap")


def test_a_program_with_the_declared_verdict_is_right(keeper, planted):
    row = keeper.run(planted(said="[6]", scores="{right: 1.0}", starts="1", kernel="{exit_code: 0}"))
    assert (row.problems, row.got) == ([], "finished, answered")


def test_no_file_of_a_program_that_was_run_stays_open(keeper, planted):
    assert keeper.run(planted()).ok
    opened = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    assert [path for path in opened if Path(path).is_relative_to(keeper.artifacts)] == []


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"said": "[7]"}, "should have found [7], and found [6]"),
        ({"scores": "{right: 0.5}"}, "scores should be {'right': 0.5}, and are {'right': 1.0}"),
        ({"starts": "2"}, "started 2 times, and was 1 times"),
        ({"kernel": "{exit_code: 1}"}, "should have ended with 1"),
        ({"kernel": "{cause: time_limit}"}, "should have ended by time_limit, and did by exited"),
        ({"kernel": "{exit_code: 0, out_of_memory: true}"}, "counted 0 kills for memory"),
        ({"kernel": "{exit_code: 0, refused_forks: true}"}, "no fork was refused"),
        ({"kernel": "{exit_code: 0, disk_full: true}"}, "not full at the end"),
        ({"log_holds": "[never]"}, "the log lacks 'never'"),
        ({"log_bytes": "3"}, "the log holds"),
        ({"code": "time_limit"}, "the evaluation should be finished time_limit"),
    ],
)
def test_every_other_declaration_is_told_as_wrong(keeper, planted, more, problem):
    row = keeper.run(planted(**more))
    assert row.problems != []
    assert problem in row.problems[0]
    assert "WRONG" in table([row])
    assert "0 of 1 verdicts as declared" in table([row])


def test_another_sentence_than_the_declared_one_is_told_as_wrong(keeper, planted):
    head = HEAD.replace("outcome: answered", "{outcome: failed, code: agent_error, says: Something else.}")
    row = keeper.run(planted(head=head))
    assert "is answered" in row.problems[0]


def test_a_secret_that_a_program_learns_is_noticed(keeper, planted, targets):
    row = keeper.run(planted(HARMLESS.replace("say(6)", f"say('{targets.secret}')")))
    assert row.problems == ["the secret was read: the log"]
    body = HARMLESS.replace("answer(episode)", f"answer(episode, '{targets.secret}')")
    assert "the secret was read: the record" in keeper.run(planted(body)).problems[0]


def test_a_listener_that_is_reached_is_noticed_once(keeper, planted, targets):
    family, address = targets.addresses()[0]
    with socket.socket(getattr(socket, family)) as client:
        client.connect(address)
        assert "a listener was reached" in keeper.run(planted()).problems[0]
    assert keeper.run(planted()).problems == []


def test_a_changed_input_and_a_changed_file_of_the_host_are_noticed(runs, planted, targets):
    keeper = runs.keeper("bubblewrap")
    program = planted()
    assert keeper.run(program).problems == []
    for path in keeper.artifacts.glob("*/content/server.py"):
        path.chmod(0o644)
        path.write_text(path.read_text() + "# changed")
    targets.secret_file.write_text("changed")
    try:
        assert sorted(keeper.run(program).problems) == ["a file of the host was changed", "changed: server.py"]
    finally:
        targets.secret_file.write_text(targets.secret)


def test_a_process_that_lives_on_and_what_lies_about_are_noticed(keeper, planted, monkeypatch, tmp_path):
    monkeypatch.setattr("gauntlet_runtime.zoo.watched.processes_of", lambda uid, group: [os.getpid()])
    assert any(f"process {os.getpid()} of" in problem for problem in keeper.run(planted()).problems)
    (tmp_path / "runs" / "mine-agent-1").mkdir(parents=True)
    assert leftovers("mine", sandbox=keeper.sandbox, state=tmp_path) == ["record mine-agent-1"]
    assert leftovers("other", sandbox=keeper.sandbox, state=tmp_path) == []


def test_a_container_that_lies_about_is_noticed(runs, tmp_path):
    sandbox = runs.keeper("docker").sandbox
    spec = SandboxSpec(image="gauntlet/agent", command=["true"], label="mine-agent-1", owner=this_process())
    with sandbox.prepare(spec):
        (found,) = leftovers("mine", sandbox=sandbox, state=tmp_path)
        assert leftovers("other", sandbox=sandbox, state=tmp_path) == []
    assert found.startswith("container mine-agent-1-")
    assert leftovers("mine", sandbox=sandbox, state=tmp_path) == []


def test_nothing_that_a_program_brings_about_looks_for_a_proxy(runs, planted, monkeypatch):
    """That would go through the environment, which another thread may change meanwhile."""
    keeper = runs.keeper("docker")

    def look(url, no_proxy):
        raise KeyError(url)

    monkeypatch.setattr("requests.sessions.get_environ_proxies", look)
    assert keeper.run(planted()).problems == []


def test_a_running_process_is_found_by_uid_and_group_and_a_dead_one_is_not():
    group, uid = Path("/proc/self/cgroup").read_text(), 64_999
    with subprocess.Popen(["sleep", "600"], user=uid) as running:
        assert processes_of(uid, group=group) == [running.pid]
        assert processes_of(uid, group="another") == []
        assert processes_of(os.geteuid(), group=group) == []
        running.kill()
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        assert processes_of(uid, group=group) == []


def test_the_listeners_and_the_worker_s_secret_are_within_reach_of_a_plain_program():
    with open_targets() as targets:  # which proves of each listener that it can be reached
        read = f"import os; print(os.environ[{SECRET_VARIABLE!r}], open({str(targets.secret_file)!r}).read())"
        done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [targets.secret] * 2
        assert len(targets.elsewhere) == 3
        assert targets.reached() == []


class Doomed(WatchedSandbox):
    """A backend of which one sandbox is taken away when its job is under way, as a failing host would do it.

    ``victim`` ends its label. It is under way when the program that is tried says so.
    """

    def __init__(self, inner: Sandbox, *, victim: str, tried: str) -> None:
        super().__init__(inner)
        self._victim = victim
        self._tried = tried

    def prepare(self, spec: SandboxSpec) -> Run:
        run = super().prepare(spec)
        if spec.label.endswith(self._tried):
            threading.Thread(target=self._destroy, args=(run,), daemon=True).start()
        return run

    def _destroy(self, tried: Run) -> None:
        while b"up" not in tried.log_tail("stdout"):
            if tried.wait(0.01) is not None:
                return
        victim = next(run.host_pid for run in self.runs if run.label.endswith(self._victim))
        if self.name == "docker":
            with contextlib.closing(docker.from_env()) as client:
                for container in client.containers.list(ignore_removed=True):
                    if f"/{container.id}" in Path(f"/proc/{victim}/cgroup").read_text():
                        container.kill()
                        return
        else:
            os.kill(_parent_of(_parent_of(victim)), signal.SIGKILL)


def _parent_of(pid: int | None) -> int:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("PPid:")).split()[1])


@pytest.mark.parametrize("victim", ["agent-1", "environment-0", "score-zoo"])
@pytest.mark.parametrize("backend", ["bubblewrap", "docker"])
def test_a_sandbox_that_dies_is_the_platforms_fault_and_no_verdict_of_a_program(runs, planted, backend, victim):
    kind, tried, begin = ("scorer", victim, "import time") if victim == "score-zoo" else ("agent", "agent-1", BEGIN)
    keeper = runs.keeper(backend, wrapped=lambda sandbox: Doomed(sandbox, victim=victim, tried=tried))
    row = keeper.run(planted(f"{begin}\nprint('up', flush=True)\ntime.sleep(600)\n", kind=kind))
    assert row.got == "the sandbox failed"
    assert "the platform failed, which no program may bring about" in row.problems[0]
    assert len(row.problems) == 1


def test_a_folder_without_programs_or_with_one_without_a_head_is_no_zoo(tmp_path, planted):
    with pytest.raises(ZooFault, match="part of the repository"):
        load_zoo(tmp_path)
    with pytest.raises(ZooFault, match=r"planted\.py does not begin with a head"):
        planted(head="#: attacks: nothing\n")
    with pytest.raises(ZooFault, match="stands among those of another kind"):
        planted(head=HEAD.replace("agent", "scorer"))


def test_the_zoo_holds_what_it_promises(zoo):
    assert len(zoo.programs) >= 45
    assert len({program.name for program in zoo.programs}) == len(zoo.programs)


@pytest.mark.parametrize(
    ("pattern", "said", "same"),
    [
        ("It took {seconds} seconds.", "It took 12.5 seconds.", True),
        ("It took {seconds} seconds.", "It took long seconds.", False),
        ("It took {seconds} seconds.", "It took 12 seconds. And more.", False),
        ("8 MiB (peak {n} MiB)", "8 MiB (peak 9 MiB)", True),
        ("8 MiB (peak {n} MiB)", "7 MiB (peak 9 MiB)", False),
        ("", "something", False),
    ],
)
def test_a_sentence_is_compared_exactly_but_for_its_numbers(pattern, said, same):
    assert same_sentence(pattern, said) is same


@pytest.mark.parametrize(
    ("pattern", "value", "same"),
    [
        ([1, [True]], [1, [True]], True),
        ([1], [True], False),
        ([1, 2], [1], False),
        ({"a": "x"}, {"a": "x"}, True),
        ({"a": "x"}, {"a": "x", "b": 1}, False),
        ("{n}", "12", True),
        ("{n}", 12, False),
    ],
)
def test_what_a_program_found_is_compared_with_its_kind(pattern, value, same):
    assert same_value(pattern, value) is same
