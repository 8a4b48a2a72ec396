"""The folder that a scoring program reads (``/app/input/res``) and the two files that it writes.

Read:  ``episodes.jsonl``, one :class:`EpisodeRow` a scenario and trial (the denominator is always all of them), and
       ``trajectories/<episode>.jsonl`` with ``trajectories/blobs/<sha256>`` for large results.
Write: ``scores.json``, flat, numbers only; ``scenarios.jsonl``, one :class:`ScenarioRow` a scenario and trial.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome


class EpisodeRow(BaseModel):
    """One episode of the evaluation that is being scored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    episode: str
    scenario: str = Field(description="the organizer's key: the `id` of the ground truth as a string")
    trial: int = Field(ge=1)
    outcome: Outcome
    failure: FailureCode | None = None
    seconds: float = Field(default=0.0, ge=0)
    trajectory: str | None = Field(
        default=None, description="path below the folder, or null where nothing was recorded"
    )


class ScenarioRow(BaseModel):
    """What a scoring program says about one scenario and trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str
    trial: int = Field(ge=1)
    scores: dict[str, float]
    detail: dict[str, Any] = Field(default_factory=dict, description="why: shown where the phase allows scorer output")
