"""The published questions on the real records: the oracle finds what was published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from quickstart_generator.published import make_published

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation import validate_ground_truth_file

pytestmark = pytest.mark.real_input
# Published answers; see the README of the data.
ANSWERS = {
    "400": {"work_orders": 33},
    "402": {"work_orders": 31},
    "403": {"work_orders": 2},
    "404": {"work_orders": 14, "alerts": 0, "anomalies": 0},
    "405": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "406": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "407": {"days_with_events": 82},
    "408": {"days_with_events": 26},
    "410": {"work_orders": 0, "alerts": 6, "anomalies": 0},
}


@pytest.fixture
def published(tmp_path: Path, shared: Path) -> Path:
    make_published(tmp_path / "bundle", shared=shared)
    return tmp_path / "bundle"


def test_the_oracle_finds_the_published_answers(
    published: Path, read_truths: Callable[[Path, str], list[GroundTruth]]
) -> None:
    assert {truth.key: truth.final_out for truth in read_truths(published, "published")} == ANSWERS


def test_the_texts_are_the_published_ones(published: Path, shared: Path) -> None:
    source = (shared / "data" / "assetops" / "scenarios_152.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {str(row["id"]): row["text"] for row in map(json.loads, source)}
    lines = (published / "scenarios" / "published.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["id"] for row in rows] == list(ANSWERS)
    assert all(row["text"] == texts[row["id"]] for row in rows)


def test_the_bundle_is_valid_and_complete(published: Path) -> None:
    assert validate_ground_truth_file(published / "reference" / "published" / "ground_truth.jsonl") == []
    assert (published / "competition.yaml").is_file()
    assert (published / "environment" / "server.py").is_file()


def test_a_missing_source_is_an_error_and_not_an_empty_competition(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_published(tmp_path / "bundle", shared=tmp_path / "nowhere")
