"""An episode's page: the record's events in words, long things folded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gauntlet.web import wording
from gauntlet_scoring import trajectory as record

SHOWN_EVENTS: Final = 400
_FOLDED_BYTES: Final = 6_000
_TEXT_BYTES: Final = 4_000
_NAME_CHARACTERS: Final = 100
_PLAN_STEPS: Final = 100


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """A step of a plan; ``after`` names the steps it waits for, counted from 1."""

    agent: str
    instruction: str
    after: str


@dataclass(frozen=True, kw_only=True)
class EventLine:
    """One event as the page shows it: a text, a folded block, or a plan."""

    title: str
    clock: str  # seconds since the episode began
    text: str = ""
    aside: str = ""
    summary: str = ""
    folded: str = ""
    look: str = ""
    code: bool = False
    steps: Sequence[PlanLine] = ()


def lines(events: Iterable[record.Event], *, most: int = SHOWN_EVENTS) -> tuple[list[EventLine], bool]:
    """The first events in their order, and whether there are more; the scenario itself stands in the page's head.

    No more is read than is shown: a record can be far larger than a page.
    """
    made: list[EventLine] = []
    began = None
    for event in events:
        began = began or event.at
        if isinstance(event, record.ScenarioEvent):
            continue
        if len(made) == most:
            return made, True
        made.append(_line(event, f"+{(event.at - began).total_seconds():.2f} s"))
    return made, False


def _line(event: record.Event, clock: str) -> EventLine:
    match event:
        case record.MessageEvent():
            who = "Agent says" if event.role == "agent" else "User says"
            return EventLine(title=who, clock=clock, text=_cut(event.text, _TEXT_BYTES))
        case record.PlanEvent():
            steps = [_plan_line(step) for step in event.steps[:_PLAN_STEPS]]
            aside = f"the first {_PLAN_STEPS} of {len(event.steps)} steps" if len(steps) < len(event.steps) else ""
            return EventLine(title="Plan", clock=clock, steps=steps, aside=aside)
        case record.NoteEvent():
            return EventLine(title="Note", clock=clock, text=_cut(event.text, _TEXT_BYTES), aside="the agent's own")
        case record.ToolCallEvent():
            return _call(event, clock)
        case record.ToolResultEvent():
            return _result(event, clock)
        case record.ModelCallEvent():
            return _model_call(event, clock)
        case record.ModelResultEvent():
            return _model_result(event, clock)
        case record.AnswerEvent():
            return EventLine(title="Answer", clock=clock, text=_answer(event), look="answer")
        case record.EndEvent():
            return _end(event, clock)
    raise ValueError(f"an event of this kind has no place on the page: {event.kind}")


def _plan_line(step: record.PlanStep) -> PlanLine:
    return PlanLine(
        agent=_name(step.agent),
        instruction=_cut(step.instruction, _TEXT_BYTES),
        after=", ".join(str(position + 1) for position in step.depends_on),
    )


def _call(event: record.ToolCallEvent, clock: str) -> EventLine:
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in event.arguments.items())
    short = f"{event.tool}({arguments})"
    aside = "while another call was open" if event.overlaps else ""
    if len(short) <= 240:
        return EventLine(title="Tool call", clock=clock, text=short, aside=aside, code=True)
    folded = _cut(_pretty(event.arguments), _FOLDED_BYTES)
    return EventLine(title="Tool call", clock=clock, summary=_name(event.tool), folded=folded, aside=aside)


def _result(event: record.ToolResultEvent, clock: str) -> EventLine:
    if event.blob:
        body = f"kept beside the record as {event.blob}"
    else:
        body = _pretty(event.structured) if event.structured is not None else event.text or ""
    title = "Tool error" if event.is_error else "Result"
    aside = f"after {event.seconds * 1000:.0f} ms"
    if len(body) <= 160 and "\n" not in body:
        return EventLine(title=title, clock=clock, text=body, aside=aside, code=True)
    summary = f"{_name(event.tool)}: {len(body):,} characters"
    return EventLine(title=title, clock=clock, summary=summary, folded=_cut(body, _FOLDED_BYTES), aside=aside)


def _model_call(event: record.ModelCallEvent, clock: str) -> EventLine:
    request = f"kept beside the record as {event.blob}" if event.blob else _pretty(event.request)
    aside = "while another call was open" if event.overlaps else ""
    summary = f"{_name(event.model)}: a request of {len(request):,} characters"
    return EventLine(title="Model call", clock=clock, summary=summary, folded=_cut(request, _FOLDED_BYTES), aside=aside)


def _model_result(event: record.ModelResultEvent, clock: str) -> EventLine:
    said = f"kept beside the record as {event.blob}" if event.blob else _pretty(event.response)
    used = f"{event.prompt_tokens:,} tokens in, {event.completion_tokens:,} out, cost {event.cost}"
    parts = [f"after {event.seconds:.1f} s", "from the cache" if event.cached else "", "estimated" * event.estimated]
    title = "Model answer" if event.status == 200 else f"Model error {event.status}"
    return EventLine(
        title=title,
        clock=clock,
        summary=f"{_name(event.model)}: {used}",
        folded=_cut(said, _FOLDED_BYTES),
        aside=", ".join(part for part in parts if part),
    )


def _answer(event: record.AnswerEvent) -> str:
    text = _cut(event.text, _TEXT_BYTES)
    return (
        text if event.data is None else f"{text}\ndata: {_cut(json.dumps(event.data, ensure_ascii=False), _TEXT_BYTES)}"
    )


def _end(event: record.EndEvent, clock: str) -> EventLine:
    if event.failure is None:
        return EventLine(
            title="End", clock=clock, text=f"The episode ended with an answer after {event.seconds:.1f} s."
        )
    sentence = event.message or f"The episode ended: {event.failure}."
    fault = wording.FAULT_SENTENCE[event.failure.owner]
    return EventLine(title="End", clock=clock, text=f"{sentence} {fault}", aside=str(event.failure), look="endfail")


def _name(tool: str) -> str:
    """A tool's name as the agent wrote it, which need not be that of any tool."""
    return tool if len(tool) <= _NAME_CHARACTERS else f"{tool[:_NAME_CHARACTERS]}…"


def _pretty(value: Any) -> str:
    one_line = json.dumps(value, ensure_ascii=False)
    return one_line if len(one_line) <= 160 else json.dumps(value, ensure_ascii=False, indent=2)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} more characters"
