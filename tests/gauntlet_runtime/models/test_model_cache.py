"""The exact-match cache: a run that is run again costs nothing and goes the same way."""

from __future__ import annotations

from decimal import Decimal

ASKS = """
while (e := next_episode()):
    said = [chat("the same", temperature=1.0)[1]["choices"][0]["message"]["content"] for _ in range(2)]
    said.append(chat("streamed", stream=True)[1])
    said.append(chat("another")[1]["choices"][0]["message"]["content"])
    say(said)
    answer(e)
"""


def test_a_rerun_costs_nothing_and_repeats_exactly(models):
    first = models.agent(ASKS, keys=["A", "B"], llm={"cache": True})
    asked = len(models.server.seen)
    assert asked == 8
    paid = [settled.cost for settled in models.platform.settled if settled.paid]
    assert len(paid) == 8
    models.platform.settled.clear()
    again = models.agent(ASKS, keys=["A", "B"], llm={"cache": True})
    assert again.said == first.said
    assert len(models.server.seen) == asked
    assert [settled.paid for settled in models.platform.settled] == [False] * 8
    results = [event for event in again.record() if event.kind == "model_result"]
    assert [result.cached for result in results] == [True] * 4
    assert [(e.tokens, e.cost) for e in again.episodes] == [(e.tokens, e.cost) for e in first.episodes]
    assert all(e.cost > Decimal(0) for e in again.episodes)


def test_the_same_request_later_or_in_another_scenario_is_asked_anew(models):
    outcome = models.agent(ASKS, keys=["A", "B"], llm={"cache": True})
    contents = [said[:2] for said in outcome.said]
    assert contents == [
        ["answer 1 to the same", "answer 2 to the same"],
        ["answer 5 to the same", "answer 6 to the same"],
    ]


def test_without_the_cache_nothing_is_kept(models):
    models.agent(ASKS)
    assert models.platform.answers == {}
    models.agent(ASKS)
    assert len(models.server.seen) == 8
