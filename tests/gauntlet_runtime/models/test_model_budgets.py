"""Budgets, rate and concurrency: what an agent may use of its models, and how it ends where that is used up."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gauntlet_runtime.gateway.model_requests import prompt_bound
from gauntlet_runtime.metering import Refusal, Shortage

SPEND = """
while (e := next_episode()):
    for number in range(20):
        status, said = chat("some words", max_tokens=100)
        if status != 200:
            say(status, said["error"]["code"], said["error"]["message"], said.get("retry_after"))
            break
    say(answer(e)[0])
"""


def test_an_exhausted_token_budget_ends_the_episode_and_no_other(models):
    outcome = models.agent(SPEND, keys=["A", "B"], llm={"per_episode": {"tokens": 250}})
    status, code, message, again, answered = outcome.said[:5]
    assert (status, code, again) == (429, "budget_exceeded", None)
    assert message.startswith("The budget of 250 tokens for an episode is exhausted:")
    assert answered == 410
    assert len(outcome.said) == 10  # the second episode had a budget of its own, and went the same way
    for episode in outcome.episodes:
        assert (episode.outcome, episode.failure) == ("failed", "budget_exceeded")
        assert "250 tokens" in episode.message
        assert 0 < episode.tokens <= 250
    made = [kind for kind in outcome.kinds() if kind == "model_result"]
    assert outcome.kinds()[-1] == "end"
    assert len(made) == outcome.episodes[0].model_calls
    assert sum(settled.tokens for settled in models.platform.settled) == sum(e.tokens for e in outcome.episodes)


def test_an_exhausted_cost_budget_says_the_cost(models):
    outcome = models.agent(SPEND, llm={"per_episode": {"cost": Decimal("0.0001")}})
    (episode,) = outcome.episodes
    assert episode.failure == "budget_exceeded"
    assert "The budget of 0.0001 for the models' cost in an episode is exhausted" in episode.message
    assert 0 < episode.cost <= Decimal("0.0001")


def test_a_model_without_prices_costs_nothing(models):
    outcome = models.agent(
        """
e = next_episode()
say(ask("POST", "/llm/v1/chat/completions", {"model": "free", "messages": [{"role": "user", "content": "x"}]})[0])
answer(e)
""",
        llm={"per_episode": {"cost": Decimal(0)}},
    )
    assert outcome.said == [200]
    assert (outcome.episodes[0].cost, outcome.episodes[0].tokens) == (0, 5)


def test_the_evaluations_budget_is_asked_before_a_call_is_made(models, refuse):
    refuse(shortage=Shortage.TOKENS, limit="9000", used="8999")
    outcome = models.agent(SPEND)
    (episode,) = outcome.episodes
    assert episode.failure == "budget_exceeded"
    assert "The budget of 9000 tokens for this evaluation is exhausted: 8999 are used" in episode.message
    assert models.server.seen == []
    assert outcome.kinds() == ["scenario", "end"]
    assert episode.tokens == 0  # nothing stays reserved


@pytest.mark.parametrize("shortage", ["rate", "concurrency", "tokens", "cost"])
def test_what_others_calls_hold_is_waited_for_and_the_clock_stands_still(models, shortage):
    """An agent that makes one call at a time cannot know what others of its submission do."""
    models.platform.refusals += [Refusal(shortage=shortage, limit="9", used="9", retry_after=0.5)] * 4
    outcome = models.agent(
        "e = next_episode()\nsay(chat('x')[0])\nsay(answer(e)[0])", episode_limits={"episode_seconds": 1.5}
    )
    assert outcome.said == [200, 200]
    (episode,) = outcome.episodes
    assert episode.failure is None
    assert outcome.record()[2].tries == 1
    assert len(models.server.seen) == len(models.platform.reserved) == 1


def test_what_is_waited_for_too_long_is_not_the_agents_fault(models, refuse, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.run_job.MODEL_SECONDS", 0.5)
    refuse(shortage="concurrency", retry_after=0.1)
    outcome = models.agent("e = next_episode()\nsay(chat('x')[1]['code'])\nsay(answer(e)[0])")
    assert outcome.said == ["model_unavailable", 410]
    (episode,) = outcome.episodes
    assert (episode.failure, episode.tokens) == ("infrastructure", 0)
    assert models.server.seen == []


def test_sandboxes_side_by_side_have_a_pace_each(models):
    """What all of them may do together the platform knows, and lets them wait; alone none did anything wrong."""
    outcome = models.agent(
        "while (e := next_episode()):\n    say(chat('x')[0], chat('y')[0])\n    answer(e)",
        keys=["A", "B"],
        isolation="scenario",
        llm={"calls_per_minute": 1},
    )
    assert outcome.said == [200, 429] * 2


def test_a_jobs_own_rate_is_kept_without_asking(models):
    outcome = models.agent(
        """
e = next_episode()
say([chat("x")[0] for _ in range(3)])
say(chat("x")[1]["retry_after"])
answer(e)
""",
        llm={"calls_per_minute": 2},
    )
    statuses, again = outcome.said
    assert statuses == [200, 200, 429]
    assert 0 < again <= 60
    assert len(models.platform.reserved) == 2


def test_so_many_calls_may_be_under_way_at_once(models):
    models.server.always = "hold"
    outcome = models.agent(
        """
import threading, time
e = next_episode()
got = []
def one():
    got.append(chat("x"))
threads = [threading.Thread(target=one, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
while ask("POST", "/llm/v1/chat/completions", {})[0] != 429:
    time.sleep(0.05)
third = chat("x")
say(third[0], third[1]["error"]["message"], third[1]["retry_after"])
say(len(got))
answer(e)
""",
        llm={"concurrency": 2},
    )
    assert outcome.said == [429, "2 model call(s) may be under way at once.", 1.0, 0]
    assert models.server.most_under_way <= 2
    # Answered while two calls were under way: they count with all that they could use.
    assert outcome.episodes[0].tokens == sum(reserved.tokens for reserved in models.platform.reserved)


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_hangs_up_has_used_what_it_asked_for(models, stream):
    models.server.says = lambda body, number: "no" if models.server.released.wait(0.3) else "yes yes"
    outcome = models.agent(
        f"""
import json, os, socket, time
from urllib.parse import urlsplit
e = next_episode()
address = urlsplit(os.environ["GAUNTLET_URL"])
body = json.dumps({{"model": "small", "stream": {stream}, "messages": [{{"role": "user", "content": "x"}}]}})
head = f"POST /llm/v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: {{len(body)}}\\r\\n\\r\\n"
with socket.create_connection((address.hostname, address.port)) as hung_up:
    hung_up.sendall((head + body).encode())
for _ in range(300):
    left = ask("GET", "/episodes")[1]["episodes"][0]["budget"]["tokens"]
    if 99_000 < left < 100_000:
        break
    time.sleep(0.05)
say(left)
answer(e)
"""
    )
    assert outcome.said == [100_000 - 3]
    assert [(one.tokens, one.paid) for one in models.platform.settled] == [(3, True)]
    assert (outcome.episodes[0].tokens, outcome.episodes[0].model_calls) == (3, 1)
    assert outcome.record()[2].status == 200


def test_the_limit_of_an_answer_is_set_and_capped(models):
    outcome = models.agent(
        """
e = next_episode()
for more in ({}, {"max_tokens": 10}, {"max_tokens": 5000}, {"max_completion_tokens": 20}, {"n": 3, "max_tokens": 7}):
    say(chat("x", **more)[0])
for more in ({"max_tokens": 0}, {"max_tokens": "9"}, {"n": 0}, {"n": 1e9}, {"service_tier": "priority"}):
    say(chat("x", **more)[0])
answer(e)
"""
    )
    assert outcome.said == [200] * 5 + [400] * 5
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in models.server.seen]
    assert limits == [(1000, None), (10, None), (1000, None), (20, None), (7, None)]
    bounds = [reserved.tokens for reserved in models.platform.reserved]
    assert bounds[0] - bounds[1] > 900  # a smaller limit reserves less
    assert all(bound > limit for bound, limit in zip(bounds, (1000, 10, 1000, 20, 21), strict=True))


@pytest.mark.parametrize(
    "usage", ["null", '{"prompt_tokens": -5, "completion_tokens": 1}', '{"prompt_tokens": 1e12}', '"many"']
)
def test_a_usage_that_cannot_be_believed_counts_as_the_bound(models, usage):
    models.server.faults.append(f"usage:{usage}")
    outcome = models.agent("e = next_episode()\nsay(chat('x', max_tokens=50)[0])\nanswer(e)")
    assert outcome.said == [200]
    result = outcome.record()[2]
    assert result.estimated
    (reserved,) = models.platform.reserved
    assert 50 <= outcome.episodes[0].tokens <= reserved.tokens


def test_a_prompt_has_no_more_tokens_than_bytes_and_pictures_have_a_bound():
    text = "日本語 🙂 words"
    request = {"model": "m", "messages": [{"role": "user", "content": text}]}
    assert prompt_bound(request) >= len(text.encode())
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500_000}}
    pictures = prompt_bound({"messages": [{"role": "user", "content": [picture, picture]}]})
    assert 100_000 < pictures < 101_000  # their bytes say nothing
    for other in ("data:text/plain;base64,", "data:image/"):  # a text, and a picture that is none of a message's
        part = {"type": "image_url", "image_url": {"url": other + "A" * 500_000}}
        where = {"messages": [{"content": [part]}]} if "text" in other else {"tools": [part]}
        assert prompt_bound(where) > 500_000
