"""An environment that dies, hangs up or never starts: the episode runs again once, then it is the organizer's fault."""

from __future__ import annotations

import pytest

from gauntlet_runtime.jobs import EpisodeLimits, SandboxLimits
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome


def endings(outcome):
    return [(e.episode, e.outcome.value, e.failure) for e in outcome.episodes]


DIES_ONCE = """
seen = []
while (e := next_episode()):
    seen.append(e["id"])
    if len(seen) == 1:
        say(tool(e, "{tool}"))
        say(tool(e, "sites")[0], answer(e)[0])
    else:
        say(tool(e, "sites")[1]["result"]["structuredContent"])
        answer(e)
say(seen)
"""


def test_an_episode_runs_again_when_its_environment_died(room):
    outcome = room.agent(DIES_ONCE.format(tool="die"), keys=["A", "B"])
    lost, call, closed, first, second, seen = outcome.said
    assert (lost[0], lost[1]["code"]) == (410, "environment_lost")
    assert "handed out again" in lost[1]["message"]
    assert (call, closed) == (410, 410)
    assert first == second == {"sites": ["north", "south"]}
    assert seen == ["e0", "e0.2", "e1"]
    assert endings(outcome) == [("e0", "answered", None), ("e1", "answered", None)]
    assert outcome.kinds(0) == ["scenario", "tool_call", "tool_result", "answer", "end"]
    assert [detail["attempt"] for kind, detail in outcome.events if kind == "episode_started"] == [1, 2, 1]


def test_an_environment_that_talks_nonsense_counts_as_dead(room):
    outcome = room.agent(DIES_ONCE.format(tool="nonsense"), keys=["A"])
    assert endings(outcome) == [("e0", "answered", None)]
    assert outcome.said[-1] == ["e0", "e0.2"]


@pytest.mark.parametrize("code", [-32000, -32001])
def test_an_error_by_a_code_that_the_sdk_gives_to_a_lost_connection_is_an_answer_like_any_other(room, code):
    """An agent could else end its environment, and begin its episode anew, by arguments that this one refuses so."""
    outcome = room.agent(f"e = next_episode()\nsay(tool(e, 'error', code={code})[1]['result'], answer(e)[0])")
    assert outcome.said == [{"content": [{"type": "text", "text": "no such pump"}], "isError": True}, 200]
    assert outcome.kinds() == ["scenario", "tool_call", "tool_result", "answer", "end"]


def test_a_result_that_no_client_could_read_counts_as_nonsense(room):
    outcome = room.agent(DIES_ONCE.format(tool="strange"), keys=["A"])
    assert outcome.said[0][0] == 410
    assert outcome.said[-1] == ["e0", "e0.2"]
    assert endings(outcome) == [("e0", "answered", None)]


def test_an_environment_may_ask_whether_its_gateway_is_there(room):
    outcome = room.agent("e = next_episode()\nsay(tool(e, 'asks', times=500)[0], tool(e, 'sites')[0], answer(e)[0])")
    assert outcome.said == [200, 200, 200]


def test_an_environment_that_asks_without_end_is_the_organizers_fault(room):
    """What its gateway holds of it is bounded: else that would be killed, and the fault be the platform's."""
    outcome = room.agent(
        "while (e := next_episode()): say(tool(e, 'asks', times=10_000_000)[1]['code'])",
        environment_limits=SandboxLimits(seconds=120.0),
    )
    assert outcome.said == ["environment_lost", "episode_closed"]
    assert endings(outcome) == [("e0", "failed", FailureCode.ENVIRONMENT_ERROR)]


def test_an_environment_that_dies_twice_is_the_organizers_fault(room):
    outcome = room.agent(
        """
seen = []
while (e := next_episode()):
    seen.append(e["id"])
    if e["scenario"]["id"] == "s0":
        tool(e, "die")
    else:
        answer(e)
say(seen)
""",
        keys=["A", "B"],
    )
    assert outcome.said == [["e0", "e0.2", "e1"]]
    assert endings(outcome) == [("e0", "failed", FailureCode.ENVIRONMENT_ERROR), ("e1", "answered", None)]
    assert "failed twice" in outcome.episodes[0].message
    assert outcome.kinds(0) == ["scenario", "tool_call", "end"]


def test_the_death_of_one_environment_leaves_the_other_episode_alone(room):
    outcome = room.agent(
        """
a, b = next_episode(), next_episode()
say(tool(a, "die")[0], tool(b, "echo", text="alive")[1]["result"]["structuredContent"], answer(b)[0])
c = next_episode()
say(c["id"])
answer(c)
""",
        keys=["A", "B"],
        max_parallel_episodes=2,
    )
    assert outcome.said == [410, {"text": "alive"}, 200, "e0.2"]
    assert endings(outcome) == [("e0", "answered", None), ("e1", "answered", None)]


def test_a_scenario_that_cannot_be_set_up_fails_alone(room):
    for key in ("cannot-reset", "dies-in-reset"):
        outcome = room.agent("while (e := next_episode()): answer(e)", keys=["A", key, "B"])
        assert endings(outcome) == [
            ("e0", "answered", None),
            ("e1", "failed", FailureCode.ENVIRONMENT_ERROR),
            ("e2", "answered", None),
        ]
        assert outcome.episodes[1].trajectory is None


def test_an_answer_without_its_final_state_does_not_count(room):
    outcome = room.agent("while (e := next_episode()): say(e['id'], answer(e)[0])", keys=["dies-in-state", "B"])
    assert endings(outcome) == [("e0", "failed", FailureCode.ENVIRONMENT_ERROR), ("e1", "answered", None)]
    assert outcome.said == ["e0", 410, "e0.2", 410, "e1", 200]


def test_an_environment_that_never_starts_fails_every_episode(room):
    outcome = room.agent("say(ask('POST', '/episodes', {}))", keys=["A", "B"], arguments=("--dead",))
    assert endings(outcome) == [
        ("e0", "failed", FailureCode.ENVIRONMENT_ERROR),
        ("e1", "failed", FailureCode.ENVIRONMENT_ERROR),
    ]
    assert "environment ended with exit code 1" in outcome.episodes[0].message
    assert outcome.said == [[204, None]]


def test_an_environment_without_enough_memory_is_named(room):
    outcome = room.agent(
        "while (e := next_episode()): say(tool(e, 'large', bytes=200 << 20)[0])",
        environment_limits=SandboxLimits(memory=48 << 20),
    )
    assert endings(outcome) == [("e0", "failed", FailureCode.ENVIRONMENT_ERROR)]
    assert outcome.episodes[0].outcome is Outcome.FAILED


def test_an_environment_that_hangs_counts_as_dead(room, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.run_job.CALL_SECONDS", 2.0)
    outcome = room.agent(
        """
first = next_episode()
say(tool(first, "slow", seconds=1000)[1]["code"])
second = next_episode()
say(second["id"], answer(second)[0])
"""
    )
    assert outcome.said == ["environment_lost", "e0.2", 200]
    assert endings(outcome) == [("e0", "answered", None)]


def test_an_environment_that_reads_nothing_any_more_counts_as_dead(room, monkeypatch):
    """What is written to it then does not even leave the gateway."""
    monkeypatch.setattr("gauntlet_runtime.run_job.CALL_SECONDS", 2.0)
    outcome = room.agent(
        """
first = next_episode()
tool(first, "deaf")
say(tool(first, "echo", text="x" * 900_000)[1]["code"])
second = next_episode()
say(second["id"], answer(second)[0])
""",
        agent_limits=SandboxLimits(seconds=30.0),
    )
    assert outcome.said == ["environment_lost", "e0.2", 200]
    assert endings(outcome) == [("e0", "answered", None)]


def test_an_agent_that_waits_for_a_slow_environment_does_not_wait_on_its_sandboxs_time(room, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.run_job.PLATFORM_SECONDS", 0.0)
    outcome = room.agent(
        "e = next_episode()\n[tool(e, 'slow', seconds=1.5) for _ in range(4)]\nsay(answer(e)[0])",
        episode_limits=EpisodeLimits(episode_seconds=3.0),
        agent_limits=SandboxLimits(seconds=3.0),
    )
    assert outcome.said == [200]
    assert endings(outcome) == [("e0", "answered", None)]


def test_an_environment_that_takes_too_long_in_all_is_the_organizers_fault(room, monkeypatch):
    """Each of its answers comes in time; an agent that has what it needs may still answer."""
    monkeypatch.setattr("gauntlet_runtime.run_job.ENVIRONMENT_SECONDS", 2.0)
    outcome = room.agent(
        """
slow = lambda e: tool(e, "slow", seconds=1.2)
patient, quick = next_episode(), None
replies = [slow(patient) for _ in range(3)]
say([status for status, _ in replies], replies[-1][1]["code"])
quick = next_episode()
say([slow(quick)[0] for _ in range(2)], answer(quick)[0])
talks = next_episode()
[slow(talks) for _ in range(2)]
say(ask("POST", f"/episodes/{talks['id']}/messages", {"text": "hello"})[0])
""",
        keys=["A", "B", "C"],
    )
    assert outcome.said == [[200, 200, 410], "episode_closed", [200, 200], 200, 410]
    late = ("failed", FailureCode.ENVIRONMENT_ERROR)
    assert endings(outcome) == [("e0", *late), ("e1", "answered", None), ("e2", *late)]
    assert "took more than 2 seconds in all" in outcome.episodes[0].message
    assert outcome.kinds() == ["scenario", *["tool_call", "tool_result"] * 2, "end"]


@pytest.mark.parametrize("fault", ["--fickle", "--bad-tools"])
def test_an_environment_that_does_not_come_to_tell_its_tools_is_the_organizers_fault(room, fault):
    """The first changes them whenever they are listed."""
    outcome = room.agent(
        "e = next_episode()\nsay(e)", keys=["A", "B"], arguments=(fault,), agent_limits=SandboxLimits(seconds=30.0)
    )
    assert endings(outcome) == [(name, "failed", FailureCode.ENVIRONMENT_ERROR) for name in ("e0", "e1")]
    assert "its organizer has to look at it" in outcome.episodes[0].message


def test_what_a_lost_environment_printed_is_kept_for_the_organizer_and_not_for_the_agents_owner(room):
    outcome = room.agent("ask('POST', '/episodes', {})", arguments=("--dead",))
    assert "this environment never starts" in outcome.result.environment_log
    assert "this environment never starts" not in outcome.result.log
