"""The page about the agent's door names every code that an agent can be given."""

from __future__ import annotations

import re
from pathlib import Path

from gauntlet_scoring.failures import FailureCode

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "agent-api.md"
GATEWAY = ROOT / "platform" / "gauntlet_runtime" / "gateway"
#: Where a refusal is made: `ApiError(404, "unknown_episode", …)`, over line ends, with whatever name the class has.
REFUSAL = re.compile(r'(?:Api|Model|Protocol)\w*\(\s*(?:status=)?[45]\d\d,\s*(?:code=)?"([a-z_]+)"')


def test_every_refusal_of_the_gateway_stands_on_the_page():
    codes = {code for file in GATEWAY.glob("*.py") for code in REFUSAL.findall(file.read_text())}
    assert len(codes) > 15, codes  # the pattern finds them
    page = PAGE.read_text()
    assert {code for code in codes if f"`{code}`" not in page} == set()


def test_every_way_to_end_an_episode_stands_on_the_page():
    page = PAGE.read_text()
    elsewhere = {FailureCode.INVALID_BUNDLE, FailureCode.INGESTION_ERROR, FailureCode.SCORING_ERROR}
    assert {code for code in FailureCode if f"`{code}`" not in page} == elsewhere
