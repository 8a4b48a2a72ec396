"""Published results of AssetOpsBench, to be shown beside a board: marked, unranked, each with its source.

They were measured on the paper's own 141 scenarios, by its own judge and models; a board says so.
"""

from __future__ import annotations

from typing import Any, Final

_PAPER: Final = "AssetOpsBench paper"
_FIGURE: Final = f"{_PAPER}, section 5.3 and figure 5; its own 141 scenarios, judged by llama-4-maverick"
_SINGLE: Final = f"{_PAPER}, appendix G.3: one prompt with all tools; its own 141 scenarios"
_SMALL: Final = f"{_PAPER}, section 5.4: tasks completed by agent, in Agent-As-Tool; its own scenarios"
_PLANS: Final = f"{_PAPER}, table 11: planning accuracy on its own 141 scenarios"
_ROUGE: Final = f"{_PAPER}, table 2: Plan-Execute, planner outputs, on its own scenarios"

EXECUTION: Final[list[dict[str, Any]]] = [
    {"name": "gpt-4.1, Agent-As-Tool", "source": _FIGURE, "scores": {"y1": 0.65, "y2": 0.77}},
    {"name": "Plan-Execute, best completion", "source": _FIGURE, "scores": {"y1": 0.46}},
    {"name": "mistral-large, Plan-Execute", "source": _FIGURE, "scores": {"y2": 0.57, "y3": 0.48}},
    {"name": "gpt-4.1, Plan-Execute", "source": _FIGURE, "scores": {"y1": 0.38}},
    {
        "name": "llama-4-maverick, a single agent",
        "source": _SINGLE,
        "scores": {"y1": 0.2695, "y2": 0.3404, "y3": 0.2837},
    },
    {
        "name": "granite-3-3-8b, Agent-As-Tool",
        "source": _SMALL,
        "scores": {"of_iot": 15 / 20, "of_fmsr": 18 / 22, "of_tsfm": 19 / 23, "of_wo": 2 / 36},
    },
    {
        "name": "llama-3-3-70b, Agent-As-Tool",
        "source": _SMALL,
        "scores": {"of_iot": 12 / 20, "of_fmsr": 18 / 22, "of_tsfm": 20 / 23, "of_wo": 7 / 36},
    },
]

_S: Final = {
    "mistral-medium-2505": 0.620,
    "gemini-2.5-pro": 0.615,
    "gpt-oss-120b": 0.606,
    "mistral-small-3-1-24b": 0.604,
    "claude-4-sonnet": 0.595,
    "llama-3-405b-instruct": 0.588,
    "claude-3-7-sonnet": 0.571,
    "llama-4-maverick-17b": 0.558,
    "gpt-5-2025-08-07": 0.544,
    "granite-3-3-8b-instruct": 0.529,
    "llama-3-3-70b-instruct": 0.522,
}
_ROUGES: Final = {
    "mistral-large": (0.420, 0.251, 0.343, 0.404),
    "llama-3-405b-instruct": (0.406, 0.243, 0.337, 0.381),
    "llama-4-maverick": (0.403, 0.240, 0.325, 0.383),
    "llama-4-scout-17b-16e-instruct": (0.395, 0.227, 0.265, 0.368),
    "gpt-4.1-2025-04-14": (0.354, 0.182, 0.289, 0.335),
    "granite-3-3-8b-instruct": (0.373, 0.214, 0.291, 0.353),
    "llama-3-3-70b-instruct": (0.297, 0.172, 0.242, 0.280),
}
_KEYS: Final = ("rouge_1", "rouge_2", "rouge_l", "rouge_lsum")

PLANNING: Final[list[dict[str, Any]]] = [
    *({"name": name, "source": _PLANS, "scores": {"s": value}} for name, value in _S.items()),
    *(
        {"name": f"{name}, ROUGE", "source": _ROUGE, "scores": dict(zip(_KEYS, values, strict=True))}
        for name, values in _ROUGES.items()
    ),
]
