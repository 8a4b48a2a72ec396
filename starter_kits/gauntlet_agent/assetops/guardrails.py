"""What won the public competition: not better prompts, but taking care of what comes out of them.

- choice: of several candidate answers take the one that has most of what is asked for (:func:`choose`)
- clean-up: an answer must not carry the prompt, the scratch work or other steps' text (:func:`clean`)
- fallback: what a model could not do is done by rules, and what rules cannot do is declined (in the kits' `solver.py`)
- context control: observations are short, and conversations are kept below a limit (:func:`compress`, `models.fit`)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_agent.assetops.composing import ABSTAIN

_LABEL: Final = re.compile(r"^\s*(?:Final Answer|Final Output|Answer|Output|Response)\s*(?:\d+)?\s*:\s*", re.IGNORECASE)
_SCRATCH: Final = re.compile(
    r"^\s*(?:Thought|Think|Action|Action Input|Observation|Reflection|Question|Plan|Step \d+|#\w+\d*)\s*\d*\s*[:=].*$",
    re.IGNORECASE | re.MULTILINE,
)
_THINKING: Final = re.compile(r"<(think|thinking|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TOKENS: Final = re.compile(r"<\|[^|>]{1,40}\|>|\[/?INST\]|</?s>|\(END OF RESPONSE\)", re.IGNORECASE)
LONGEST_ANSWER: Final = 4000  # characters


@dataclass(frozen=True)
class Candidate:
    """An answer that could be given.

    Attributes:
        source: who made it, for the record: "model" or "rules"
    """

    source: str
    text: str
    data: Mapping[str, Any]


def choose(candidates: Sequence[Candidate], show: Mapping[str, Any]) -> Candidate | None:
    """The candidate with most of the fields that are asked for; of equals the first. A refusal counts as no field.

    So an answer that one side found is preferred to the other side's refusal, and a refusal to nothing at all.
    """
    wanted = show.get("answer_format")
    fields = set(wanted) if isinstance(wanted, Mapping) else set()

    def filled(one: Candidate) -> tuple[int, int]:
        given = {name for name, value in one.data.items() if value is not None}
        return (len(fields & given) if fields else len(given - set(ABSTAIN))), int(bool(one.data) or bool(one.text))

    return max(candidates, key=filled, default=None)


def clean(text: str) -> str:
    """An answer without what does not belong into it: thinking, a loop's labels, template tokens, fences, repeats.

    Where nothing is left, the text is returned with its tokens and thinking removed only.
    """
    bare = _TOKENS.sub("", _THINKING.sub("", text)).strip()
    after = re.split(r"(?i)\bfinal (?:answer|output)\s*:", bare)[-1]
    kept = _SCRATCH.sub("", after)
    kept = re.sub(r"```\w*", "", kept)
    lines = [_LABEL.sub("", line).rstrip() for line in kept.splitlines()]
    unlike = [line for position, line in enumerate(lines) if line.strip() and line not in lines[:position]]
    return ("\n".join(unlike).strip() or bare)[:LONGEST_ANSWER]


def compress(text: str, *, limit: int = 800) -> str:
    """An observation short enough to keep: its beginning and its end, and how much is left out between them."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    head, tail = limit * 2 // 3, limit // 4
    return f"{flat[:head]} [... {len(flat) - head - tail} characters left out ...] {flat[-tail:]}"
