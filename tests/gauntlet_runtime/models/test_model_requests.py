"""Any JSON at all as a request or an answer: refused in words or bounded, and never more than was reserved."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pydantic_core
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.meter import usage_of
from gauntlet_runtime.gateway.model_replies import shown
from gauntlet_runtime.gateway.model_requests import read_call
from gauntlet_runtime.metering import ModelOffer, ModelSpec, money

SPEC = ModelSpec(
    provider="ours",
    models=[
        ModelOffer(name="small", price_in=Decimal("0.15"), price_out=Decimal("0.6")),
        ModelOffer(name="vectors", embeds=True),
    ],
    max_tokens=1000,
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
NAMES = st.just("type") | st.text()  # the one name that is looked for at any depth
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=20)
FIELDS = ("messages", "input", "max_tokens", "max_completion_tokens", "n", "stream", "stream_options", "service_tier")
REQUESTS = st.builds(
    lambda some, more, model: {**more, **some, "model": model},
    st.dictionaries(st.sampled_from(FIELDS), JSON | st.integers(1, 5000)),
    st.dictionaries(st.text(), JSON, max_size=3),
    st.sampled_from(("small", "vectors")) | JSON,
)


MESSAGES = st.lists(st.fixed_dictionaries({"role": st.text(), "content": st.none() | st.text() | st.lists(st.text())}))
SHAPES = ("temperature", "seed", "logit_bias", "stop", "user", "response_format", "reasoning", *FIELDS[2:6])
PLAUSIBLE = st.builds(
    lambda some, messages: {**some, "messages": messages, "model": "small"},
    st.dictionaries(st.sampled_from(SHAPES), st.none() | st.integers(1, 128) | JSON),
    MESSAGES,
)
NULLABLE = {"type": "object", "properties": {"site": {"type": ["string", "null"]}}}
WITH_TOOLS = {"model": "small", "tools": [{"type": "function", "function": {"name": "f", "parameters": NULLABLE}}]}


@given(request=REQUESTS | PLAUSIBLE, endpoint=st.sampled_from(("chat/completions", "embeddings")))
@example(request=WITH_TOOLS, endpoint="chat/completions")
def test_any_request_is_refused_in_words_or_has_a_bound(request: dict[str, Any], endpoint: Any) -> None:
    try:
        call = read_call(SPEC, endpoint, request, limit_field="max_tokens")
    except ApiError as refusal:
        said = refusal
    else:
        said = None
    if said is not None:
        assert said.status in (400, 404)
        assert said.message
        return
    assert request["model"] == ("vectors" if endpoint == "embeddings" else "small")
    assert call.request == request
    text = pydantic_core.to_json(request)
    assert call.tokens_in > 0
    assert len(text.decode()) <= 6 * call.tokens_in  # an escaped character has six
    sent = pydantic_core.from_json(pydantic_core.to_json(call.outgoing))
    if endpoint == "embeddings":
        assert (call.tokens_out, call.outgoing) == (0, request)
        return
    limits = [sent[name] for name in ("max_tokens", "max_completion_tokens") if name in sent]
    assert len(limits) == 1
    assert "max_tokens" in sent
    assert 1 <= limits[0] <= 1000
    assert call.tokens_out == limits[0] * (request.get("n") or 1)
    assert call.reservation().cost == call.offer.cost(tokens_in=call.tokens_in, tokens_out=call.tokens_out)
    touched = {"max_tokens", "max_completion_tokens", "stream_options"}
    assert {k: v for k, v in call.outgoing.items() if k not in touched} == {
        k: v for k, v in request.items() if k not in touched
    }


@pytest.mark.parametrize(
    ("told", "out"),
    [
        ({"completion_tokens": 5, "total_tokens": 15}, 5),
        ({"completion_tokens": 5, "total_tokens": 40}, 30),  # 25 more were thought, and told in the sum alone
        ({"completion_tokens": 5, "total_tokens": 3}, 5),
        ({"completion_tokens": 5, "total_tokens": None}, 5),
        ({"completion_tokens": 5, "total_tokens": 1000}, 50),  # beyond the bound: the bound, and not believed
        ({"completion_tokens": 5, "total_tokens": -1}, 5),
    ],
)
def test_tokens_that_only_the_total_tells_count_as_the_answers(told: dict[str, Any], out: int) -> None:
    found = usage_of({"prompt_tokens": 10, **told}, tokens_in=100, tokens_out=50)
    assert found == (10, out, out < 50)


@given(usage=JSON | st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON}))
def test_no_usage_counts_for_more_than_the_bound_or_less_than_nothing(usage: Any) -> None:
    used_in, used_out, believed = usage_of(usage, tokens_in=100, tokens_out=50)
    assert 0 <= used_in <= 100
    assert 0 <= used_out <= 50
    if believed:
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (used_in, used_out)


@pytest.mark.parametrize("usage", [{}, {"completion_tokens": 0, "total_tokens": 0}, {"completion_tokens": 9}])
def test_a_usage_without_a_prompt_is_none(usage: dict[str, Any]) -> None:
    """Some servers count nothing in streams and say so in zeros: a budget that believed them would have no end."""
    assert usage_of({"prompt_tokens": 0, **usage}, tokens_in=100, tokens_out=50) == (100, 50, False)


@given(parts=st.lists(st.dictionaries(st.sampled_from(("id", "choices", "usage")), JSON)))
def test_an_agent_that_did_not_ask_sees_no_usage(parts: list[dict[str, Any]]) -> None:
    seen = shown(parts, wants_usage=False)
    assert all("usage" not in part for part in seen)
    assert shown(parts, wants_usage=True) == parts
    assert [part["choices"] for part in seen if part.get("choices")] == [
        p["choices"] for p in parts if p.get("choices")
    ]


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("0.50", "0.5"), ("1E+3", "1000"), ("0.000000150", "0.00000015"), ("12", "12")]
)
def test_money_has_no_exponent_and_no_zeros_at_its_end(amount: str, text: str) -> None:
    assert money(Decimal(amount)) == text
