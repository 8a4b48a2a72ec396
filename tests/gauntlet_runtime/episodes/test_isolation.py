"""A sandbox for each scenario: what is written in one episode is not there in the next, and the next one is ready."""

from __future__ import annotations

import itertools
import threading

import pytest

from gauntlet_runtime import run_job
from gauntlet_runtime.jobs import JobEvent
from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_scoring.failures import FailureCode

REMEMBERS = """
import pathlib
trace = pathlib.Path("/tmp/trace")
say(trace.exists())
trace.write_text("x")
while (e := next_episode()): answer(e)
"""


def starts(outcome):
    return outcome.result.log.count("===== start ")


def test_each_scenario_has_a_sandbox_of_its_own(room):
    outcome = room.agent(REMEMBERS, keys=["A", "B", "C"], isolation="scenario")
    assert [e.failure for e in outcome.episodes] == [None] * 3
    assert starts(outcome) == 3
    assert outcome.said == [False] * 3


def test_an_agent_that_asks_again_after_its_episode_is_told_that_none_is_left(room):
    outcome = room.agent(
        "e = next_episode()\nanswer(e)\nsay(ask('POST', '/episodes', {})[0])", keys=["A", "B"], isolation="scenario"
    )
    assert outcome.said == [204, 204]
    assert [e.failure for e in outcome.episodes] == [None, None]


def test_several_run_at_once_where_the_phase_allows_it(room):
    """None answers before two have an episode, which only sandboxes side by side can have."""
    waits = (
        "import pathlib, time\ne = next_episode()\nwhile not pathlib.Path('two').exists(): time.sleep(0.01)\nanswer(e)"
    )
    spec = room.spec(waits, keys=["A", "B", "C", "D"], isolation="scenario", max_parallel_episodes=2)
    started = []

    def tell(event, detail):
        if event is JobEvent.EPISODE_STARTED:
            started.append(detail["episode"])
        if len(started) == 2:
            (room.files.folder(spec.agent.bundle) / "two").touch()

    room.on_event = tell
    outcome = room.run(spec)
    assert [e.failure for e in outcome.episodes] == [None] * 4
    assert starts(outcome) == 4


def test_an_agent_is_told_how_many_episodes_it_may_have_open(room):
    tells = "import os\nsay(os.environ['GAUNTLET_PARALLEL_EPISODES'])\nwhile (e := next_episode()): answer(e)"
    together = room.agent(tells, keys=["A", "B", "C"], max_parallel_episodes=2)
    assert together.said == ["2"]
    alone = room.agent(tells, keys=["A", "B", "C"], max_parallel_episodes=2, isolation="scenario")
    assert alone.said == ["1"] * 3


def test_the_probe_runs_one_alone_then_the_others(room):
    outcome = room.agent(
        "e = next_episode()\nfor _ in range(10): tool(e, 'sites')\nanswer(e)",
        keys=["A", "B", "C"],
        isolation="scenario",
        max_parallel_episodes=2,
        probe=True,
    )
    told = [event for event, _ in outcome.events]
    first = [JobEvent.EPISODE_STARTED, JobEvent.AGENT_STARTED, JobEvent.EPISODE_ENDED, JobEvent.AGENT_PROVEN]
    assert told[:4] == first
    assert [e.failure for e in outcome.episodes] == [None] * 3


def test_a_crash_costs_its_own_scenario(room):
    outcome = room.agent(
        "e = next_episode()\nif e['scenario']['id'] == 's1': raise SystemExit(3)\nanswer(e)",
        keys=["A", "B", "C"],
        isolation="scenario",
    )
    assert [e.failure for e in outcome.episodes] == [None, FailureCode.AGENT_ERROR, None]
    assert starts(outcome) == 3


def test_one_that_does_not_leave_after_its_episode_is_ended_and_keeps_nobody_waiting(room):
    outcome = room.agent(
        "e = next_episode()\nanswer(e)\nimport time\ntime.sleep(1000)", keys=["A", "B", "C"], isolation="scenario"
    )
    assert [e.failure for e in outcome.episodes] == [None] * 3


def test_trials_of_one_scenario_meet_in_no_sandbox(room):
    spec = room.spec(REMEMBERS, keys=["A", "A"], isolation="scenario")
    trials = [episode.model_copy(update={"trial": n + 1}) for n, episode in enumerate(spec.episodes)]
    outcome = room.run(spec.model_copy(update={"episodes": trials}))
    assert [e.failure for e in outcome.episodes] == [None, None]
    assert outcome.said == [False, False]


def test_an_agent_that_never_opens_an_episode_is_given_up(room):
    outcome = room.agent("pass", keys=["A", "B", "C"], isolation="scenario")
    assert [e.failure for e in outcome.episodes] == [FailureCode.AGENT_ERROR] * 3
    assert starts(outcome) == 2


def test_an_episode_that_lost_its_environment_is_handed_out_again(room):
    """To the sandbox that had it, which has brought none to an end yet."""
    outcome = room.agent(
        """
while (e := next_episode()):
    if not e["id"].endswith(".2"): tool(e, "die")
    else: answer(e)
""",
        keys=["A", "B"],
        isolation="scenario",
    )
    assert [e.failure for e in outcome.episodes] == [None, None]
    assert starts(outcome) == 2


def test_sandboxes_for_which_none_was_left_do_not_end_one_that_is_at_work(room):
    """Three were started for three scenarios, of which the environment could not set up two."""
    spec = room.spec(
        """
import pathlib, time
if e := next_episode():
    while not pathlib.Path("broken").exists(): time.sleep(0.01)
    time.sleep(3)  # until the others have left
    answer(e)
""",
        keys=["A", "cannot-reset", "cannot-reset"],
        isolation="scenario",
        max_parallel_episodes=3,
    )
    ended = []

    def tell(event, detail):
        if event is JobEvent.EPISODE_ENDED:
            ended.append(detail["episode"])
        if len(ended) == 2:
            (room.files.folder(spec.agent.bundle) / "broken").touch()

    room.on_event = tell
    outcome = room.run(spec)
    broken = FailureCode.ENVIRONMENT_ERROR
    assert [e.failure for e in outcome.episodes] == [None, broken, broken]
    assert sorted(ended) == ["e0", "e1", "e2"]


def test_a_second_crash_of_the_probe_is_followed_by_no_third_start(room):
    outcome = room.agent("next_episode()\nraise SystemExit(3)", keys=["A", "B", "C"], isolation="scenario", probe=True)
    assert outcome.result.failure.code is FailureCode.AGENT_ERROR
    assert starts(outcome) == 2


def test_a_sandbox_that_cannot_be_prepared_ahead_is_made_when_it_is_needed(room, monkeypatch):
    prepare, refused = room.sandbox.prepare, []

    def refuses_the_second(spec):
        if "-agent-" in spec.label and not spec.label.endswith("-agent-1") and not refused:
            refused.append(spec.label)
            raise SandboxError("no room")
        return prepare(spec)

    monkeypatch.setattr(room.sandbox, "prepare", refuses_the_second)
    outcome = room.agent(REMEMBERS, keys=["A", "B", "C"], isolation="scenario")
    assert len(refused) == 1
    assert [e.failure for e in outcome.episodes] == [None] * 3
    assert outcome.said == [False] * 3


def test_the_next_agent_has_started_and_waits_while_one_is_at_work(room, monkeypatch):
    """Each answers only when the next has said that it asks."""
    tells = """
import pathlib, time
asked = time.monotonic()
print("asks")
e = next_episode()
begun = time.monotonic()
while not pathlib.Path("next-after-" + e["scenario"]["id"]).exists(): time.sleep(0.01)
say([asked, begun, time.monotonic()])
answer(e)
"""
    spec = room.spec(tells, keys=["A", "B", "C"], isolation="scenario")
    program, prepare = room.files.folder(spec.agent.bundle), room.sandbox.prepare
    agents, over = [], threading.Event()

    def remember(wanted):
        run = prepare(wanted)
        if "-agent-" in wanted.label:
            agents.append(run)
        return run

    def tell():
        for number in range(3):
            while number < 2 and b"asks" not in b"".join(run.log_tail("stdout") for run in agents[number + 1 :]):
                if over.wait(0.01):
                    return
            (program / f"next-after-s{number}").touch()

    monkeypatch.setattr(room.sandbox, "prepare", remember)
    telling = threading.Thread(target=tell)
    telling.start()
    try:
        outcome = room.run(spec)
    finally:
        over.set()
        telling.join()
    assert [e.failure for e in outcome.episodes] == [None] * 3
    assert starts(outcome) == 3
    one_after_the_other = sorted(outcome.said, key=lambda times: times[1])
    for (_, _, answered), (asked, begun, _) in itertools.pairwise(one_after_the_other):
        assert asked < answered < begun


def test_one_that_waits_for_another_s_episode_does_not_wait_on_its_own_time(room):
    spec = room.spec("e = next_episode()\nimport time\ntime.sleep(4)\nanswer(e)", keys=["A", "B"], isolation="scenario")
    limits = spec.agent_limits.model_copy(update={"seconds": 5.0})  # enough to start in, and for an episode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_job, "PLATFORM_SECONDS", 0.5)
        patch.setattr(run_job, "ENVIRONMENT_SECONDS", 0.0)
        outcome = room.run(spec.model_copy(update={"agent_limits": limits}))
    assert [e.failure for e in outcome.episodes] == [None, None]


def test_trials_do_not_overlap(room):
    """Two that run at once could tell each other how a scenario went."""
    lingers = """
import time
say(time.monotonic())
e = next_episode()
time.sleep(0.5)
answer(e)
while True:
    say(time.monotonic())
    time.sleep(0.01)
"""
    spec = room.spec(lingers, keys=["A", "A", "B"], isolation="scenario", trials=2)
    trials = [episode.model_copy(update={"trial": n + 1}) for n, episode in enumerate(spec.episodes)]
    outcome = room.run(spec.model_copy(update={"episodes": trials}))
    assert [e.failure for e in outcome.episodes] == [None] * 3
    assert starts(outcome) == 3
    assert outcome.said == sorted(outcome.said)  # all that one said, then all that the next said
