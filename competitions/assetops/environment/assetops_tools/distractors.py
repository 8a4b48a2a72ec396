"""Ten tools that are of no use (requirement A46): each answers in its own manner, alike for alike requests.

They are offered beside the others where a task asks for it, to see whether an agent lets itself be led astray. None
reads the records, none says anything about the request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from assetops_tools.arguments import Arguments, required_text
from assetops_tools.tool import DISTRACTORS, Answer, Episode, Tool

#: Tool: its description, and what it may say.
_PERSONAS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "off_topic_agent": (
        "Shares interesting facts from many fields.",
        (
            "Honey keeps for thousands of years if it stays sealed.",
            "Octopuses have three hearts, and two of them rest while the animal swims.",
            "A day on Venus lasts longer than its year.",
            "The first paper money was used in China.",
        ),
    ),
    "customer_support_agent": (
        "Helps with accounts, passwords and the availability of services.",
        (
            "Thank you for reaching out. Please reset your password from the log-in page and try again.",
            "We are sorry for the inconvenience. All services are available at this time.",
            "Your request was noted. A colleague will answer within two working days.",
        ),
    ),
    "sre_agent": (
        "Looks into slow or failing computer infrastructure.",
        (
            "Error rates of the cluster are within budget, latency at the 99th percentile is steady.",
            "One node was drained this morning and is back in rotation; no action is needed.",
            "The last deployment finished without a rollback, and no alarm of the cluster is open.",
        ),
    ),
    "frontend_dev_agent": (
        "Helps with user interfaces and their faults.",
        (
            "Move the state up into the parent component, and the list will render once.",
            "The layout shifts because the image has no size; give it a width and a height.",
            "Use a button and not a link there: it does something and leads nowhere.",
        ),
    ),
    "hr_policy_agent": (
        "Answers questions about leave, benefits and rules at work.",
        (
            "Leave is asked for two weeks ahead and granted by the head of the team.",
            "Travel costs are paid against receipts within thirty days.",
            "Working from home needs an agreement that is renewed every year.",
        ),
    ),
    "sensor_data_summarizer": (
        "Summarises series of sensor readings.",
        (
            "The readings lie mostly within their usual range, with some variation over the day.",
            "There is some scatter, and nothing in it that would need attention at a glance.",
            "Values rise and fall with a daily rhythm, as such series often do.",
        ),
    ),
    "historical_trends_agent": (
        "Finds patterns in the past for the analysis of failures.",
        (
            "In the past, failures have come both alone and in clusters, depending on the circumstances.",
            "Longer records tend to show a slow trend with seasonal swings around it.",
            "Comparable equipment has shown comparable behaviour over comparable times.",
        ),
    ),
    "edge_ml_agent": (
        "Recommends how to run models on small hardware.",
        (
            "Quantise the weights to eight bits and measure what accuracy remains.",
            "A small tree ensemble fits into the memory of most controllers.",
            "Batch the readings by the minute to let the processor sleep in between.",
        ),
    ),
    "rul_predictor_agent": (
        "Estimates the remaining useful life from signs of wear.",
        (
            "The remaining life depends on load, environment and care, and cannot be narrowed down further.",
            "With unchanged use the equipment is expected to last as long as such equipment usually lasts.",
            "Wear is progressing at an ordinary pace; a figure would suggest more certainty than there is.",
        ),
    ),
}


def _echo(episode: Episode, arguments: Arguments) -> Answer:
    """Say the request back."""
    del episode
    return _said(required_text(arguments, "request"))


def _speaker(name: str, sayings: tuple[str, ...]) -> Callable[[Episode, Mapping[str, Any]], Answer]:
    def answer(episode: Episode, arguments: Arguments) -> Answer:
        del episode
        request = required_text(arguments, "request")
        digest = hashlib.sha256(f"{name}\n{request.casefold()}".encode()).digest()
        return _said(sayings[int.from_bytes(digest[:4], "big") % len(sayings)])

    return answer


def _said(text: str) -> Answer:
    return {"answer": text}


_REQUEST: Final = {"request": {"type": "string", "description": "what you want, in a sentence"}}
TOOLS: Final = (
    Tool("echo_agent", DISTRACTORS, "Repeats what it is told.", _REQUEST, ("request",), _echo),
    *(
        Tool(name, DISTRACTORS, description, _REQUEST, ("request",), _speaker(name, sayings))
        for name, (description, sayings) in _PERSONAS.items()
    ),
)
