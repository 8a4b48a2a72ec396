"""The five failure patterns by name, for whoever tells them and whoever shows them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class FailurePattern(StrEnum):
    """A way to fail; the values are keys of a scenario's ``detail``."""

    TOOL_SELECTION = "tool_selection"
    PARAMETER = "parameter"
    MISSING_STEPS = "missing_steps"
    INCORRECT_SEQUENCING = "incorrect_sequencing"
    PREMATURE_TERMINATION = "premature_termination"


TITLES: Final[Mapping[FailurePattern, str]] = {
    FailurePattern.TOOL_SELECTION: "Tool selection",
    FailurePattern.PARAMETER: "Parameter",
    FailurePattern.MISSING_STEPS: "Missing steps",
    FailurePattern.INCORRECT_SEQUENCING: "Incorrect sequencing",
    FailurePattern.PREMATURE_TERMINATION: "Premature termination",
}

NOT_SHOWN: Final[Mapping[FailurePattern, str]] = {
    FailurePattern.TOOL_SELECTION: "every called tool is one that the reference uses",
    FailurePattern.PARAMETER: "every argument that the reference names was given as it says",
    FailurePattern.MISSING_STEPS: "every step of the reference was done",
    FailurePattern.INCORRECT_SEQUENCING: "no step came before one that it builds on",
    FailurePattern.PREMATURE_TERMINATION: "it ended with the answer that was asked for",
}
