"""What an agent's crash, hang or silence costs: the episodes that it had open, and no other."""

from __future__ import annotations

from gauntlet_runtime.jobs import EpisodeLimits, SandboxLimits
from gauntlet_scoring.failures import FailureCode

MIB = 1 << 20


def endings(outcome):
    return [(e.episode, e.outcome.value, e.failure) for e in outcome.episodes]


def test_a_crash_loses_one_episode_and_the_agent_is_started_again_for_the_rest(room):
    outcome = room.agent(
        """
while (e := next_episode()):
    tool(e, "sites")
    if e["scenario"]["id"] == "s1":
        raise SystemExit(7)
    answer(e)
""",
        keys=["A", "B", "C"],
    )
    assert endings(outcome) == [
        ("e0", "answered", None),
        ("e1", "failed", FailureCode.AGENT_ERROR),
        ("e2", "answered", None),
    ]
    assert outcome.episodes[1].message == (
        "The agent ended with exit code 7 before it answered. Its output is in the log."
    )
    assert outcome.kinds(1) == ["scenario", "tool_call", "tool_result", "end"]
    assert outcome.record(1)[-1].failure is FailureCode.AGENT_ERROR
    assert "start 2 of the agent" in outcome.result.log
    assert outcome.result.agent_seconds > 0


def test_the_log_holds_what_the_agent_printed_and_the_message_does_not(room):
    outcome = room.agent("e = next_episode()\nraise ValueError('my very own words')")
    assert "my very own words" in outcome.result.log
    assert "my very own words" not in outcome.episodes[0].message


def test_an_episode_beyond_its_time_is_over_and_the_agent_goes_on(room):
    outcome = room.agent(
        """
import time
while (e := next_episode()):
    if e["scenario"]["id"] == "s0":
        while ask("GET", "/episodes")[1]["episodes"]:
            time.sleep(0.05)
        say(tool(e, "sites")[0], answer(e))
    else:
        answer(e)
""",
        keys=["A", "B"],
        episode_limits=EpisodeLimits(episode_seconds=2.0),
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.TIME_LIMIT), ("e1", "answered", None)]
    status, refusal = outcome.said[0], outcome.said[1]
    assert status == 410
    assert (refusal[0], refusal[1]["code"]) == (410, "episode_closed")
    assert "2 seconds" in outcome.episodes[0].message
    assert "start 2" not in outcome.result.log


def test_an_agent_that_hangs_is_stopped_and_started_again(room, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.run_job.GRACE_SECONDS", 0.5)
    outcome = room.agent(
        """
import time
while (e := next_episode()):
    if e["scenario"]["id"] == "s0":
        time.sleep(1000)
    answer(e)
""",
        keys=["A", "B"],
        episode_limits=EpisodeLimits(episode_seconds=2.0),
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.TIME_LIMIT), ("e1", "answered", None)]
    assert "start 2 of the agent" in outcome.result.log


def test_an_agent_that_never_asks_is_stopped(room, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.run_job.IDLE_SECONDS", 0.5)
    outcome = room.agent(
        "import time\ntime.sleep(1000)", keys=["A", "B"], episode_limits=EpisodeLimits(episode_seconds=0.3)
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.TIME_LIMIT), ("e1", "failed", FailureCode.TIME_LIMIT)]
    assert "did not ask for its next episode" in outcome.episodes[0].message
    assert outcome.episodes[0].trajectory is None


def test_too_much_memory_is_named_with_the_amount(room):
    outcome = room.agent(
        "e = next_episode()\nx = bytearray(400 << 20)\nanswer(e)",
        agent_limits=SandboxLimits(memory=96 * MIB),
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.MEMORY_LIMIT)]
    assert "96 MiB of memory" in outcome.episodes[0].message


def test_too_much_output_is_named(room):
    outcome = room.agent(
        "e = next_episode()\nimport time\nprint('x' * (1 << 20))\ntime.sleep(1000)",
        agent_limits=SandboxLimits(log=64 << 10),
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.OUTPUT_LIMIT)]


def test_a_full_disk_and_refused_processes_are_named_where_the_agent_then_failed(room):
    outcome = room.agent(
        """
import os
e = next_episode()
if e["scenario"]["id"] == "s0":
    with open("/tmp/big", "wb") as file:
        while True:
            file.write(b"x" * (1 << 20))
children = []
for _ in range(100):
    pid = os.fork()
    if pid == 0:
        import time
        time.sleep(1000)
""",
        keys=["A", "B"],
        agent_limits=SandboxLimits(scratch=4 * MIB, processes=16),
    )
    assert endings(outcome) == [
        ("e0", "failed", FailureCode.DISK_LIMIT),
        ("e1", "failed", FailureCode.PROCESS_LIMIT),
    ]
    assert "4 MiB in /tmp" in outcome.episodes[0].message
    assert "16 may run at once" in outcome.episodes[1].message


def test_an_agent_that_leaves_without_asking_for_the_rest_gets_one_more_start(room):
    outcome = room.agent("e = next_episode()\nif e['scenario']['id'] == 's0': answer(e)", keys=["A", "B", "C"])
    assert endings(outcome) == [
        ("e0", "answered", None),
        ("e1", "failed", FailureCode.AGENT_ERROR),
        ("e2", "failed", FailureCode.AGENT_ERROR),
    ]
    nothing = room.agent("pass", keys=["A", "B"])
    assert endings(nothing) == [
        ("e0", "failed", FailureCode.AGENT_ERROR),
        ("e1", "failed", FailureCode.AGENT_ERROR),
    ]
    assert "start 2" in nothing.result.log
    assert "start 3" not in nothing.result.log


def test_a_crash_with_two_open_episodes_loses_both(room):
    outcome = room.agent(
        """
a, b = next_episode(), next_episode()
if a["scenario"]["id"] == "s0":
    os._exit(5)
answer(a)
""",
        keys=["A", "B", "C"],
        max_parallel_episodes=2,
    )
    assert endings(outcome) == [
        ("e0", "failed", FailureCode.AGENT_ERROR),
        ("e1", "failed", FailureCode.AGENT_ERROR),
        ("e2", "answered", None),
    ]


def test_two_trials_of_a_scenario_never_share_a_sandbox(room):
    spec = room.spec("""
while (e := next_episode()):
    say(e["id"], os.path.exists("/tmp/mark"))
    open("/tmp/mark", "w").close()
    answer(e)
""")
    first = spec.episodes[0]
    again = first.model_copy(update={"episode": "again", "trial": 2})
    other = first.model_copy(update={"episode": "other", "key": "KEY-1", "scenario": "s1"})
    outcome = room.run(spec.model_copy(update={"episodes": [first, again, other]}))
    assert [episode.failure for episode in outcome.episodes] == [None, None, None]
    assert outcome.said == ["e0", False, "other", True, "again", False]


def test_two_trials_are_not_opened_beside_each_other_either(room):
    spec = room.spec(
        """
import threading
opened = []
threads = [threading.Thread(target=lambda: opened.append(next_episode())) for _ in range(2)]
[t.start() for t in threads], [t.join() for t in threads]
say(len([e for e in opened if e]))
[answer(e) for e in opened if e]
""",
        max_parallel_episodes=2,
    )
    first = spec.episodes[0]
    again = first.model_copy(update={"episode": "again", "trial": 2})
    outcome = room.run(spec.model_copy(update={"episodes": [first, again]}))
    assert outcome.said == [1, 1]
    assert [episode.failure for episode in outcome.episodes] == [None, None]


def test_an_agent_beyond_its_sandboxs_time_is_named_with_the_seconds(room, monkeypatch):
    for waiting in ("PLATFORM_SECONDS", "ENVIRONMENT_SECONDS"):
        monkeypatch.setattr(f"gauntlet_runtime.run_job.{waiting}", 0.0)
    outcome = room.agent("e = next_episode()\nimport time\ntime.sleep(1000)", agent_limits=SandboxLimits(seconds=6))
    assert endings(outcome) == [("e0", "failed", FailureCode.TIME_LIMIT)]
    assert "6 are allowed" in outcome.episodes[0].message
