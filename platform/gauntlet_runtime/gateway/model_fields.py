"""Which fields a request to a language model may have: what shapes the answer, and nothing else.

Default deny. What is not listed may choose another model or another price (`models`, `route`, `prediction`), or reach a
network from inside the provider (`plugins`, `web_search_options`, a tool of the provider's own, a picture by its
address), or leave something there (`store`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.recorder import ModelEndpoint

_SAMPLING: Final = (
    "temperature top_p top_k top_a min_p typical_p seed random_seed stop frequency_penalty presence_penalty "
    "repetition_penalty length_penalty logit_bias logprobs top_logprobs min_tokens ignore_eos stop_token_ids"
)
_SHAPE: Final = (
    "response_format structured_outputs guided_json guided_regex guided_choice guided_grammar verbosity safe_prompt "
    "skip_special_tokens"
)
_REASONING: Final = (
    "reasoning reasoning_effort include_reasoning thinking think enable_thinking prompt_mode chat_template_kwargs"
)
_TOOLS: Final = "tools tool_choice parallel_tool_calls functions function_call"
_LIMITED: Final = "n max_tokens max_completion_tokens stream stream_options service_tier modalities store"
_NAMES: Final = "user safety_identifier prompt_cache_key metadata"
#: By endpoint; null is the same as not given.
FIELDS: Final[Mapping[ModelEndpoint, frozenset[str]]] = {
    "chat/completions": frozenset(
        " ".join(("model messages", _SAMPLING, _SHAPE, _REASONING, _TOOLS, _LIMITED, _NAMES)).split()
    ),
    "embeddings": frozenset(["model", "input", "encoding_format", "dimensions", "input_type", "truncate", "user"]),
}
#: Fields of which only these values neither change the prices nor leave anything at the provider.
_VALUES: Final[Mapping[str, tuple[Any, ...]]] = {
    "service_tier": ("auto", "default"),
    "modalities": (["text"],),
    "store": (False,),
    "stream": (True, False),
}
#: Kinds of a message's parts, each with the fields that it may have.
PARTS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"text"}),
    "refusal": frozenset({"refusal"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "image_url": frozenset({"image_url"}),
    "input_audio": frozenset({"input_audio"}),
}
#: Of a part that brings content, the fields that it may have, and which of them is the content.
_CONTENT: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "image_url": (frozenset({"url", "detail"}), "url"),
    "input_audio": (frozenset({"data", "format"}), "data"),
}
_TOOL_KINDS: Final = ("function", "custom")
_CHOICE_KINDS: Final = (*_TOOL_KINDS, "allowed_tools")


def check_fields(request: Mapping[str, Any], endpoint: ModelEndpoint) -> None:
    """Refuse what is not offered.

    Raises:
        ApiError: 400, with the field's name and what to do.
    """
    for name, value in request.items():
        if value is None:
            continue
        if name not in FIELDS[endpoint]:
            raise _refusal(
                f"'{name[:100]}' is not offered here: a request holds only what shapes the answer, nothing that "
                "chooses other models or prices or reaches a network. Leave it out."
            )
        if name in _VALUES and not any(type(value) is type(one) and value == one for one in _VALUES[name]):
            said = " or ".join(json.dumps(one) for one in _VALUES[name])
            raise _refusal(f"'{name}' must be {said} here.")
    labels = request.get("metadata")
    if labels is not None and not (isinstance(labels, dict) and all(isinstance(one, str) for one in labels.values())):
        raise _refusal("'metadata' must be an object of texts here: by lists of tags some routers choose other models.")
    for place, tool in enumerate(_list_of(request, "tools")):
        _check_tool(tool, f"tools[{place}]")
    choice = request.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") not in _CHOICE_KINDS:
        raise _refusal(f"'tool_choice.type' must be {' or '.join(_CHOICE_KINDS)}.")
    for place, message in enumerate(_list_of(request, "messages")):
        _check_message(message, f"messages[{place}]")
    if endpoint == "embeddings" and not _is_text(request.get("input")):
        raise ApiError(
            400, "invalid_value", "'input' must be a text, a list of texts, a list of tokens, or a list of such lists."
        )


def _is_text(given: object) -> bool:
    """Whether this is what embeddings are made of: texts, or tokens of one or of several. Never an address."""
    if isinstance(given, str) or not isinstance(given, list):
        return isinstance(given, str)
    lists = given if all(isinstance(one, list) for one in given) else [given]
    return all(isinstance(one, str) for one in given) or all(type(token) is int for one in lists for token in one)


def _refusal(said: str) -> ApiError:
    return ApiError(400, "unsupported_parameter", said)


def _list_of(request: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = request.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ApiError(400, "invalid_value", f"'{name}' must be a list of objects.")
    return value


def _check_tool(tool: dict[str, Any], place: str) -> None:
    kind = tool.get("type")
    if kind not in _TOOL_KINDS:
        raise _refusal(
            f"'{place}.type' must be {' or '.join(_TOOL_KINDS)}: tools of the provider's own, such as a web search, "
            "are not offered here."
        )
    _check_keys(tool, frozenset({"type", str(kind)}), place)


def _check_message(message: dict[str, Any], place: str) -> None:
    if "cache_control" in message:
        raise _refusal(f"'{place}.cache_control' is not offered here: it changes the prices. Leave it out.")
    content = message.get("content")
    if isinstance(content, dict):
        raise ApiError(400, "invalid_value", f"'{place}.content' must be a text or a list of parts.")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, str):
            _check_part(part, f"{place}.content[{number}]")


def _check_part(part: object, place: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str) or kind not in PARTS:
        raise _refusal(f"'{place}' must be a text or an object whose type is one of {', '.join(PARTS)}.")
    _check_keys(part, PARTS[kind] | {"type"}, place)
    if kind not in _CONTENT:
        return
    allowed, field = _CONTENT[kind]
    brought = part.get(kind)
    if isinstance(brought, dict):
        _check_keys(brought, allowed, f"{place}.{kind}")
        brought = brought.get(field)
    if not isinstance(brought, str) or not _is_data(brought, addressed=kind == "image_url"):
        raise _refusal(
            f"'{place}.{kind}' must bring its content itself, as data:<type>;base64,<content>: no provider fetches "
            "anything for an agent."
        )


def _is_data(content: str, *, addressed: bool) -> bool:
    """Whether a text is content and no address; ``addressed`` where it would be taken for one without its beginning."""
    return content.startswith("data:") or (not addressed and ":" not in content)


def _check_keys(value: Mapping[str, Any], allowed: frozenset[str], place: str) -> None:
    for name in value:
        if name not in allowed:
            raise _refusal(f"'{place}.{name[:100]}' is not offered here. Leave it out.")
