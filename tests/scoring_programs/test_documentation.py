"""The page on scoring names what the programs write."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet_scoring.ground_truth import Checks
from gauntlet_scoring.program_metadata import read_program_metadata

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "scoring_programs").glob("*/metadata.yaml")), ids=lambda p: p.parent.name
)
def test_every_key_of_every_program_is_explained(folder):
    metadata = read_program_metadata(folder.parent)
    section = PAGE.split(f"\n## {metadata.name}\n")[1].split("\n## ")[0]
    assert metadata.scores
    assert [key for key in metadata.scores if f"`{key}`" not in section] == []


def test_every_kind_of_check_is_explained():
    kinds = {
        definition["properties"]["kind"]["const"] for name, definition in Checks.model_json_schema()["$defs"].items()
    }
    assert [kind for kind in sorted(kinds) if f"| `{kind}` " not in PAGE] == []
