"""Writing of what a scoring program leaves behind in ``/app/output``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.errors import NonFiniteScoreError

SCORES_FILE: Final = "scores.json"
SCENARIOS_FILE: Final = "scenarios.jsonl"
PROVENANCE_FILE: Final = "provenance.json"


def write_scores(folder: Path, scores: Mapping[str, float]) -> None:
    """Write ``scores.json``: flat, finite numbers only.

    Raises:
        NonFiniteScoreError: a value is NaN, infinite or no number; nothing is written then.
    """
    _refuse_non_finite(scores, "the evaluation")
    text = json.dumps({key: float(value) for key, value in scores.items()}, indent=2, allow_nan=False)
    (folder / SCORES_FILE).write_text(text + "\n", encoding="utf-8")


def write_scenarios(folder: Path, rows: Iterable[ScenarioRow]) -> None:
    """Write ``scenarios.jsonl``, one line a scenario and trial.

    Raises:
        NonFiniteScoreError: as :func:`write_scores`; nothing is written then.
    """
    lines: list[str] = []
    for row in rows:
        _refuse_non_finite(row.scores, f"scenario {row.scenario}, trial {row.trial}")
        lines.append(row.model_dump_json() + "\n")
    (folder / SCENARIOS_FILE).write_text("".join(lines), encoding="utf-8")


def write_provenance(folder: Path, facts: Mapping[str, str]) -> None:
    """Write ``provenance.json``: what made the scores, a flat map of text to text."""
    text = json.dumps(dict(facts), indent=2, sort_keys=True, ensure_ascii=False)
    (folder / PROVENANCE_FILE).write_text(text + "\n", encoding="utf-8")


def _refuse_non_finite(scores: Mapping[str, float], place: str) -> None:
    for key, value in scores.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise NonFiniteScoreError(f"score {key} of {place} is {value!r}, which is not a finite number")
