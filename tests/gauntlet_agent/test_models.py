"""The models' client: forms are asked for until they come, budgets are not crossed, and openai is a choice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import ModelServer, model_server

from gauntlet_agent.models import BadReply, ModelBudgetSpent, Models, ModelUnavailable, fit, function_tool
from gauntlet_agent.rehearsal import Rehearsal
from gauntlet_runtime.gateway.model_requests import prompt_bound

ASK = [{"role": "user", "content": "How many?"}]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        running.wants_key = False
        yield running


def models(server: ModelServer, *, tokens: int | None = None, **given: Any) -> Models:
    budget = {} if tokens is None else {"tokens": tokens}
    return Models(Rehearsal("?", budget=budget, models_url=server.url), "small", **given)


def number(said: dict[str, Any]) -> int:
    if not isinstance(said.get("n"), int):
        raise ValueError("`n` must be a number.")
    return int(said["n"])


def test_a_form_is_asked_for_until_it_comes(server: ModelServer) -> None:
    replies = ["I do not know.", '{"n": "three"}', 'Well: ```json\n{"n": 3,}\n```']
    server.says = lambda body, call: replies[call - 1]
    assert models(server).object(ASK, number) == 3
    told = [str(body["messages"][-1]["content"]) for body in server.seen]
    assert "no JSON" in told[1]
    assert "`n` must be a number." in told[2]
    assert {body["response_format"]["type"] for body in server.seen} == {"json_object"}


def test_what_never_comes_is_an_error_of_its_own(server: ModelServer) -> None:
    server.says = lambda body, call: "no"
    with pytest.raises(BadReply, match="2 tries"):
        models(server, tries=2).object(ASK, number)
    assert len(server.seen) == 2


def test_a_call_that_might_not_fit_is_not_made(server: ModelServer) -> None:
    server.says = lambda body, call: "x"
    asked = models(server, tokens=1000, max_tokens=200)
    asked.text(ASK)
    with pytest.raises(ModelBudgetSpent, match="tokens are left"):
        asked.text([{"role": "user", "content": "x" * 700}])
    assert len(server.seen) == 1
    assert asked.tokens_used == 3  # two words in, one out: what was used counts, not what was held
    asked.text(ASK)


PICTURE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}


NULLABLE = {"type": "object", "properties": {"site": {"type": ["string", "null"]}}}


@pytest.mark.parametrize("talk", [ASK, ASK * 30, ASK * 300, [*ASK, PICTURE, PICTURE]])
def test_what_the_gateway_would_reserve_is_never_reckoned_too_low(
    server: ModelServer, talk: list[dict[str, Any]]
) -> None:
    tools = [function_tool("count", "Counts.", NULLABLE)]
    models(server, max_tokens=50).say(talk, tools=tools)
    reserved = prompt_bound(server.seen[-1]) + 50
    with pytest.raises(ModelBudgetSpent):
        models(server, tokens=reserved - 1, max_tokens=50).say(talk, tools=tools)


def test_what_the_gateway_says_is_left_is_not_counted_as_used_again(server: ModelServer) -> None:
    server.says = lambda body, call: "x"
    episode = Rehearsal("?", budget={"tokens": 4000}, models_url=server.url)
    asked = Models(episode, "small", max_tokens=100)
    asked.text([{"role": "user", "content": "w " * 1000}])
    assert asked.tokens_used == 1001
    episode.budget = {"tokens": 4000 - 1001}  # as a note's answer tells it
    asked.text([{"role": "user", "content": "w" * 2000}])
    with pytest.raises(ModelBudgetSpent):
        asked.text([{"role": "user", "content": "w" * 3000}])
    episode.budget = {"tokens": 500}  # somebody else asked too
    with pytest.raises(ModelBudgetSpent, match="500 tokens are left"):
        asked.text(ASK)


def test_a_refused_call_used_nothing(server: ModelServer) -> None:
    server.says = lambda body, call: "x"
    asked = models(server, tokens=2000, max_tokens=200)
    server.faults.append("400")
    with pytest.raises(ModelUnavailable):
        asked.text(ASK)
    assert asked.tokens_used == 0


def test_a_provider_that_nobody_answers_at_is_asked_once() -> None:
    gone = Models(Rehearsal("?", models_url="http://127.0.0.1:9/v1"), "small")
    errors = []
    for _ in range(3):
        with pytest.raises(ModelUnavailable) as caught:
            gone.text(ASK)
        errors.append(caught.value)
    assert errors[0] is errors[1] is errors[2]


def test_a_refusal_is_unavailable(server: ModelServer) -> None:
    server.faults.append("400")
    with pytest.raises(ModelUnavailable, match="refused the call"):
        models(server).text(ASK)


def test_tool_calls_come_as_objects_and_go_back_as_they_are(server: ModelServer) -> None:
    function = {"name": "count", "arguments": '{"year": 2019'}  # cut short
    server.says = lambda body, call: {
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    said = models(server).say(ASK, tools=[function_tool("count", "Counts.", {"type": "object"})])
    assert (said.calls[0].name, said.calls[0].arguments) == ("count", {"year": 2019})
    assert said.message["tool_calls"][0]["function"]["arguments"] == function["arguments"]
    assert server.seen[0]["tools"][0]["function"]["name"] == "count"


def test_a_conversation_is_shortened_from_its_oldest_observations() -> None:
    talk = [{"role": "user", "content": f"{position} " + "x" * 1000} for position in range(12)]
    short = fit(talk, limit=8000)
    assert short[:2] == talk[:2]
    assert short[-4:] == talk[-4:]
    assert "characters left out" in short[2]["content"]
    assert short[7] == talk[7]
    assert fit(talk, limit=10**6) == talk


def test_neither_openai_nor_anything_heavy_comes_with_the_library() -> None:
    code = (
        "import sys, json, gauntlet_agent, gauntlet_agent.models, gauntlet_agent.assetops, gauntlet_agent.rehearsal;"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert loaded & {"openai", "django", "torch", "pandas", "numpy", "pydantic", "httpx", "gauntlet_runtime"} == set()


def test_without_the_package_the_message_says_how_to_get_it(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'gauntlet-agent\[models\]'"):
        models(server).text(ASK)
