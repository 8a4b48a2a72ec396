"""The episode API, as an agent in a real sandbox meets it."""

from __future__ import annotations

import zipfile
from itertools import pairwise

from gauntlet_runtime.jobs import EpisodeLimits
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

WHOLE = """
while (e := next_episode()):
    say(e)
    say(rpc(e, "tools/list")[1]["result"]["tools"])
    say(tool(e, "sites")[1])
    say(ask("POST", f"/episodes/{e['id']}/messages", {"text": "hello"})[1])
    say(ask("POST", f"/episodes/{e['id']}/notes", {"text": "thinking"})[0])
    say(ask("PUT", f"/episodes/{e['id']}/plan", {"steps": [{"agent": "a", "instruction": "look"}]})[0])
    say([open["id"] for open in ask("GET", "/episodes")[1]["episodes"]])
    say(answer(e, "two sites", data={"sites": 2}))
"""


def test_an_agent_goes_through_every_episode(room):
    outcome = room.agent(WHOLE, keys=["KEY-0", "KEY-1"])
    assert [(e.episode, e.outcome, e.failure) for e in outcome.episodes] == [
        ("e0", Outcome.ANSWERED, None),
        ("e1", Outcome.ANSWERED, None),
    ]
    episode, tools, sites, reply, note, plan, listed, closed = outcome.said[:8]
    assert episode["scenario"] == {"id": "s0", "text": "question 0", "show": {"n": 0}}
    assert episode["messages"] == [{"role": "user", "text": "question 0"}]
    assert episode["budget"] == {"turns": 60, "tool_calls": 50, "parallel_tool_calls": 4, "answer_bytes": 65536}
    assert 0 < episode["seconds_left"] <= 60
    assert {tool["name"] for tool in tools} >= {"sites", "echo"}
    assert sites["result"]["structuredContent"] == {"sites": ["north", "south"]}
    assert (reply["reply"], reply["done"]) == ("you said: hello", False)
    assert (note, plan, listed, closed[0]) == (200, 200, ["e0"], 200)
    assert [kind for kind, _ in outcome.events] == ["episode_started", "episode_ended"] * 2


def test_the_record_holds_each_intent_before_its_effect(room):
    outcome = room.agent(WHOLE)
    assert outcome.kinds() == [
        "scenario",
        "tool_call",
        "tool_result",
        "message",
        "message",
        "note",
        "plan",
        "answer",
        "end",
    ]
    record = outcome.record()
    assert [event.seq for event in record] == list(range(len(record)))
    assert all(earlier.at <= later.at for earlier, later in pairwise(record))
    assert [event.turn for event in record] == [0, 0, 1, 1, 2, 2, 2, 2, 3]
    call, result, end = record[1], record[2], record[-1]
    assert (call.tool, call.call, result.call) == ("sites", result.call, call.call)
    assert result.structured == {"sites": ["north", "south"]}
    assert end.state == {"scenario": "KEY-0", "seed": 7, "calls": 1, "resets": 1}
    assert (outcome.episodes[0].steps, outcome.episodes[0].tool_calls) == (3, 1)


def test_the_organizers_key_and_the_reserved_tools_never_reach_the_agent(room):
    outcome = room.agent(
        WHOLE
        + """
""",
        keys=["SECRET-KEY"],
    )
    assert "SECRET-KEY" not in outcome.result.log
    outcome = room.agent(
        """
e = next_episode()
say([tool["name"] for tool in rpc(e, "tools/list")[1]["result"]["tools"]])
for name in ("gauntlet_reset", "gauntlet_state", "gauntlet_user"):
    say(tool(e, name, scenario="x", seed=1, message="x")[1]["result"])
answer(e)
""",
        keys=["SECRET-KEY"],
    )
    names, *results = outcome.said
    assert not any(name.startswith("gauntlet_") for name in names)
    assert [(r["isError"], r["content"][0]["text"]) for r in results] == [
        (True, f"Unknown tool: {name}") for name in ("gauntlet_reset", "gauntlet_state", "gauntlet_user")
    ]
    assert "SECRET-KEY" not in outcome.result.log
    assert outcome.record()[-1].state["resets"] == 1  # and nothing was reset


def test_tool_errors_come_back_as_results_and_are_recorded(room):
    outcome = room.agent("""
e = next_episode()
say(tool(e, "fail")[1]["result"])
say(tool(e, "no_such_tool")[1]["result"])
say(tool(e, "error")[1]["result"])
answer(e)
""")
    failed, unknown, error = outcome.said
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "the pump is broken")
    assert (unknown["isError"], unknown["content"][0]["text"]) == (True, "Unknown tool: no_such_tool")
    assert error["isError"] is True
    results = [event for event in outcome.record() if event.kind == "tool_result"]
    assert [result.is_error for result in results] == [True, True, True]
    assert outcome.record()[-1].state["calls"] == 2  # the unknown one never reached the environment


def test_the_same_idempotency_key_opens_one_episode(room):
    outcome = room.agent(
        """
first, again = next_episode("k"), next_episode("k")
say(first["id"], again["id"])
answer(first)
say(next_episode("k")["id"])
second = next_episode("l")
say(second["id"])
answer(second)
say(ask("POST", "/episodes", {}, **{"Idempotency-Key": "m"}))
""",
        keys=["A", "B"],
    )
    assert outcome.said == ["e0", "e0", "e0", "e1", [204, None]]
    assert [episode.outcome for episode in outcome.episodes] == [Outcome.ANSWERED] * 2


def test_answering_twice_is_refused_and_changes_nothing(room):
    outcome = room.agent("""
e = next_episode()
say(answer(e, "first"), answer(e, "second"), tool(e, "sites"))
""")
    first, second, call = outcome.said
    assert first[0] == 200
    assert (second[0], second[1]["code"]) == (409, "already_answered")
    assert call[0] == 409
    assert [event.text for event in outcome.record() if event.kind == "answer"] == ["first"]


def test_unknown_places_and_episodes_say_so(room):
    outcome = room.agent("""
e = next_episode()
say(ask("POST", "/episodes/nope/answer", {"text": "x"}))
say(ask("POST", "/episodes/nope/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
say(ask("GET", "/nowhere"), ask("DELETE", f"/episodes/{e['id']}/answer"))
say(ask("POST", "/llm/v1/chat/completions", {}))
answer(e)
""")
    unknown, unknown_tools, nowhere, method, models = outcome.said
    assert (unknown[0], unknown[1]["code"]) == (404, "unknown_episode")
    assert (unknown_tools[0], unknown_tools[1]["code"]) == (404, "unknown_episode")
    assert unknown_tools[1]["error"]["message"] == unknown_tools[1]["message"]
    assert (nowhere[0], method[0]) == (404, 405)
    assert (models[0], models[1]["code"]) == (503, "no_models")
    assert models[1]["error"]["message"] == models[1]["message"]  # as clients of the models' protocol read it


def test_no_more_episodes_are_open_than_may_be(room):
    outcome = room.agent(
        """
a, b = next_episode(), next_episode()
say(a["id"], b["id"], ask("POST", "/episodes", {}))
say([e["id"] for e in ask("GET", "/episodes")[1]["episodes"]])
say(*(tool(e, "echo", text=e["id"])[1]["result"]["structuredContent"] for e in (a, b)))
answer(b)
c = next_episode()
say(c["id"])
answer(a), answer(c)
""",
        keys=["A", "B", "C"],
        max_parallel_episodes=2,
    )
    first, second, refused, listed, a, b, third = outcome.said
    assert (first, second, third, listed) == ("e0", "e1", "e2", ["e0", "e1"])
    assert (refused[0], refused[1]["code"], refused[1]["retry_after"]) == (429, "too_many_open_episodes", 1.0)
    assert (a, b) == ({"text": "e0"}, {"text": "e1"})
    ends = [outcome.record(position)[-1].state for position in range(3)]
    assert [(end["scenario"], end["calls"]) for end in ends] == [("A", 1), ("B", 1), ("C", 0)]


def test_the_limits_of_an_episode_are_kept_and_it_can_still_be_answered(room):
    outcome = room.agent(
        """
e = next_episode()
say([tool(e, "sites")[1]["result"]["isError"] for _ in range(3)])
say([ask("POST", f"/episodes/{e['id']}/messages", {"text": "hi"})[0] for _ in range(3)])
say(answer(e, "x" * 300)[0])
say(answer(e, "short")[0])
""",
        episode_limits=EpisodeLimits(turns=4, tool_calls=2, answer_bytes=200),
    )
    calls, messages, large, short = outcome.said
    assert calls == [False, False, True]
    assert messages == [200, 200, 429]
    assert (large, short) == (413, 200)
    result = outcome.episodes[0]
    assert (result.outcome, result.steps, result.tool_calls) == (Outcome.ANSWERED, 5, 2)
    assert outcome.kinds().count("tool_call") == 2


def test_no_more_tool_calls_run_at_once_than_may_and_overlaps_are_marked(room):
    outcome = room.agent(
        """
import threading
e = next_episode()
results = []
threads = [threading.Thread(target=lambda: results.append(tool(e, "slow", seconds=2)[1]["result"])) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
say(sorted(r["isError"] for r in results))
say(tool(e, "slow", seconds=0)[1]["result"]["isError"])
answer(e)
""",
        episode_limits=EpisodeLimits(parallel_tool_calls=3),
    )
    assert outcome.said == [[False, False, False, True], False]
    calls = [event for event in outcome.record() if event.kind == "tool_call"]
    assert [call.overlaps for call in calls] == [False, True, True, False]


def test_a_large_result_stands_beside_the_record(room):
    outcome = room.agent("""
e = next_episode()
say(len(tool(e, "large", bytes=200_000)[1]["result"]["content"][0]["text"]))
say(len(tool(e, "large", bytes=100)[1]["result"]["content"][0]["text"]))
answer(e)
""")
    assert outcome.said == [200_000, 100]
    large, small = (event for event in outcome.record() if event.kind == "tool_result")
    assert large.text is None
    assert large.structured is None
    assert small.text == "x" * 100
    assert small.blob is None
    with zipfile.ZipFile(outcome.episodes[0].trajectory) as archive:
        assert archive.namelist() == ["trajectory.jsonl", f"blobs/{large.blob}"]


def test_a_scenario_without_a_user_has_nobody_to_talk_to(room):
    outcome = room.agent(
        """
e = next_episode()
say(ask("POST", f"/episodes/{e['id']}/messages", {"text": "hello?"}))
answer(e)
""",
        arguments=("--no-user",),
    )
    assert (outcome.said[0][0], outcome.said[0][1]["code"]) == (409, "no_user")
    assert "message" not in outcome.kinds()


def test_the_open_episodes_tell_the_conversation_so_far(room):
    outcome = room.agent("""
e = next_episode()
ask("POST", f"/episodes/{e['id']}/messages", {"text": "hi"})
say(ask("GET", "/episodes")[1]["episodes"][0]["messages"])
answer(e)
""")
    assert outcome.said == [
        [
            {"role": "user", "text": "question 0"},
            {"role": "agent", "text": "hi"},
            {"role": "user", "text": "you said: hi"},
        ]
    ]


def test_tools_that_a_scenario_adds_are_listed_once_the_environment_says_so(room):
    outcome = room.agent(
        """
while (e := next_episode()):
    say(sorted(t["name"] for t in rpc(e, "tools/list")[1]["result"]["tools"] if t["name"].startswith("only_")))
    answer(e)
""",
        keys=["plain", "more-tools", "plain"],
    )
    assert outcome.said == [[], ["only_here"], []]
    assert "only_here" in outcome.record(1)[0].tools


def test_waiting_for_the_environment_stops_the_episodes_clock(room):
    outcome = room.agent(
        """
e = next_episode()
say(tool(e, "slow", seconds=3.5)[0])
say(answer(e)[0])
""",
        episode_limits=EpisodeLimits(episode_seconds=3.0),
    )
    assert outcome.said == [200, 200]
    assert outcome.episodes[0].seconds < 3.0


def test_a_malformed_plan_or_message_is_refused_with_its_place(room):
    outcome = room.agent("""
e = next_episode()
p = f"/episodes/{e['id']}"
say(ask("PUT", p + "/plan", {"steps": [{"agent": "a"}]}))
say(ask("PUT", p + "/plan", {"steps": [{"instruction": "x", "depends_on": [0]}]}))
say(ask("POST", p + "/messages", {"text": 5}), raw("POST", p + "/notes", b"{nonsense"))
say(raw("POST", p + "/answer", b'{"text": "\\\\ud800"}'))
answer(e)
""")
    plan, dependency, message, note, surrogate = outcome.said
    assert [status for status, _ in outcome.said] == [422] * 5
    assert "steps.0.instruction" in plan[1]["message"]
    assert "Step 0" in dependency[1]["message"]
    assert message[1]["message"].startswith("text:")
    assert note[1]["code"] == surrogate[1]["code"] == "invalid_json"
    assert outcome.kinds() == ["scenario", "answer", "end"]


def test_nonsense_costs_the_episode_at_hand_and_no_other(room):
    outcome = room.agent(
        """
a, b = next_episode(), next_episode()
statuses = [raw("POST", f"/episodes/{a['id']}/mcp", b"{nonsense")[0] for _ in range(25)]
say(statuses[0], statuses[-1])
say(tool(b, "sites")[0], answer(b)[0])
c = next_episode()
say(answer(c)[0])
""",
        keys=["A", "B", "C"],
        max_parallel_episodes=2,
    )
    assert outcome.said == [400, 410, 200, 200, 200]
    assert [episode.failure for episode in outcome.episodes] == [FailureCode.PROTOCOL_ERROR, None, None]
    assert "malformed" in outcome.episodes[0].message


def test_a_flood_of_requests_is_answered_and_harms_no_other_episode(room):
    outcome = room.agent(
        """
import threading
a, b = next_episode(), next_episode()
statuses = set()
def flood():
    for _ in range(300):
        statuses.add(tool(a, "sites")[0])
threads = [threading.Thread(target=flood) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
say(sorted(statuses), tool(b, "echo", text="still here")[1]["result"]["structuredContent"], answer(b)[0])
""",
        keys=["A", "B"],
        max_parallel_episodes=2,
    )
    assert outcome.said == [[200, 410], {"text": "still here"}, 200]
    assert [episode.failure for episode in outcome.episodes] == [FailureCode.PROTOCOL_ERROR, None]


def test_bodies_beyond_the_limit_are_refused(room):
    outcome = room.agent("""
e = next_episode()
p = f"/episodes/{e['id']}"
say(raw("POST", p + "/mcp", b" " * (5 << 20))[0], raw("POST", p + "/notes", b" " * (1 << 20))[0])
say(raw("POST", p + "/notes", iter([b" " * (1 << 16)] * 4))[0])
answer(e)
""")
    assert outcome.said == [413, 413, 413]
    assert outcome.episodes[0].outcome is Outcome.ANSWERED
