"""The phase's language models, through the official client: retries, JSON repair, and a budget that is never crossed.

`openai` is imported when a model is first asked, so that an agent without models does not pay for it and does not need
it. At home: ``pip install 'gauntlet-agent[models]'``; the platform's agent image has it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from gauntlet_agent.episode import Episode
from gauntlet_agent.errors import GauntletError
from gauntlet_agent.json_repair import NotJson, read_object

T = TypeVar("T")
Message = dict[str, Any]
FIRST: Final = "any"  # in place of a model's name: the first that the phase offers
# What the gateway reserves for a call beside a token a byte of its messages and tools, and its longest answer.
_FRAME_TOKENS: Final = 400
_MESSAGE_TOKENS: Final = 16
_MEDIA_TOKENS: Final = 50_000  # a picture, sound or file
_MEDIA: Final = frozenset({"image_url", "input_image", "input_audio", "file", "input_file"})
_CLIENT_RETRIES: Final = 2  # by the client itself, of what the gateway asks to be sent again


class ModelUnavailable(GauntletError):
    """No model can be asked: none is offered, the client is not installed, or the endpoint refuses."""


class ModelRefused(ModelUnavailable):
    """The endpoint did not take this call, so nothing was used."""


class ModelBudgetSpent(ModelUnavailable):
    """The next call might not fit into the episode's tokens. It was not made: that would end the episode."""


class BadReply(GauntletError):
    """A model did not answer in the form that was asked for, not even when asked again."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call that a model wants.

    Attributes:
        arguments: as an object; None where the model wrote something else
    """

    id: str
    name: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class Said:
    """What a model said: text, and the tools that it wants to call."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    message: Message = field(default_factory=dict)  # to be put back into the conversation as it is


class Models:
    """One model, asked inside one episode. Safe to use from several threads."""

    def __init__(
        self, episode: Episode, model: str, *, temperature: float = 0.0, max_tokens: int = 1500, tries: int = 3
    ) -> None:
        """Make a client without asking anything.

        Args:
            model: a name that the phase offers, or ``"any"`` for its first
            max_tokens: longest answer; it is reserved with every call, so keep it small
            tries: how often a model is asked for a form before that is given up
        """
        self._episode = episode
        self._model = model
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._tries = tries
        self._lock = threading.Lock()
        self._client: Any = None
        self._gone: ModelUnavailable | None = None  # nobody answers there: not asked again in this episode
        self._budget = _tokens_left(episode)
        self._used = 0
        self._reserved = 0
        self.calls = 0

    @property
    def tokens_used(self) -> int:
        """Tokens in and out that calls of this object used."""
        return self._used

    def say(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), as_json: bool = False
    ) -> Said:
        """Ask once and return what was said.

        Args:
            messages: as OpenAI's chat completions take them
            tools: function tools, as :func:`function_tool` makes them
            as_json: ask for the provider's JSON mode

        Raises:
            ModelUnavailable
            ModelBudgetSpent: what is left might not be enough
        """
        body: dict[str, Any] = {"messages": list(messages), "max_tokens": self._max_tokens}
        if tools:
            body["tools"] = list(tools)
        if as_json:
            body["response_format"] = {"type": "json_object"}
        held = self._hold(body)
        used = held
        try:
            reply = self._ask(body)
            used = int(getattr(reply.usage, "total_tokens", held) or held)
        except ModelRefused:
            used = 0
            raise
        finally:
            with self._lock:
                self._reserved -= held
                self._used += used
                self.calls += 1
        return _said(reply)

    def text(self, messages: Sequence[Message]) -> str:
        """Ask and return the text that was said."""
        return self.say(messages).text

    def object(self, messages: Sequence[Message], check: Callable[[dict[str, Any]], T]) -> T:
        """Ask for a JSON object until ``check`` takes one.

        Args:
            check: returns what the caller wants; raises ValueError with a sentence that the model is told

        Raises:
            BadReply: none of the tries gave one
            ModelUnavailable
        """
        talk = list(messages)
        complaint = ""
        for _ in range(self._tries):
            said = self.say(talk, as_json=True)
            try:
                return check(read_object(said.text))
            except (NotJson, ValueError) as error:
                complaint = str(error)
            talk = [
                *messages,
                {"role": "assistant", "content": said.text[:2000]},
                {
                    "role": "user",
                    "content": f"That cannot be used: {complaint[:500]} Answer with one JSON object only.",
                },
            ]
        raise BadReply(f"The model gave no usable JSON in {self._tries} tries: {complaint}")

    def _hold(self, body: Mapping[str, Any]) -> int:
        """Reckon what the gateway will reserve: a token a byte of the request, and the longest answer."""
        needed = len(json.dumps(body, ensure_ascii=False).encode()) + _FRAME_TOKENS + self._max_tokens
        needed += _MESSAGE_TOKENS * len(body["messages"]) + _MEDIA_TOKENS * _media(body)
        with self._lock:
            left = self._left()
            if left is not None and needed > left:
                raise ModelBudgetSpent(f"{left} tokens are left, and the next call may need {needed}.")
            self._reserved += needed
        return needed

    def _left(self) -> int | None:
        """Tokens that no call has used or may use: by our own count, or less where the gateway says so since.

        The gateway's word is older than what was used after it, and holds what was used before it.
        """
        said = [self._budget - self._used] if self._budget is not None else []
        latest = _tokens_left(self._episode)
        said += [latest] if latest is not None else []
        return min(said) - self._reserved if said else None

    def _ask(self, body: dict[str, Any]) -> Any:
        if self._gone is not None:
            raise self._gone
        client = self._opened()
        import openai

        try:
            return client.chat.completions.create(model=self._model, temperature=self._temperature, **body)
        except openai.APIStatusError as error:
            raise ModelRefused(f"The models' endpoint refused the call: {error.message}") from error
        except openai.OpenAIError as error:
            self._gone = ModelUnavailable(f"The models' endpoint cannot be used: {error}")
            raise self._gone from error

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                try:
                    import openai
                except ImportError as error:
                    message = "The package openai is missing. Install it with: pip install 'gauntlet-agent[models]'"
                    raise ModelUnavailable(message) from error
                self._client = openai.OpenAI(
                    base_url=self._episode.models_url, api_key="none", max_retries=_CLIENT_RETRIES
                )
                if self._model == FIRST:
                    self._model = self._first_offered(openai)
            return self._client

    def _first_offered(self, openai: Any) -> str:
        try:
            offered = [str(one.id) for one in self._client.models.list()]
        except openai.OpenAIError as error:
            self._client = None
            raise ModelUnavailable(f"The phase offers no models: {error}") from error
        if not offered:
            raise ModelUnavailable("The phase offers no models.")
        return offered[0]


def _tokens_left(episode: Episode) -> int | None:
    """The episode's tokens by the gateway's latest word; None where there is no limit."""
    tokens = episode.budget.get("tokens")
    return int(tokens) if isinstance(tokens, int | float) else None


def _media(value: Any) -> int:
    """How many pictures, sounds and files a request holds."""
    if isinstance(value, Mapping):
        kind = value.get("type")  # of a tool's schema it may be a list
        return (isinstance(kind, str) and kind in _MEDIA) + sum(_media(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(_media(part) for part in value)
    return 0


def function_tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as chat completions take it; ``schema`` is the JSON Schema of its arguments."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": dict(schema)}}


def fit(messages: Sequence[Message], *, limit: int) -> list[Message]:
    """Shorten a conversation to about ``limit`` characters: the oldest tool results and observations first.

    The first two messages (what the agent is, what is asked) and the last four stay whole; what is cut says so.
    """
    kept = [dict(message) for message in messages]
    for position in range(2, len(kept) - 4):
        if sum(len(str(message.get("content") or "")) for message in kept) <= limit:
            break
        content = str(kept[position].get("content") or "")
        if len(content) > 200:
            kept[position]["content"] = f"{content[:150]} [... {len(content) - 150} characters left out]"
    return kept


def _said(reply: Any) -> Said:
    if not reply.choices:
        raise ModelUnavailable("The model answered with nothing.")
    message = reply.choices[0].message
    calls = tuple(
        ToolCall(id=call.id, name=call.function.name, arguments=_arguments(call.function.arguments))
        for call in message.tool_calls or ()
    )
    back: Message = {"role": "assistant", "content": message.content or ""}
    if calls:
        back["tool_calls"] = [call.model_dump(exclude_none=True) for call in message.tool_calls]
    return Said(text=message.content or "", calls=calls, message=back)


def _arguments(text: str | None) -> dict[str, Any] | None:
    try:
        return read_object(text or "{}")
    except NotJson:
        return None
