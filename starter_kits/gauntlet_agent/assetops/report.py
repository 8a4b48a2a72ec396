"""What a sub-agent hands back: `answer`, `review`, `summary` (AssetOpsBench, appendix A.1), and how a request carries
what is known already.

A stub takes one string. What earlier steps found therefore travels inside the request, below a line of its own, as one
JSON object; and a sub-agent that found values writes them into `answer` as JSON, whose meaning `summary` tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from gauntlet_agent.json_repair import NotJson, read_object

Status = Literal["accomplished", "partial", "failed"]
KNOWN: Final = "Known so far:"
LONGEST: Final = 6000  # characters of what is known, in a request


@dataclass(frozen=True)
class Review:
    """How well a sub-agent's answer serves the request."""

    status: Status
    reasoning: str = ""
    suggestions: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The nested object of a stub's answer."""
        return {"status": self.status, "reasoning": self.reasoning, "suggestions": list(self.suggestions)}


@dataclass(frozen=True)
class Report:
    """A sub-agent's answer to one request."""

    answer: str
    review: Review
    summary: str

    @classmethod
    def of(cls, text: str, facts: Mapping[str, Any], *, summary: str = "", review: Review | None = None) -> Report:
        """A report of values, with the sentence that people read."""
        answer = json.dumps({"text": text, **facts}, ensure_ascii=False, default=str)
        named = ", ".join(facts) or "nothing else"
        return cls(answer, review or Review("accomplished"), summary or f"`text` for people, and {named}.")

    @classmethod
    def failed(cls, reason: str, *suggestions: str) -> Report:
        """A report that nothing could be found out, and why."""
        review = Review("failed", reason, suggestions)
        return cls(json.dumps({"text": reason, "unanswerable": True}, ensure_ascii=False), review, "Why not.")

    @property
    def facts(self) -> dict[str, Any]:
        """The values in the answer, without its text; empty where the answer is prose."""
        try:
            found = read_object(self.answer)
        except NotJson:
            return {}
        return {name: value for name, value in found.items() if name not in ("text", "unanswerable")}

    @property
    def text(self) -> str:
        """The answer as people read it."""
        try:
            found = read_object(self.answer)
        except NotJson:
            return self.answer
        return str(found.get("text") or self.answer)

    def as_json(self) -> dict[str, Any]:
        """The three fields of the contract."""
        return {"answer": self.answer, "review": self.review.as_json(), "summary": self.summary}


@dataclass(frozen=True)
class Request:
    """A request as a sub-agent reads it: the words, and the values that came with them."""

    words: str
    known: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Request:
        """Take a request apart."""
        words, found, values = text.partition(KNOWN)
        if not found:
            return cls(text.strip())
        try:
            return cls(words.strip(), read_object(values))
        except NotJson:
            return cls(text.strip())

    def __str__(self) -> str:
        if not self.known:
            return self.words
        return f"{self.words}\n\n{KNOWN}\n{_short_enough(self.known)}"


def _short_enough(known: Mapping[str, Any]) -> str:
    """The values as JSON; from the longest on they are replaced by how long they are, until the whole is short."""
    values = dict(known)
    while len(text := json.dumps(values, ensure_ascii=False, default=str)) > LONGEST:
        name = max(values, key=lambda key: len(json.dumps(values[key], default=str)))
        if isinstance(values[name], str) and values[name].startswith("left out"):
            break
        size = len(values[name]) if isinstance(values[name], list | dict | str) else 1
        values[name] = f"left out: {size} entries"
    return text
