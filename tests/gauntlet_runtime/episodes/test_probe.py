"""The first slice of an evaluation: an agent that cannot work fails in seconds, one that can goes on with the rest."""

from __future__ import annotations

from gauntlet_runtime.jobs import JobEvent, SandboxLimits
from gauntlet_scoring.failures import FailureCode


def test_an_agent_that_works_goes_on_with_the_slice_in_the_same_sandbox(room):
    outcome = room.agent("while (e := next_episode()): answer(e)", keys=["A", "B", "C"], probe=True)
    assert [(e.episode, e.failure) for e in outcome.episodes] == [("e0", None), ("e1", None), ("e2", None)]
    assert outcome.result.failure is None
    assert "start 2" not in outcome.result.log


def test_the_platform_is_told_once_when_the_first_episode_has_ended(room):
    outcome = room.agent("while (e := next_episode()): answer(e)", keys=["A", "B"], probe=True)
    told = [event for event, _ in outcome.events]
    assert told.index(JobEvent.AGENT_PROVEN) == told.index(JobEvent.EPISODE_ENDED) + 1
    assert told.count(JobEvent.AGENT_PROVEN) == 1


def test_the_platform_is_told_once_when_the_first_episode_was_opened_however_it_ends(room):
    crashes = "e = next_episode()\nif e['scenario']['id'] == 's0': raise SystemExit(3)\nanswer(e)"
    outcome = room.agent(crashes, keys=["A", "B"], probe=True)
    told = [event for event, _ in outcome.events]
    assert told[:3] == [JobEvent.EPISODE_STARTED, JobEvent.AGENT_STARTED, JobEvent.EPISODE_ENDED]
    assert told.count(JobEvent.AGENT_STARTED) == 1


def test_a_slice_that_is_no_probe_tells_nothing_of_the_kind(room):
    outcome = room.agent("while (e := next_episode()): answer(e)", keys=["A"])
    assert JobEvent.AGENT_STARTED not in [event for event, _ in outcome.events]
    assert JobEvent.AGENT_PROVEN not in [event for event, _ in outcome.events]


def test_an_agent_that_asks_for_many_episodes_at_once_gets_the_others_when_the_first_is_over(room):
    outcome = room.agent(
        """
from concurrent.futures import ThreadPoolExecutor
def work(_):
    while (e := next_episode()):
        for _ in range(3): tool(e, "sites")
        answer(e)
with ThreadPoolExecutor(3) as pool: list(pool.map(work, range(3)))
""",
        keys=["A", "B", "C", "D"],
        probe=True,
        max_parallel_episodes=3,
    )
    assert [e.failure for e in outcome.episodes] == [None] * 4
    told = [event for event, _ in outcome.events]
    first_end = told.index(JobEvent.EPISODE_ENDED)
    assert told[:first_end].count(JobEvent.EPISODE_STARTED) == 1


def test_an_agent_with_many_requests_that_crashes_in_its_first_episode_loses_that_one_only(room):
    outcome = room.agent(
        """
import threading
first = next_episode()
if first["scenario"]["id"] == "s0":
    threading.Thread(target=next_episode, daemon=True).start()
    for _ in range(20): ask("GET", "/episodes")  # so that the gateway has the other request by now
    raise SystemExit(3)
answer(first)
while (e := next_episode()): answer(e)
""",
        keys=["A", "B", "C"],
        probe=True,
        max_parallel_episodes=2,
    )
    assert [e.failure for e in outcome.episodes] == [FailureCode.AGENT_ERROR, None, None]
    assert outcome.result.failure is None


def test_an_agent_that_cannot_start_fails_the_evaluation_at_once(room):
    outcome = room.agent("import no_such_module", keys=["A", "B"], probe=True)
    assert outcome.result.failure.code is FailureCode.AGENT_ERROR
    assert outcome.episodes == []
    assert outcome.events == []
    assert "no_such_module" in outcome.result.log
    assert outcome.result.failure.message == (
        "The agent ended with exit code 1 before it asked for an episode. Its output is in the log."
    )
    assert "start 2" not in outcome.result.log


def test_a_first_episode_that_is_lost_to_a_crash_is_followed_by_the_second(room):
    outcome = room.agent(
        "e = next_episode()\nif e['scenario']['id'] == 's0': raise SystemExit(3)\nanswer(e)",
        keys=["A", "B"],
        probe=True,
    )
    assert [(e.episode, e.failure) for e in outcome.episodes] == [("e0", FailureCode.AGENT_ERROR), ("e1", None)]
    assert outcome.result.failure is None
    assert JobEvent.AGENT_PROVEN in [event for event, _ in outcome.events]


def test_once_proven_an_agent_may_crash_in_every_other_episode(room):
    outcome = room.agent(
        "e = next_episode()\nif e['scenario']['id'] != 's0': raise SystemExit(3)\nanswer(e)\nnext_episode()\nexit(3)",
        keys=["A", "B", "C"],
        probe=True,
    )
    assert [e.failure for e in outcome.episodes] == [None, FailureCode.AGENT_ERROR, FailureCode.AGENT_ERROR]
    assert outcome.result.failure is None


def test_two_crashes_fail_the_evaluation_with_the_limits_code(room):
    outcome = room.agent(
        "e = next_episode()\nx = bytearray(400 << 20)",
        keys=["A", "B", "C"],
        probe=True,
        agent_limits=SandboxLimits(memory=96 << 20),
    )
    assert outcome.result.failure.code is FailureCode.MEMORY_LIMIT
    assert [e.failure for e in outcome.episodes] == [FailureCode.MEMORY_LIMIT] * 2


def test_an_evaluation_of_one_episode_that_crashes_fails(room):
    outcome = room.agent("next_episode()\nraise SystemExit(3)", keys=["A"], probe=True)
    assert outcome.result.failure.code is FailureCode.AGENT_ERROR


def test_an_episode_that_failed_without_a_crash_does_not_fail_the_evaluation(room):
    outcome = room.agent(
        """
e = next_episode()
for _ in range(25): raw("POST", f"/episodes/{e['id']}/mcp", b"{")
while ask("POST", "/episodes", {})[0] == 429: pass  # until the first is closed
""",
        keys=["A", "B"],
        probe=True,
    )
    assert [e.failure for e in outcome.episodes] == [FailureCode.PROTOCOL_ERROR, FailureCode.AGENT_ERROR]
    assert outcome.result.failure is None


def test_an_agent_that_leaves_without_asking_is_told_so(room):
    outcome = room.agent("pass", keys=["A", "B"], probe=True)
    assert outcome.result.failure.message == (
        "The agent ended without asking for an episode that was waiting. Its output is in the log."
    )


def test_an_agent_that_ends_while_it_waits_for_its_episode_is_not_told_that_it_never_asked(room):
    outcome = room.agent(
        """
import os, threading
threading.Thread(target=next_episode, daemon=True).start()
while ask("GET", "/episodes")[0] == 200 and ask("POST", "/episodes", {})[0] != 429:
    pass  # until the gateway has the first request
os._exit(3)
""",
        keys=["slow-reset"],
        probe=True,
    )
    assert outcome.result.failure.message == (
        "The agent ended with exit code 3 before it answered. Its output is in the log."
    )


def test_a_crash_and_then_no_start_that_opens_an_episode_fail_the_evaluation(room):
    spec = room.spec("next_episode()\nraise SystemExit(3)", keys=["A", "B"], probe=True)

    def break_it(event, detail):
        if event is JobEvent.EPISODE_ENDED:
            (room.files.folder(spec.agent.bundle) / "agent.py").write_text("raise SystemExit(4)")

    room.on_event = break_it
    outcome = room.run(spec)
    assert outcome.result.failure.message == (
        "The agent ended with exit code 4 before it asked for an episode. Its output is in the log."
    )
    assert [e.failure for e in outcome.episodes] == [FailureCode.AGENT_ERROR] * 2


def test_an_episode_that_the_environment_broke_stands_in_no_way_of_two_crashes(room):
    outcome = room.agent("next_episode()\nraise SystemExit(3)", keys=["cannot-reset", "A", "B", "C"], probe=True)
    assert outcome.result.failure.code is FailureCode.AGENT_ERROR
    ends = [(e.episode, e.failure) for e in outcome.episodes]
    crash = FailureCode.AGENT_ERROR
    assert ends == [("e0", FailureCode.ENVIRONMENT_ERROR), ("e1", crash), ("e2", crash)]


def test_an_agent_for_which_the_environment_leaves_nothing_is_not_to_blame(room):
    outcome = room.agent("next_episode()", keys=["cannot-reset", "cannot-reset"], probe=True)
    assert outcome.result.failure is None
    assert [e.failure for e in outcome.episodes] == [FailureCode.ENVIRONMENT_ERROR] * 2
