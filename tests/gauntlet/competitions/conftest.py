"""A small bundle that is right, to be spoiled in one place by each test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MANIFEST = """\
version: 2
title: A small competition
description: For tests
terms: terms.md
registration_auto_approve: true
time_zone: UTC
contact_email: organizer@example.org
pages:
  - title: Overview
    file: pages/overview.md
tasks:
  - index: 0
    name: The task
    environment: environment
    input_data: data
    scenarios: scenarios.jsonl
    reference_data: reference
    scoring_programs:
      - name: rubric
        version: "1"
      - scoring
    limits:
      episode_seconds: 60
      memory: 512M
phases:
  - index: 0
    name: Development
    start: 2026-01-01 08:30:00
    end: 2026-06-01
    tasks: [0]
    max_submissions_per_day: 3
    visibility: scores
    starting_kit: kit
  - index: 1
    name: Final
    start: "2026-06-01T02:00:00+02:00"
    tasks: [0]
leaderboards:
  - title: Results
    key: results
    submission_rule: Force_Best
    columns:
      - index: 0
        key: score
        title: Score
        from: rubric.score
        interval: bootstrap
      - index: 1
        key: own
        title: Own
        from: scoring.own
        over: sum
      - index: 2
        key: steps
        title: Steps
        from: episodes.steps
        sorting: asc
"""


def truth(key: str) -> dict[str, Any]:
    """A scenario's ground truth that is right."""
    return {
        "id": key,
        "text": f"Question {key}?",
        "type": "IoT",
        "category": "Data Query",
        "deterministic": True,
        "characteristic_form": "The number 23.",
        "planning_steps": [{"agent": "IoTAgent", "instruction": "Look."}],
        "execution_steps": [{"name": "end", "action": "Finish", "agent": "IoTAgent", "arguments": {"answer": "1"}}],
        "execution_links": [],
    }


class BundleFolder:
    """A bundle's folder, and how a test spoils it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("competition.yaml", MANIFEST)
        self.write("terms.md", "Be fair.\n")
        self.write("pages/overview.md", "# Hello\n\n<script>alert(1)</script>\n")
        self.write("environment/server.py", "print('server')\n")
        self.write("environment/metadata.yaml", "command: python server.py --fast\n")
        self.write("data/table.csv", "a,b\n1,2\n")
        self.write("scoring/metadata.yaml", "command: python score.py\nscores:\n  own: {low: 0, high: 10}\n")
        self.write("scoring/score.py", "print('score')\n")
        self.write("kit/README.md", "Start here.\n")
        self.scenarios([("s-1", True), ("s-2", False)])
        self.truths(["s-1", "s-2"])

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def scenarios(self, wanted: list[tuple[str, bool]]) -> None:
        """Write the scenarios."""
        rows = [
            {"id": key, "text": f"Question {key}?", "category": "Data Query", "public": public, "show": {"unit": "h"}}
            for key, public in wanted
        ]
        self.write("scenarios.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def truths(self, keys: list[str]) -> None:
        """Write the ground truth."""
        self.write("reference/ground_truth.jsonl", "".join(json.dumps(truth(key)) + "\n" for key in keys))

    def replace(self, old: str, new: str) -> None:
        """Change the manifest; the old text must be there."""
        path = self.root / "competition.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def line_of(self, needle: str, file: str = "competition.yaml") -> int:
        """The number of the line that holds a text."""
        lines = (self.root / file).read_text().splitlines()
        return next(number for number, line in enumerate(lines, start=1) if needle in line)


@pytest.fixture
def bundle(tmp_path: Path) -> BundleFolder:
    """A bundle that is right."""
    return BundleFolder(tmp_path / "bundle")


@pytest.fixture
def findings_of() -> Callable[[BundleFolder], list[Any]]:
    """Check a bundle."""
    from gauntlet.competitions.services import check_bundle

    return lambda bundle: check_bundle(bundle.root)
