"""What the bodies of an agent's requests may take in its gateway's memory."""

from __future__ import annotations

import tracemalloc

import pydantic_core
import pytest

from gauntlet_runtime.gateway.bodies import BodyRoom
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.jobs import EpisodeLimits


@pytest.mark.parametrize(
    "value", ['{"":{}}', "[[]]", "[]", "{}", "1.5", "null", '"a"', '{"a":1,"b":2}', '"some words"']
)
def test_a_body_takes_no_more_than_it_is_counted_with(value):
    body = ("[" + ",".join([value] * (100_000 // len(value))) + "]").encode()
    tracemalloc.start()
    read = pydantic_core.from_json(body)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read
    room = BodyRoom(taken)
    with room.held(b" "), pytest.raises(ApiError) as refused, room.held(body):
        pass  # what it is counted with fills a room of what it takes
    assert (refused.value.status, refused.value.code) == (503, "too_many_requests")
    assert refused.value.retry_after is not None


def test_there_is_room_again_once_a_body_was_handled():
    room = BodyRoom(1000)
    body = b'{"text": "%s"}' % (b"x" * 600)
    for _ in range(3):
        with room.held(body), pytest.raises(ApiError), room.held(body):
            pass
        with pytest.raises(ValueError, match="handled"), room.held(body):
            raise ValueError("handled")


def test_a_body_alone_may_be_as_large_as_it_is():
    with BodyRoom(1000).held(b"[],[]" * 1000):
        pass


def test_an_agent_that_holds_too_much_is_refused_for_now_and_its_gateway_lives(room):
    """Each of these calls is within every limit. A mark counts as the value that it may stand for, also in a text."""
    outcome = room.agent(
        """
import threading
params = {"name": "slow", "arguments": {"seconds": 5, "text": "," * 900_000}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
e = next_episode()
statuses = []
def call():
    status, reply = raw("POST", f"/episodes/{e['id']}/mcp", body)
    statuses.append((status, reply.get("code"), reply.get("retry_after")))
threads = [threading.Thread(target=call) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
say(sorted(set(statuses), key=str), tool(e, "sites")[0], answer(e)[0])
""",
        episode_limits=EpisodeLimits(parallel_tool_calls=8),
    )
    assert outcome.said == [[[200, None, None], [503, "too_many_requests", 1.0]], 200, 200]
