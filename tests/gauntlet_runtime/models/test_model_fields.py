"""What a request to a model may hold: nothing that chooses other models or prices, or reaches a network."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.model_requests import read_call
from gauntlet_runtime.metering import ModelOffer, ModelSpec

SPEC = ModelSpec(
    provider="ours",
    models=[
        ModelOffer(name="small", price_in=Decimal("0.15"), price_out=Decimal("0.6")),
        ModelOffer(name="vectors", embeds=True),
    ],
    max_tokens=1000,
)
FUNCTION = {"type": "function", "function": {"name": "web_search", "parameters": {"type": "object"}}}
PICTURE = "data:image/png;base64,iVBORw0KGgo="


def read(endpoint: Any = "chat/completions", **fields: Any) -> Any:
    given: dict[str, Any] = {"model": "small", "messages": [{"role": "user", "content": "hello"}]}
    if endpoint == "embeddings":
        given = {"model": "vectors", "input": ["a"]}
    return read_call(SPEC, endpoint, {**given, **fields}, limit_field="max_tokens")


def said_by(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts), **more}]}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "other models": ({"models": ["large"]}, "'models'"),
    "a route to other models": ({"route": "fallback"}, "'route'"),
    "fallbacks": ({"fallbacks": ["large"]}, "'fallbacks'"),
    "another provider": ({"provider": {"order": ["dear"]}}, "'provider'"),
    "another address": ({"api_base": "https://elsewhere.example.org"}, "'api_base'"),
    "plugins": ({"plugins": [{"id": "web"}]}, "'plugins'"),
    "a web search": ({"web_search_options": {}}, "'web_search_options'"),
    "another's web search": ({"search_parameters": {"mode": "on"}}, "'search_parameters'"),
    "another's switch for it": ({"enable_search": True}, "'enable_search'"),
    "a dearer service": ({"service_tier": "priority"}, "'service_tier'"),
    "more answers than are shown": ({"best_of": 5}, "'best_of'"),
    "a prediction": ({"prediction": {"type": "content", "content": "x"}}, "'prediction'"),
    "sound": ({"modalities": ["text", "audio"]}, "'modalities'"),
    "a voice": ({"audio": {"voice": "alloy"}}, "'audio'"),
    "keeping the answer there": ({"store": True}, "'store'"),
    "working on without anybody": ({"background": True}, "'background'"),
    "labels that routers choose by": ({"metadata": {"tags": ["dear"]}}, "'metadata'"),
    "a template of its own": ({"chat_template": "{{ x }}"}, "'chat_template'"),
    "what nobody knows": ({"x": 0}, "'x'"),
    "a stream that is none": ({"stream": "yes"}, "'stream'"),
    "a number for a truth": ({"store": 0}, "'store'"),
    "a search as a tool": ({"tools": [FUNCTION, {"type": "web_search"}]}, "'tools[1].type'"),
    "a tool without a kind": ({"tools": [{"googleSearch": {}}]}, "'tools[0].type'"),
    "a server as a tool": ({"tools": [{"type": "mcp", "server_url": "https://x.example"}]}, "'tools[0].type'"),
    "a second tool in one": ({"tools": [{**FUNCTION, "googleSearch": {}}]}, "'tools[0].googleSearch'"),
    "a kept tool": ({"tools": [{**FUNCTION, "cache_control": {"type": "ephemeral"}}]}, "'tools[0].cache_control'"),
    "the choice of such a tool": ({"tool_choice": {"type": "web_search_preview"}}, "'tool_choice.type'"),
    "tools that are none": ({"tools": "all"}, "'tools'"),
    "messages that are none": ({"messages": ["hello"]}, "'messages'"),
    "one part without a list": ({"messages": [{"role": "user", "content": {"type": "text"}}]}, "content'"),
    "a picture to be fetched": (
        said_by({"type": "image_url", "image_url": {"url": "https://x.example/?leak=answer"}}),
        "'messages[0].content[0].image_url'",
    ),
    "the same, short": (said_by({"type": "image_url", "image_url": "//x.example"}), "content[0].image_url'"),
    "a picture with a blank before": (said_by({"type": "image_url", "image_url": {"url": " https://x"}}), "image_url'"),
    "one of which nothing is said": (said_by({"type": "image_url"}), "image_url'"),
    "a file to be fetched": (said_by({"type": "file", "file": {"file_data": "https://x.example/a"}}), "content[0]'"),
    "a file that is there": (said_by({"type": "file", "file": {"file_id": "file-1"}}), "content[0]'"),
    "a file": (said_by({"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}}), "content[0]'"),
    "sound to be fetched": (
        said_by({"type": "input_audio", "input_audio": {"data": "http://x.example", "format": "wav"}}),
        "input_audio'",
    ),
    "a picture beside a text": (
        said_by({"type": "text", "text": "a", "image_url": "http://x"}),
        "content[0].image_url'",
    ),
    "a picture without a kind": (said_by({"image_url": {"url": PICTURE}}), "'messages[0].content[0]'"),
    "a kind that nobody knows": (said_by({"type": "document", "source": {"type": "url"}}), "content[0]'"),
    "a kind that is a list": (said_by({"type": ["text"], "text": "a"}), "content[0]'"),
    "a kept part": (said_by({"type": "text", "text": "a", "cache_control": {"ttl": "1h"}}), "cache_control'"),
    "a kept message": (said_by("a", cache_control={"type": "ephemeral"}), "'messages[0].cache_control'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_cost_more_or_reach_further_is_refused_by_its_name(case: str) -> None:
    fields, named = REFUSED[case]
    with pytest.raises(ApiError) as caught:
        read(**fields)
    assert caught.value.status == 400
    assert caught.value.code in ("unsupported_parameter", "invalid_value")
    assert named in caught.value.message


@pytest.mark.parametrize("field", ["messages", "temperature", "n", "stream", "tools", "x"])
def test_embeddings_take_nothing_of_a_conversation(field: str) -> None:
    with pytest.raises(ApiError, match=f"'{field}' is not offered here"):
        read("embeddings", **{field: 1})


OFFERED: dict[str, dict[str, Any]] = {
    "sampling": {"temperature": 0, "top_p": 0.5, "top_k": 3, "seed": 1, "stop": ["x"], "logprobs": True},
    "what is null": {"service_tier": None, "store": None, "prediction": None, "tools": None, "x": None},
    "what costs no more": {"service_tier": "default", "store": False, "modalities": ["text"]},
    "a shape": {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
    "thinking": {"reasoning_effort": "low", "reasoning": {"max_tokens": 100}, "chat_template_kwargs": {"think": True}},
    "functions, whatever they are called": {"tools": [FUNCTION], "tool_choice": FUNCTION, "parallel_tool_calls": False},
    "tools of plain text": {"tools": [{"type": "custom", "custom": {"name": "code"}}], "tool_choice": "required"},
    "what a model said before": {
        "messages": [
            {"role": "user", "content": ["plain", {"type": "text", "text": "see https://x.example"}]},
            {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [{"id": "1"}]},
            {"role": "tool", "tool_call_id": "1", "content": "http://x.example"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "refusal", "refusal": ""}],
            },
        ]
    },
    "what it brings itself": said_by(
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ),
}


@pytest.mark.parametrize("case", OFFERED)
def test_what_shapes_an_answer_goes_to_the_provider_as_it_is(case: str) -> None:
    call = read(**OFFERED[case])
    assert {name: call.outgoing[name] for name in OFFERED[case]} == OFFERED[case]


def test_embeddings_go_to_the_provider_as_they_are() -> None:
    call = read("embeddings", dimensions=8, encoding_format="base64")
    assert call.outgoing == {"model": "vectors", "input": ["a"], "dimensions": 8, "encoding_format": "base64"}


@pytest.mark.parametrize("given", ["a", ["a", "b"], [1, 2], [[1, 2], [3]], []])
def test_embeddings_are_made_of_texts_and_tokens(given: Any) -> None:
    assert read("embeddings", input=given).outgoing["input"] == given


@pytest.mark.parametrize(
    "given",
    [
        None,
        {"image": "https://x.example/?secret"},
        [{"image": "https://x.example/?secret"}],
        [{"content": [{"type": "image_url", "image_url": {"url": "https://x.example/?secret"}}]}],
        ["a", {"text": "b"}],
        [[1, "a"]],
        [True],
        3,
    ],
)
def test_embeddings_are_made_of_nothing_that_has_an_address(given: Any) -> None:
    with pytest.raises(ApiError, match="'input' must be a text, a list of texts") as caught:
        read("embeddings", input=given)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("endpoint", "model", "said"),
    [
        ("embeddings", "small", "'small' chats here: ask it at /chat/completions"),
        ("chat/completions", "vectors", "'vectors' makes embeddings here: ask it at /embeddings"),
    ],
)
def test_a_model_does_what_it_is_offered_for(endpoint: str, model: str, said: str) -> None:
    """A provider would answer that its key may not do this, as if the key were wrong."""
    with pytest.raises(ApiError, match=said) as caught:
        read(endpoint, model=model)
    assert (caught.value.status, caught.value.code) == (400, "unsupported_endpoint")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_limit_goes_out_under_the_providers_name_for_it(name: str, field: str) -> None:
    """Some take no notice of the other, and answer without a limit what was reserved with one."""
    request = {"model": "small", "messages": [], name: 7}
    call = read_call(SPEC, "chat/completions", request, limit_field=field)
    assert (call.tokens_out, call.outgoing) == (7, {"model": "small", "messages": [], field: 7})


@pytest.mark.parametrize(
    ("fields", "large"),
    [
        ({}, False),
        ({"n": 128}, False),
        ({"n": 128, "stream": True}, True),
        ({"n": 10, "logprobs": True}, False),
        ({"n": 10, "logprobs": True, "top_logprobs": 20}, True),
        ({"n": 10, "top_logprobs": 20}, False),
    ],
)
def test_it_is_known_which_answers_may_be_larger_than_any(fields: dict[str, Any], large: bool) -> None:
    assert read(**fields).may_be_too_large is large
    assert read("embeddings").may_be_too_large


def test_each_of_several_answers_is_reserved() -> None:
    one, five = (read(n=n, max_tokens=100).reservation() for n in (1, 5))
    assert five.tokens - one.tokens == 400
    assert five.cost - one.cost == SPEC.models[0].cost(tokens_in=0, tokens_out=400)
