"""One scenario, once: what an agent is given and what it can do with it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from gauntlet_agent.errors import EpisodeClosed, GatewayError, GatewayUnreachable, GauntletError, ToolError
from gauntlet_agent.gateway import Gateway, to_json
from gauntlet_agent.tools import Tool, ToolSession

T = TypeVar("T")
Step = Mapping[str, Any] | tuple[str, str] | str


@dataclass(frozen=True)
class Reply:
    """What the scenario's user said.

    Attributes:
        text: the words
        done: the user has nothing to add; only an answer is still expected
    """

    text: str
    done: bool = False


class Episode:
    """An open episode. Everything here is synchronous, recorded by the platform, and safe to use from threads.

    Attributes:
        id: names the episode; it says nothing about the scenario
        scenario: everything that the organizer shows: ``id``, ``text``, ``show`` and public files
        text: the question
        show: what the organizer lists beside the question
        messages: the conversation with the scenario's user so far, ``{"role", "text"}`` each; grows with :meth:`say`
        deadline: when the episode ends (UTC), or None where the gateway named none
        budget: what may be used: turns, tool calls, tokens, ...; as of the gateway's latest word
        answered: whether :meth:`answer` was accepted
    """

    def __init__(self, gateway: Gateway, opened: Mapping[str, Any]) -> None:
        self._gateway = gateway
        self.id: str = str(opened["id"])
        scenario = opened.get("scenario")
        self.scenario: dict[str, Any] = dict(scenario) if isinstance(scenario, Mapping) else {}
        self.text: str = str(self.scenario.get("text") or "")
        self.show: dict[str, Any] = dict(self.scenario.get("show") or {})
        self.messages: list[dict[str, Any]] = [dict(message) for message in opened.get("messages") or []]
        self.deadline: datetime | None = _instant(opened.get("deadline"))
        self.budget: dict[str, Any] = {}
        self.answered = False
        self._ends: float | None = None
        self._learn(opened)
        self._path = f"/episodes/{self.id}"
        self._tools = ToolSession(f"{gateway.url}{self._path}/mcp")

    def __repr__(self) -> str:
        return f"Episode(id={self.id!r}, text={self.text[:60]!r})"

    @property
    def seconds_left(self) -> float:
        """Seconds until the episode ends, never below 0 (infinite where the gateway named no limit).

        A cautious figure: the episode's clock stands still while the platform keeps an agent waiting, and what is
        counted here learns of it only from the gateway's answers.
        """
        if self._ends is None:
            return float("inf")
        return max(0.0, self._ends - time.monotonic())

    @property
    def models_url(self) -> str:
        """Base address of the language models for this episode, as OpenAI's clients take it."""
        return f"{self._gateway.url}{self._path}/llm/v1"

    def tools(self) -> list[Tool]:
        """Return the tools that this scenario offers (asked for once, then remembered).

        Raises:
            GatewayError, GatewayUnreachable
        """
        return self._with_tools(self._tools.offered)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and return what it gave: a dict, a list or a scalar; text where the tool speaks in prose.

        Raises:
            ToolError: the tool reports an error; its message is the exception's
            EpisodeClosed, BudgetExceeded: the call was not made
            GatewayUnreachable
        """
        plain: dict[str, Any] = json.loads(to_json(arguments, what=f"The arguments of {name!r}"))
        return self._with_tools(lambda: self._tools.call(name, plain))

    def plan(self, steps: Iterable[Step]) -> None:
        """Declare how the question will be solved; the last plan of an episode is the one that is scored.

        Args:
            steps: each an instruction, a pair ``(agent, instruction)``, or a dict with ``instruction`` and, where it
                applies, ``agent`` and ``depends_on`` (0-based positions of earlier steps)
        """
        self._post("PUT", "plan", {"steps": [_step(step) for step in steps]})

    def note(self, text: str) -> None:
        """Leave a thought in the record. It is shown to readers and never scored."""
        self._post("POST", "notes", {"text": str(text)})

    def say(self, text: str) -> Reply:
        """Say something to the scenario's user and return the reply.

        Raises:
            GatewayError: the scenario has no user, or the conversation is over
        """
        answer = self._post("POST", "messages", {"text": str(text)})
        fields = answer if isinstance(answer, Mapping) else {}
        reply = Reply(text=str(fields.get("reply") or ""), done=bool(fields.get("done", False)))
        self.messages.append({"role": "agent", "text": str(text)})
        self.messages.append({"role": "user", "text": reply.text})
        return reply

    def answer(self, text: str, data: Any = None) -> None:
        """Answer the scenario; this closes the episode.

        Args:
            text: the answer in words
            data: the same in the shape that the competition asks for, as JSON-like data

        Raises:
            EpisodeClosed: it is answered already, or out of time
            TooLarge: more than the episode's limit for answers
        """
        if not isinstance(text, str):
            raise TypeError(f"An answer is text, not {type(text).__name__}; give structured values as data=.")
        if self.answered:
            raise EpisodeClosed("This episode is answered already.", code="episode_closed")
        body: dict[str, Any] = {"text": text}
        if data is not None:
            body["data"] = data
        self._post("POST", "answer", body)
        self.answered = True
        self.close()

    def close(self) -> None:
        """Let the connections of this episode go. The episode itself is closed by an answer only."""
        self._tools.close()

    def _post(self, method: str, tail: str, body: Any) -> Any:
        _, answer = self._gateway.request(method, f"{self._path}/{tail}", body)
        if isinstance(answer, Mapping):
            self._learn(answer)
        return answer

    def _learn(self, fields: Mapping[str, Any]) -> None:
        """Take over what the gateway says about time and budget."""
        seconds = fields.get("seconds_left")
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            self._ends = time.monotonic() + float(seconds)
        budget = fields.get("budget")
        if isinstance(budget, Mapping):
            self.budget = dict(budget)

    def _with_tools(self, use: Callable[[], T]) -> T:
        """Use the tools; where the MCP session broke, ask the gateway whether the episode is over."""
        if self.answered:
            raise EpisodeClosed("This episode is answered already.", code="episode_closed")
        try:
            return use()
        except (GatewayUnreachable, ToolError) as error:
            if not self._still_open():
                raise EpisodeClosed(
                    "The episode is over: it ran out of time, or the platform ended it.", code="episode_closed"
                ) from error
            raise

    def _still_open(self) -> bool:
        try:
            _, answer = self._gateway.request("GET", "/episodes")
        except GatewayError:
            return True
        listed = answer.get("episodes", []) if isinstance(answer, Mapping) else answer
        if not isinstance(listed, list):
            return True
        return any((entry.get("id") if isinstance(entry, Mapping) else entry) == self.id for entry in listed)


def open_next(gateway: Gateway) -> Episode | None:
    """Open the next episode, waiting as long as the platform asks to; None when there is none left.

    Raises:
        GatewayError, GatewayUnreachable
    """
    status, body = gateway.request("POST", "/episodes", {}, key=uuid.uuid4().hex, patient=True)
    if status == 204:
        return None
    if not isinstance(body, Mapping) or "id" not in body:
        raise GatewayError("The gateway opened an episode without naming it.", status=status)
    return Episode(gateway, body)


def _instant(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _step(step: Step) -> dict[str, Any]:
    if isinstance(step, str):
        return {"instruction": step}
    if isinstance(step, Mapping):
        return dict(step)
    if isinstance(step, tuple | list) and len(step) == 2:
        return {"agent": str(step[0]), "instruction": str(step[1])}
    raise GauntletError(f"A step of a plan is a dict, a pair (agent, instruction) or text, not {step!r}.")
