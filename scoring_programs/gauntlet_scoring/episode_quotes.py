"""A scenario and what an agent did about it, as blocks of a judge's prompt: bounded, quoted, in order."""

from __future__ import annotations

import json
from typing import Any, Final

from gauntlet_scoring.program import Case
from gauntlet_scoring.quoting import cut, quoted
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
from gauntlet_scoring.trajectory import NoteEvent

# Characters, head and tail. An agent chooses how much it writes: what is cut is counted where it was.
TEXT: Final = (3000, 1000)  # of a thought, a message, a tool's arguments or its result
ANSWER: Final = (8000, 2000)
DATA: Final = (6000, 2000)
REFERENCE: Final = (8000, 0)
STEPS: Final = (40, 40)  # lines
STEP_CHARACTERS: Final = 40_000  # of all lines as they are written, half of them from either end
RESPONSE_CHARACTERS: Final = 30_000  # of the response as it is written
LIMITS: Final = (TEXT, ANSWER, DATA, REFERENCE, STEPS, STEP_CHARACTERS, RESPONSE_CHARACTERS)


def question_lines(case: Case) -> list[str]:
    """What the agent was asked."""
    return [_text(case.reference.truth.text, REFERENCE)]


def characteristic_lines(case: Case) -> list[str]:
    """What the organizer expects, and the plan that it would take."""
    truth = case.reference.truth
    expected: dict[str, Any] = {"characteristic_answer": cut(truth.characteristic_form, head=REFERENCE[0], tail=0)}
    if truth.final_out is not None:
        expected["final_out"] = cut(_json(truth.final_out), head=DATA[0], tail=DATA[1])
    if truth.final_out_description:
        expected["final_out_description"] = truth.final_out_description
    expected["category"] = truth.category
    expected["expected_actions"] = [f"{step.agent}: {step.instruction}" for step in truth.planning_steps]
    return [quoted(expected)]


def step_lines(episode: RecordedEpisode) -> list[str]:
    """The agent's plan, then its thoughts, messages and tool calls as they came, one line each."""
    lines = [quoted({"kind": "plan", "steps": [_text_of(each.instruction) for each in episode.plan[: STEPS[0]]]})]
    dated: list[tuple[int, dict[str, Any]]] = [(each.call.seq, _call(each)) for each in episode.calls]
    for said in episode.said:
        kind = "thought" if isinstance(said, NoteEvent) else f"message of the {said.role}"
        dated.append((said.seq, {"kind": kind, "text": _text_of(said.text)}))
    steps = [step for _, step in sorted(dated, key=lambda each: each[0])]
    lines += [quoted({"step": number, **step}) for number, step in enumerate(steps, start=1)]
    return _bounded(lines if episode.plan else lines[1:])


def response_lines(episode: RecordedEpisode) -> list[str]:
    """The agent's answer, or why there is none."""
    answer = episode.answer
    if answer is None:
        return [quoted({"kind": "no answer", "ended_with": str(episode.failure)})]
    data = None if answer.data is None else _json(answer.data)
    share = 1
    while len(line := _response(answer.text, data, share)) > RESPONSE_CHARACTERS:
        share *= 2  # characters that are written with many signs: the prompt is bounded all the same
    return [line]


def _response(text: str, data: str | None, share: int) -> str:
    response = {"text": cut(text, head=ANSWER[0] // share, tail=ANSWER[1] // share)}
    if data is not None:
        response["data"] = cut(data, head=DATA[0] // share, tail=DATA[1] // share)
    return quoted(response)


def _call(each: RecordedCall) -> dict[str, Any]:
    step: dict[str, Any] = {
        "kind": "tool call",
        "tool": each.call.tool,
        "arguments": _text_of(_json(each.call.arguments)),
    }
    if each.result is None:
        return {**step, "outcome": "no result"}
    return {**step, "outcome": "error" if each.result.is_error else "ok", "result": _text_of(_json(each.content))}


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(text: str, limit: tuple[int, int]) -> str:
    return quoted(cut(text, head=limit[0], tail=limit[1]))


def _text_of(text: str) -> str:
    return cut(text, head=TEXT[0], tail=TEXT[1])


def _bounded(lines: list[str]) -> list[str]:
    """The first and the last lines, as many as may be shown, and how many are missing between them."""
    head, tail = _fitting(lines, STEPS[0]), _fitting(lines[::-1], STEPS[1])
    if head + tail >= len(lines):
        return lines
    missing = len(lines) - head - tail
    return [*lines[:head], quoted({"kind": f"{missing} steps left out"}), *lines[len(lines) - tail :]]


def _fitting(lines: list[str], most: int) -> int:
    """How many lines from the beginning fit."""
    used = 0
    for number, line in enumerate(lines[:most]):
        used += len(line)
        if used > STEP_CHARACTERS // 2:
            return number
    return min(most, len(lines))
