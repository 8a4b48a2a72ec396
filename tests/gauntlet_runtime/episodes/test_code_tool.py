"""A tool that takes code: the platform runs it in a sandbox of its own, and the environment never sees the call."""

from __future__ import annotations

import dataclasses
import os
import threading
import time

import pytest

from gauntlet_runtime.code_runs import code_tool_spec
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import CodeToolSpec, EpisodeLimits, JobEvent, LeaseLost, SandboxLimits
from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_scoring.program_metadata import CodeTool

RUN = """
from textwrap import dedent
e = next_episode()
for code in CODES:
    say(tool(e, "run_code", code=dedent(code))[1]["result"])
answer(e)
"""


def with_code(room, *codes, tool=None, agent=RUN, **given):
    spec = room.spec(agent.replace("CODES", repr(list(codes))), **given)
    tool = tool or code_tool_spec(CodeTool(name="run_code"))
    return spec.model_copy(update={"environment": spec.environment.model_copy(update={"code_tool": tool})})


def test_code_reads_the_tasks_data_and_its_output_is_the_result(room):
    outcome = room.run(with_code(room, "import json; print(sorted(json.load(open('/app/data/sites.json'))))"))
    (result,) = outcome.said
    assert result["isError"] is False
    told = result["structuredContent"]
    assert told.pop("seconds") > 0
    assert told == {"stdout": "['north', 'south']\n", "stderr": "", "exit_code": 0, "truncated": False}
    call, answered = outcome.record()[1:3]
    assert (call.tool, answered.tool, answered.structured["stdout"]) == ("run_code", "run_code", "['north', 'south']\n")
    assert outcome.record()[-1].state["calls"] == 0  # the environment was not asked


def test_code_runs_also_where_a_service_makes_files_for_nobody_else(room):
    """The umask of a service may be 077; the code is read by a uid of its own."""
    before = os.umask(0o077)
    try:
        with GatewayPool() as pool:  # its processes have the umask of whoever starts them
            outcome = dataclasses.replace(room, gateways=pool).run(with_code(room, "print('ran')"))
    finally:
        os.umask(before)
    assert [result["structuredContent"]["stdout"] for result in outcome.said] == ["ran\n"]


def test_code_meets_neither_network_nor_environment_nor_what_other_code_left(room):
    codes = (
        "open('/tmp/left', 'w').write('x')",
        "import os; print(os.path.exists('/tmp/left'), sorted(os.listdir('/app')), os.listdir('/app/program'))",
        "import socket; print(socket.socket().connect_ex(('127.0.0.1', 8080)) != 0)",
        "open('/app/data/sites.json', 'a')",
    )
    first, second, third, fourth = room.run(with_code(room, *codes)).said
    assert not first["isError"]
    assert second["structuredContent"]["stdout"] == "False ['data', 'program'] ['main.py']\n"
    assert third["structuredContent"]["stdout"] == "True\n"
    assert fourth["isError"]
    assert "PermissionError" in fourth["structuredContent"]["stderr"]


@pytest.mark.parametrize(
    ("code", "seconds", "words"),
    [
        ("while True: pass", 1, " seconds; 1 are allowed."),
        ("x = bytearray(1 << 30)", 60, "The code needed more than the 128 MiB of memory allowed"),
        ("import os; os.kill(os.getpid(), 9)", 60, "The code was ended by signal 9."),
    ],
    ids=["time", "memory", "signal"],
)
def test_code_beyond_its_limits_is_an_error_that_the_agent_can_act_on(room, code, seconds, words):
    limits = SandboxLimits(seconds=seconds, memory=128 << 20, output=0)
    outcome = room.run(with_code(room, code, tool=CodeToolSpec(name="run_code", limits=limits)))
    (result,) = outcome.said
    assert result["isError"]
    assert words in result["structuredContent"]["stopped"]
    assert outcome.episodes[0].failure is None  # of the code, and of nothing else


def test_a_failing_program_shows_its_traceback_and_much_output_its_end(room):
    outcome = room.run(with_code(room, "1 / 0", "print('x' * 30_000); print('last')"))
    first, second = (event.structured for event in outcome.record() if event.kind == "tool_result")
    assert first["exit_code"] == 1
    assert "ZeroDivisionError" in first["stderr"]
    assert second["truncated"]
    assert second["stdout"].endswith("last\n")
    assert len(second["stdout"]) == 16 << 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "takes one argument, code"),
        ("code=7", "takes one argument, code"),
        ("code='1', more=2", "takes one argument, code"),
        ("code='#' * 70_000", "70,000 bytes; at most 65,536"),
    ],
    ids=["none", "number", "another", "long"],
)
def test_arguments_that_are_no_code_are_refused_with_a_sentence(room, arguments, words):
    agent = f"e = next_episode()\nsay(tool(e, 'run_code', {arguments})[1]['result'])\nanswer(e)\n"
    (result,) = room.run(with_code(room, agent=agent)).said
    assert result["isError"]
    assert words in result["content"][0]["text"]


def test_several_pieces_run_at_once_and_each_gets_its_own_result(room):
    agent = """
from concurrent.futures import ThreadPoolExecutor
e = next_episode()
with ThreadPoolExecutor() as pool:
    results = pool.map(lambda n: tool(e, "run_code", code=f"print({n})")[1]["result"], range(3))
say([r["structuredContent"]["stdout"] for r in results])
answer(e)
"""
    assert room.run(with_code(room, agent=agent)).said == [["0\n", "1\n", "2\n"]]


def test_a_cancelled_job_ends_running_code_at_once(room):
    def cancel_soon(event, detail):
        if event is JobEvent.EPISODE_STARTED:
            threading.Timer(0.5, room.cancelled.set).start()

    room.on_event = cancel_soon
    begun = time.monotonic()
    limits = SandboxLimits(seconds=250, output=0)
    with pytest.raises(LeaseLost):
        room.run(with_code(room, "import time; time.sleep(240)", tool=CodeToolSpec(name="run_code", limits=limits)))
    assert time.monotonic() - begun < 120


RUNS_ON = """
import threading
seen = []
while (e := next_episode()):
    seen.append(e["id"])
    code = {"code": "import time; time.sleep(200)"}
    threading.Thread(target=tool, args=(e, "run_code"), kwargs=code, daemon=True).start()
    tool(e, "sites")
    answer(e)
say(seen)
"""


def test_an_answer_ends_code_that_still_runs_and_blames_nobody(room):
    tool = CodeToolSpec(name="run_code", limits=SandboxLimits(seconds=250, output=0))
    begun = time.monotonic()
    outcome = room.run(with_code(room, tool=tool, agent=RUNS_ON, keys=["A", "B"]))
    assert [(e.outcome.value, e.failure) for e in outcome.episodes] == [("answered", None)] * 2
    assert outcome.said == [["e0", "e1"]]  # none was handed out again
    assert time.monotonic() - begun < 120
    assert room.sandbox.reap(lambda owner: False) == []


def test_code_runs_on_the_agents_own_clock(room):
    spec = with_code(
        room,
        "import time; time.sleep(200)",
        tool=CodeToolSpec(name="run_code", limits=SandboxLimits(seconds=250, output=0)),
        episode_limits=EpisodeLimits(episode_seconds=2),
    )
    (episode,) = room.run(spec).episodes
    assert episode.failure == "time_limit"
    assert episode.seconds < 60


def test_what_fails_beside_the_code_fails_the_job_and_not_the_agent(room, monkeypatch):
    prepare = room.sandbox.prepare

    def refuse(spec):
        if "-code-" in spec.label:
            raise OSError(24, "Too many open files")
        return prepare(spec)

    monkeypatch.setattr(room.sandbox, "prepare", refuse)
    with pytest.raises(SandboxError, match="Too many open files"):
        room.run(with_code(room, "1"))


def test_no_more_code_runs_at_once_than_calls_may(room):
    agent = """
from concurrent.futures import ThreadPoolExecutor
e = next_episode()
ask = lambda n: tool(e, "run_code", code="import time; time.sleep(1)")[1]["result"]["isError"]
with ThreadPoolExecutor(4) as pool:
    say(sorted(pool.map(ask, range(4))))
answer(e)
"""
    outcome = room.run(with_code(room, agent=agent, episode_limits=EpisodeLimits(parallel_tool_calls=2)))
    assert outcome.said == [[False, False, True, True]]


def test_the_environments_metadata_names_the_tool(tmp_path):
    from gauntlet_scoring.program_metadata import read_program_metadata

    (tmp_path / "metadata.yaml").write_text("command: python server.py\ncode_tool: run_code\n")
    assert read_program_metadata(tmp_path).code_tool == CodeTool(name="run_code", seconds=20, memory=512 << 20)
    (tmp_path / "metadata.yaml").write_text("command: c\ncode_tool: {name: run_code, seconds: 5, memory: 268435456}\n")
    assert read_program_metadata(tmp_path).code_tool == CodeTool(name="run_code", seconds=5, memory=256 << 20)
