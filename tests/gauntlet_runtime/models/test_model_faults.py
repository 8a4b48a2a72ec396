"""A provider that fails: tried again, never charged to the agent, and never told to it but as the platform's fault."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr

from gauntlet_runtime.gateway.provider_answers import ANSWER_BYTES
from gauntlet_runtime.gateway.upstream import ProviderFailed, Upstream, WronglySet
from gauntlet_runtime.metering import ModelAccess, ModelPatience

TRANSIENT = ("500", "502", "503", "529", "429", "408", "429:0", "garbage", "empty", "cut", "reset")


@pytest.mark.parametrize("stream", [False, True])
def test_faults_that_pass_are_not_seen_by_the_agent(models, stream):
    faults = [fault for fault in TRANSIENT if fault != "empty" or not stream]
    for fault in faults:
        models.server.faults += [fault, None]
    outcome = models.agent(
        f"""
e = next_episode()
for _ in range({len(faults)}):
    status, said = chat("x", stream={stream})
    say(status)
say(ask("GET", "/episodes")[1]["episodes"][0]["seconds_left"])
answer(e)
""",
        episode_limits={"episode_seconds": 20.0},
    )
    assert outcome.said[:-1] == [200] * len(faults)
    assert len(models.server.seen) == 2 * len(faults)
    results = [event for event in outcome.record() if event.kind == "model_result"]
    assert [result.tries for result in results] == [2] * len(faults)
    assert [(result.prompt_tokens, result.estimated) for result in results] == [(1, False)] * len(faults)


@pytest.mark.parametrize("fault", ["500", "429", "garbage", "cut", "reset"])
def test_a_fault_that_stays_ends_the_episode_as_the_platforms(models, fault):
    models.server.always = fault
    outcome = models.agent("e = next_episode()\nstatus, said = chat('x')\nsay(status, said)\nsay(answer(e)[0])")
    status, said, answered = outcome.said
    assert (status, said["error"]["code"], answered) == (503, "model_unavailable", 410)
    (episode,) = outcome.episodes
    assert (episode.outcome, episode.failure) == ("failed", "infrastructure")
    assert "not the agent's fault" in episode.message
    assert (episode.tokens, episode.cost) == (0, 0)
    assert len(models.server.seen) == 3
    result = outcome.record()[2]
    assert (result.kind, result.status, result.tries, result.cost) == ("model_result", 503, 3, "0")
    assert [settled.tokens for settled in models.platform.settled] == [0]


def test_a_hanging_provider_is_left_after_its_time_and_the_clock_stands_still(models):
    models.server.always = "hang"
    outcome = models.agent(
        "e = next_episode()\nsay(chat('x')[0])\nsay(answer(e)[0])",
        episode_limits={"episode_seconds": 1.0},
        llm={"patience": {"call_seconds": 0.8, "tries": 2, "backoff_seconds": 0.05}},
    )
    assert outcome.said == [503, 410]
    (episode,) = outcome.episodes
    assert episode.failure == "infrastructure"  # and not time_limit, although it took longer than the episode may
    assert episode.seconds < 1.0
    assert len(models.server.seen) == 2


def test_a_provider_that_takes_too_long_in_all_is_not_the_agents_fault(models, monkeypatch):
    """Else its sandbox's time would be up, which holds so much of waiting, and the agent be told to be faster."""
    monkeypatch.setattr("gauntlet_runtime.run_job.MODEL_SECONDS", 1.0)
    asked_at = []

    def says(body, call):
        asked_at.append(call)
        released.wait(0.4)
        return "x"

    released = models.server.released
    models.server.says = says
    outcome = models.agent(
        """
e = next_episode()
status = 200
while status == 200:
    status, said = chat("x")
say(status, said["error"]["code"], answer(e)[0])
""",
        episode_limits={"episode_seconds": 60.0},
    )
    assert outcome.said == [503, "model_unavailable", 410]
    (episode,) = outcome.episodes
    assert episode.failure == "infrastructure"
    assert "took more than 1 seconds in all" in episode.message
    assert len(asked_at) <= 3


def test_the_providers_retry_after_is_honoured(models):
    models.server.faults += ["429:1", None]
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0])\nanswer(e)")
    assert outcome.said == [200]
    first, second = models.server.times
    assert second - first >= 1.0
    assert outcome.episodes[0].seconds < second - first + 30


@pytest.mark.parametrize("fault", ["404", "402", "elsewhere"])
def test_a_provider_that_is_set_wrongly_is_not_asked_again(models, fault):
    models.server.always = fault
    outcome = models.agent("e = next_episode()\nsay(chat('x'))\nanswer(e)")
    ((status, said),) = outcome.said
    assert (status, said["error"]["code"]) == (503, "model_unavailable")
    assert outcome.episodes[0].failure == "infrastructure"
    assert len(models.server.seen) == 1


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_refused_key_is_named_and_ends_every_episode_at_once(models, status):
    """Whoever set the key has to act; until then no other episode could be completed either."""
    models.server.always = status
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0])\nsay(answer(e)[0])", keys=["A", "B", "C"])
    assert outcome.said == [503, 410]
    assert len(models.server.seen) == 1
    assert [episode.failure for episode in outcome.episodes] == ["environment_error"] * 3
    (sentence,) = {episode.message for episode in outcome.episodes}
    assert "the provider 'ours' refused the key that the operator" in sentence
    assert "has to set a valid one" in sentence


FLAGGED = '{"error": {"message": "flagged", "code": 403, "metadata": {"reasons": ["violence"]}}}'


@pytest.mark.parametrize("status", ["403", "404", "405", "501"])
def test_what_is_refused_of_a_model_that_has_answered_is_what_was_asked_for(models, status):
    """Else an agent that is not doing well could ask for something that is refused, and be run again."""
    models.server.faults += [None, status]
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0], *chat('y'))\nsay(chat('z')[0], answer(e)[0])")
    assert outcome.said[:2] == [200, int(status)]
    assert outcome.said[2]["error"]["message"] == "refused; the key was ***"
    assert outcome.said[3:] == [200, 200]
    assert len(models.server.seen) == 3
    assert (outcome.episodes[0].failure, outcome.episodes[0].model_calls) == (None, 3)


def test_what_a_providers_moderation_refuses_is_what_was_asked_for(models):
    models.server.faults += [f"says:403:{FLAGGED}"]
    outcome = models.agent("e = next_episode()\nstatus, said = chat('x')\nsay(status, said['error'], answer(e)[0])")
    assert (outcome.said[0], outcome.said[1]["message"], outcome.said[2]) == (403, "flagged", 200)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"object": "error", "message": "too long for its context"}', ": too long for its context"),
        ('{"error": "no such role"}', ": no such role"),
        ('{"detail": [{"loc": ["n"], "msg": "less"}]}', ': [{"loc":["n"],"msg":"less"}]'),
        ("[]", "."),
        ("{", "."),
    ],
)
def test_a_providers_reason_is_told_wherever_it_stands(models, body, reason):
    models.server.faults += [f"says:400:{body}"]
    outcome = models.agent("e = next_episode()\nsay(chat('x')[1]['error']['message'])\nanswer(e)")
    assert outcome.said == [f"The model's provider refused this request with status 400{reason}"]


def test_a_model_that_takes_the_limit_by_another_name_is_asked_by_it(models):
    """Which name goes out is not the agent's choice."""
    refusal = {"message": "Use the other", "code": "unsupported_parameter", "param": "max_tokens"}
    models.server.faults += ["500", f"says:400:{json.dumps({'error': refusal})}"]
    outcome = models.agent(
        "e = next_episode()\nsay(chat('x', max_tokens=7)[0], chat('y')[0])\nanswer(e)",
        llm={"patience": {"call_seconds": 5.0, "tries": 2, "backoff_seconds": 0.05}},
    )
    assert outcome.said == [200, 200]
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in models.server.seen]
    assert limits == [(7, None), (7, None), (None, 7), (None, 1000)]


def test_too_many_embeddings_at_once_are_used_and_not_run_again(models):
    large = json.dumps({"data": [{"embedding": "A" * ANSWER_BYTES}]})
    models.server.faults += [None, f"says:200:{large}"]
    outcome = models.agent(
        """
e = next_episode()
for number in (1, 100):
    say(ask("POST", "/llm/v1/embeddings", {"model": "vectors", "input": ["a"] * number}))
say(answer(e)[0])
"""
    )
    (status, _), (refused, said), answered = outcome.said
    assert (status, refused, answered) == (200, 400, 200)
    assert said["error"]["code"] == "answer_too_large"
    assert "fewer inputs at once" in said["error"]["message"]
    (_, reserved), (_, settled) = models.platform.reserved, models.platform.settled
    assert (settled.tokens, settled.paid, outcome.episodes[0].failure) == (reserved.tokens, True, None)
    assert len(models.server.seen) == 2


REQUEST = {"model": "small", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize("public_only", [False, True])
@pytest.mark.parametrize(
    ("url", "key", "what"),
    [
        ("http://127.0.0.1:99999/v1", "k", "address"),
        ("http://xn--a.invalid/v1", "k", "address"),
        ("http://[::1/v1", "k", "address"),
        ("http://1.1.1.1:9/v\n1", "k", "address"),
        ("http://1.1.1.1:9/v1", "schlüssel", "key"),
        ("http://1.1.1.1:9/v1", "two\nlines", "key"),
    ],
)
async def test_an_address_or_a_key_that_is_none_is_the_fault_of_who_set_it(url, key, what, public_only):
    access = ModelAccess(url=url, key=SecretStr(key), public_only=public_only, set_by="organizer")
    upstream = Upstream(access, ModelPatience(tries=1, call_seconds=5.0), provider="ours")
    with pytest.raises(WronglySet, match=f"the {what} that the competition's organizer set"):
        await upstream.ask("chat/completions", REQUEST, stream=False)
    await upstream.close()


@pytest.mark.parametrize("public_only", [False, True])
@pytest.mark.parametrize("host", ["a..invalid", f"{'a' * 70}.invalid", "nowhere.invalid"])
async def test_a_name_that_means_nothing_is_a_provider_that_cannot_be_reached(host, public_only):
    access = ModelAccess(url=f"http://{host}/v1", public_only=public_only)
    upstream = Upstream(access, ModelPatience(tries=1, call_seconds=5.0))
    with pytest.raises(ProviderFailed, match="the connection failed"):
        await upstream.ask("chat/completions", REQUEST, stream=False)
    await upstream.close()


def test_a_key_that_is_none_ends_every_episode_at_once(models):
    models.platform.key = "“a key”"
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0])\nsay(answer(e)[0])", keys=["A", "B"])
    assert outcome.said == [503, 410]
    assert [episode.failure for episode in outcome.episodes] == ["environment_error"] * 2


def test_a_placeholder_for_a_key_is_not_taken_out_of_answers(models):
    models.server.wants_key = False
    models.platform.key = "token"
    models.server.says = lambda body, call: "a token is a token"
    outcome = models.agent(
        "e = next_episode()\nstatus, said = chat('x')\nsay(said['choices'][0]['message']['content'])\nanswer(e)"
    )
    assert outcome.said == ["a token is a token"]
    result = outcome.record()[2]
    assert (result.estimated, result.prompt_tokens) == (False, 1)


def test_a_request_that_the_provider_refuses_is_the_agents_affair(models):
    models.server.faults += ["400", "422"]
    outcome = models.agent(
        "e = next_episode()\nsay(chat('x'))\nsay(chat('x')[0])\nsay(chat('x')[0])\nanswer(e)",
    )
    (status, said), second, third = outcome.said
    assert (status, second, third) == (400, 422, 200)
    assert said["error"] == {
        "type": "some_type",
        "param": None,
        "code": "some_code",
        "message": "refused; the key was ***",
    }
    assert outcome.episodes[0].failure is None
    assert outcome.episodes[0].tokens == 5  # of the third only


def test_a_platform_that_restarts_is_asked_again(models):
    models.platform.failing = 2
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0])\nanswer(e)")
    assert outcome.said == [200]


def test_a_platform_that_cannot_be_asked_is_not_the_agents_fault(models):
    models.platform.failing = 1000
    outcome = models.agent("e = next_episode()\nsay(chat('x')[0])\nanswer(e)")
    assert outcome.said == [503]
    assert outcome.episodes[0].failure == "infrastructure"
    assert models.server.seen == []


def test_without_a_provider_no_agent_is_started(models):
    models.platform.url = ""
    outcome = models.agent("say('here')")
    assert outcome.episodes == []
    assert outcome.result.failure.code == "environment_error"
    assert "'ours'" in outcome.result.failure.message
    assert outcome.result.log == ""
