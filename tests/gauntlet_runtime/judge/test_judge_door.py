"""The judge's door: one model, metered, its answers kept; its faults are nobody's score."""

from __future__ import annotations

import os
import signal
import threading
from decimal import Decimal

import pytest

TWICE = """
say(chat("the same", "x")[1], chat("the same", "y")[1], chat("the same", "x")[1])
done()
"""


def test_programs_that_run_at_once_have_a_door_each(judged):
    script = "say(chat('to ' + Path('score.py').read_text().rsplit('#', 1)[1])[1][-4:])\ndone()\n"
    result = judged.score(f"{script}#one", f"{script}#two", f"{script}#six")
    assert [judged.said(result, n) for n in range(3)] == [["one"], ["two"], ["six"]] or [
        text[-3:] for n in range(3) for text in judged.said(result, n)
    ] == ["one", "two", "six"]


def test_the_door_names_the_limit_of_an_answer_as_the_provider_does(judged):
    judged.bank.limit_field = "max_completion_tokens"
    judged.score("chat('x')\ndone()")
    assert [judged.server.seen[0].get(name) for name in ("max_completion_tokens", "max_tokens")] == [1000, None]


def test_only_the_judges_model_can_be_asked(judged):
    script = """
body = {"model": "another", "messages": []}
say(ask("/chat/completions", body)[0], ask("/chat/completions", [])[0], ask("/embeddings", body)[0], ask("/")[0])
done()
"""
    assert judged.said(judged.score(script)) == [404, 400, 404, 404]
    assert judged.server.seen == []


def test_what_is_scored_again_repeats_exactly_and_costs_nothing(judged):
    first = judged.said(judged.score(TWICE))
    assert first == ["answer 1 to the same", "answer 2 to the same", "answer 3 to the same"]
    paid, judged.bank.budget = judged.bank.used, Decimal(0)  # not even a budget is needed
    assert judged.said(judged.score(TWICE)) == first
    assert (len(judged.server.seen), judged.bank.used) == (3, paid)


def test_programs_that_ask_the_same_share_the_answers(judged):
    """Two programs judge the same episodes: they agree, and it costs once, also where both ask at the same moment."""
    results = judged.score(TWICE, TWICE)
    assert sorted(judged.said(results, 0)) == sorted(judged.said(results, 1))
    assert judged.said(results, 0)[::2] == judged.said(results, 1)[::2]
    assert len(judged.server.seen) == len(judged.bank.settled) == 3


def test_without_the_cache_every_question_is_asked(judged):
    assert judged.said(judged.score(TWICE, cache=False)) != judged.said(judged.score(TWICE, cache=False))
    assert judged.bank.answers == {}


def test_an_exhausted_budget_fails_the_job_as_the_organizers_whatever_the_program_writes(judged):
    judged.bank.budget = Decimal("0.0021")  # the most that one call can use, and not of two
    result = judged.score("say(*(chat('x', str(n))[1] for n in range(60)))\ndone(a=0.0)")
    assert result.failure.code == "scoring_error"
    assert "budget of 0.0021 for an evaluation is exhausted" in result.failure.message
    assert "organizer" in result.failure.message
    assert result.programs == []
    assert judged.bank.used <= judged.bank.budget
    assert judged.bank.held == {}


def test_a_question_waits_for_others_that_hold_the_budget_and_a_rescore_still_costs_nothing(judged):
    judged.bank.budget = Decimal("0.0025")  # of one question at a time, and of what all of them use
    judged.server.says = lambda body, number: judged.server.released.wait(0.3) or "yes"
    script = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    say(*pool.map(lambda n: chat('x', str(n))[0], range(3)))
done(a=1.0)
"""
    result = judged.score(script)
    assert judged.said(result) == [200] * 3
    assert result.failure is None
    assert judged.bank.waits > 0
    assert judged.server.most_under_way == 1
    assert judged.said(judged.score(script)) == [200] * 3
    assert len(judged.server.seen) == 3


@pytest.mark.parametrize("fault", ["500", "429", "garbage", "cut", "reset", "404"])
def test_a_judge_that_cannot_be_reached_is_the_platforms_fault(judged, fault):
    judged.server.always = fault
    result = judged.score("status, code = chat('x')\ndone(a=0.0)")
    assert result.failure.code == "infrastructure"
    assert "could not be reached" in result.failure.message
    assert len(judged.server.seen) == (1 if fault == "404" else 3)
    assert judged.bank.used == 0


def test_faults_that_pass_are_not_seen_by_the_program(judged):
    judged.server.faults += ["500", "429:0", None, "cut", None]
    assert judged.said(judged.score("say(chat('a')[0], chat('b')[0])\ndone()")) == [200, 200]


@pytest.mark.parametrize(
    ("set_by", "named"), [("organizer", "the competition's organizer"), ("operator", "the operator")]
)
@pytest.mark.parametrize("status", ["401", "403"])
def test_a_refused_key_is_named_with_whoever_set_it(judged, status, set_by, named):
    judged.server.always = status
    judged.bank.set_by = set_by
    result = judged.score("chat('x')\ndone()")
    assert result.failure.code == "scoring_error"
    assert f"refused the key that {named}" in result.failure.message
    assert "has to set a valid one" in result.failure.message
    assert len(judged.server.seen) == 1


def test_a_platform_that_cannot_be_asked_for_the_budget_is_tried_again(judged, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.model_relay._PAUSE_SECONDS", 0.01)
    judged.bank.failing = True
    result = judged.score("chat('x')\ndone()")
    assert result.failure.code == "infrastructure"
    assert judged.server.seen == []


def test_without_a_provider_no_program_is_started(judged):
    judged.bank.url = ""
    result = judged.score("raise SystemExit(3)")
    assert result.failure.code == "scoring_error"
    assert "provider 'ours' of this competition's judge wise is not set" in result.failure.message
    assert result.log == ""


def test_a_question_that_the_provider_refuses_is_handed_on(judged):
    judged.server.faults += ["400"]
    assert judged.said(judged.score("say(chat('x'), chat('x')[0])\ndone()")) == [[400, "some_code"], 200]


def test_a_gateway_that_dies_is_the_platforms_fault(judged, monkeypatch):
    """It dies while a question is under way; the program would have made a zero of that."""
    judged.server.always = "hold"
    spawned = []
    spawn = judged.room.gateways.spawn_judge
    monkeypatch.setattr(judged.room.gateways, "spawn_judge", lambda: spawned.append(spawn()) or spawned[-1])

    def kill_it() -> None:
        while not judged.server.seen:
            judged.server.released.wait(0.01)
        os.kill(spawned[0].pid, signal.SIGKILL)

    watcher = threading.Thread(target=kill_it)
    watcher.start()
    result = judged.score("try:\n    chat('x')\nexcept OSError:\n    pass\ndone(a=0.0)")
    watcher.join()
    assert result.failure.code == "infrastructure"
    assert result.programs == []
