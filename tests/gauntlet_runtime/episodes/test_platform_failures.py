"""What the platform's own faults and a cancelled job do: nothing that a participant could be blamed for."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from pathlib import Path

import psutil
import pytest

from gauntlet_runtime.environments import Environments
from gauntlet_runtime.gateway.messages import COMMANDS, EnvironmentUp, Ready, receive_message, send_message
from gauntlet_runtime.gateway.pool import GatewayLost, GatewayPool, GatewayProcess
from gauntlet_runtime.jobs import AgentSpec, JobEvent, LeaseLost
from gauntlet_runtime.provenance import run_provenance
from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.sandbox.interface import Enforcement, ImageUnavailable, SandboxError, SandboxGone
from gauntlet_scoring.failures import FailureCode

HANGS = "import time\ne = next_episode()\ntool(e, 'sites')\ntime.sleep(1000)"


class Watched(GatewayPool):
    """Remembers the gateways that it gave out."""

    def __init__(self):
        super().__init__()
        self.pids = []

    def spawn(self):
        gateway = super().spawn()
        self.pids.append(gateway.pid)
        return gateway


def sandboxes_left(room):
    return room.sandbox.reap(lambda owner: False)


def test_a_gateway_killed_in_the_middle_is_the_platforms_fault(room):
    with Watched() as pool:
        room.gateways = pool

        def kill(event, detail):
            if event is JobEvent.EPISODE_STARTED:
                os.kill(pool.pids[-1], signal.SIGKILL)

        room.on_event = kill
        with pytest.raises(GatewayLost) as caught:
            room.agent(HANGS)
    assert isinstance(caught.value, SandboxError)  # so that a worker gives the job back
    assert sandboxes_left(room) == []


class Babel(GatewayPool):
    """Its gateways say what nobody here understands, as one of another version would."""

    def spawn(self) -> GatewayProcess:
        gateway = super().spawn()

        def receive() -> None:
            raise ValueError("no such notice")

        gateway.receive = receive  # type: ignore[method-assign, assignment]
        return gateway


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_gateway_that_is_not_understood_ends_the_job_at_once(room):
    with Babel() as pool:
        room.gateways = pool
        with pytest.raises(GatewayLost):
            room.agent("while (e := next_episode()):\n    answer(e)\n", keys=["A"])


def test_a_gateway_that_cannot_write_its_record_gives_up_rather_than_go_on_without(room):
    def spoil(event, detail):
        if event is JobEvent.EPISODE_ENDED:
            records = next(iter(Path(room.folder).glob("*/records")))
            (records / "00001").mkdir()  # where the next record is to be made

    room.on_event = spoil
    with pytest.raises(GatewayLost):
        room.agent(
            """
answer(next_episode())
while not os.path.exists("/tmp/never"):
    ask("GET", "/episodes")
    if (e := next_episode()) is None:
        break
""",
            keys=["A", "B"],
        )


def test_a_cancelled_job_ends_at_once_and_leaves_nothing(room):
    def cancel(event, detail):
        room.cancelled.set()

    room.on_event = cancel
    with pytest.raises(LeaseLost):
        room.agent(HANGS)
    assert sandboxes_left(room) == []


def test_a_job_that_is_lost_while_it_reports_ends(room):
    def lose(event, detail):
        raise LeaseLost

    room.on_event = lose
    with pytest.raises(LeaseLost):
        room.agent(HANGS)
    assert sandboxes_left(room) == []


def test_a_job_without_episodes_starts_nothing(room):
    spec = room.spec("pass")
    outcome = room.run(spec.model_copy(update={"episodes": []}))
    assert (outcome.episodes, outcome.result.agent_seconds) == ([], 0.0)


def test_a_missing_image_is_said_before_anything_starts(room):
    spec = room.spec("pass")
    spec = spec.model_copy(update={"agent": AgentSpec(bundle=spec.agent.bundle, command=["x"], image="no/such-image")})
    with pytest.raises(ImageUnavailable):
        room.run(spec)


def test_a_program_that_does_not_exist_is_the_agents_fault(room):
    spec = room.spec("pass")
    spec = spec.model_copy(update={"agent": AgentSpec(bundle=spec.agent.bundle, command=["no-such-program"])})
    outcome = room.run(spec)
    assert outcome.episodes[0].failure is FailureCode.AGENT_ERROR


def test_the_result_names_what_made_it(room):
    spec = room.spec("answer(next_episode())")
    outcome = room.run(spec)
    provenance = outcome.result.provenance
    assert provenance["agent"] == spec.agent.bundle.digest
    assert provenance["environment"] == spec.environment.program.digest
    assert provenance["environment.data"] == spec.environment.data.digest
    assert provenance["image.agent"].startswith("sha256:")
    assert provenance["seed.e0"] == "7"
    assert provenance["sandbox"] == room.sandbox.name
    assert "limits.best_effort" not in provenance


def test_what_a_host_does_not_enforce_is_named_in_what_made_the_result(room, monkeypatch):
    weaker = {**room.sandbox.enforcement(), "memory": Enforcement.BEST_EFFORT, "uid": Enforcement.BEST_EFFORT}
    monkeypatch.setattr(room.sandbox, "enforcement", lambda: weaker)
    assert run_provenance(room.spec("pass"), room.sandbox)["limits.best_effort"] == "memory, uid"


def test_equal_records_give_equal_bytes_and_the_zip_is_not_to_be_changed(room, tmp_path):
    from gauntlet_runtime.gateway.recorder import pack

    outcome = room.agent("e = next_episode()\ntool(e, 'large', bytes=100_000)\nanswer(e)")
    trajectory = outcome.episodes[0].trajectory
    folder = next(iter(Path(room.folder).glob("*/records/*")))
    assert pack(folder, tmp_path / "again.zip").read_bytes() == trajectory.read_bytes()
    assert trajectory.stat().st_mode & 0o222 == 0


def test_the_agent_sees_nothing_but_what_it_is_given(room):
    outcome = room.agent("""
import pathlib
say(sorted(os.environ))
say(sorted(str(p) for p in pathlib.Path("/app").rglob("*")), os.getcwd())
say(sorted(os.listdir("/run/gauntlet")))
try:
    open("/app/program/agent.py", "a")
except OSError as error:
    say(type(error).__name__)
answer(next_episode())
""")
    environment, files, folder, door, refused = outcome.said
    assert {"GAUNTLET_URL", "GAUNTLET_SOCKET"} <= set(environment)
    assert not any("DATABASE" in name or "SECRET" in name for name in environment)
    assert files == ["/app/program", "/app/program/agent.py", "/app/program/door.py"]
    assert (folder, door) == ("/app/program", ["gateway.sock"])
    assert refused in ("OSError", "PermissionError")


@pytest.fixture
def platform_end():
    """The gateway's end of a control socket, which says nothing by itself."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    send_message(theirs, Ready(pid=os.getpid()))
    theirs.setblocking(False)
    with ours, theirs:
        yield GatewayProcess(ours), theirs


@pytest.fixture
def environments(room, platform_end):
    spec = room.spec("pass").environment
    made = Environments(
        spec,
        sandbox=room.sandbox,
        program=room.files.folder(spec.program),
        data=None,
        owner=this_process(),
        label="test",
        gateway=platform_end[0],
        fail=lambda error: made.failed.set(),
    )
    made.failed = threading.Event()
    yield made
    made.close()


def test_an_environment_whose_sandbox_disappeared_leaves_nothing_behind(room, environments):
    """Where the gateway's word on it is heard before that of the sandbox's own supervisor."""
    before = set(psutil.Process().children())
    environments.open(1)
    for process in set(psutil.Process().children()) - before:
        process.kill()
    assert environments.failed.wait(60)
    with pytest.raises(SandboxGone):
        environments.lost(0, served=True)
    environments.close()
    assert sandboxes_left(room) == []


def test_an_environment_whose_sandbox_disappears_this_moment_is_not_taken_for_one_that_we_ended(environments):
    """Where the gateway saw its pipe end before its supervisor saw why."""
    before = set(psutil.Process().children())
    environments.open(1)
    (sandbox,) = set(psutil.Process().children()) - before
    sandbox.kill()
    with pytest.raises(SandboxGone):
        environments.lost(0, served=True)


def test_environments_that_fail_to_start_once_each_are_all_started_again(environments, platform_end, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.environments.STARTING_AT_ONCE", 3)
    environments.open(3)
    for slot in range(3):
        environments.lost(slot, served=False)
    told = []
    with contextlib.suppress(BlockingIOError):
        while True:
            body, descriptors = receive_message(platform_end[1])
            told.append(COMMANDS.validate_json(body))
            for descriptor in descriptors:
                os.close(descriptor)
    assert told == [EnvironmentUp(slot=slot) for slot in (0, 1, 2, 0, 1, 2)]
