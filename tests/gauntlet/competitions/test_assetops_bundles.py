"""The bundles of the AssetOps tracks are what an organizer may import: no error, and no warning but the known one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from assetops_data import Size
from assetops_scenarios.bundle import Scale, make_competition
from assetops_scenarios.manifest import Rules

from gauntlet.accounts.models import User
from gauntlet.competitions.services import check_bundle, import_bundle

SCALE = Scale(public=16, hidden=16, site=Size(telemetry_days=200))


@pytest.mark.django_db
@pytest.mark.parametrize("track", ["planning", "execution"])
def test_a_track_is_accepted_and_its_board_takes_the_primary_score_apart(
    track: str, tmp_path: Path, settings: Any
) -> None:
    settings.MODEL_PROVIDERS = {}
    rules = Rules(trials=2)
    make_competition(
        tmp_path / "bundle", track=track, secret=b"a secret for tests only", distractors=True, rules=rules, scale=SCALE
    )
    findings = [str(finding) for finding in check_bundle(tmp_path / "bundle")]
    overlap = "the phase begins while 'Test' is still open"  # meant so: the same questions, with distractors
    assert [finding for finding in findings if overlap not in finding] == []
    organizer = User.objects.create_user(username=f"organizer-{track}")
    competition = import_bundle(tmp_path / "bundle", organizer=organizer, slug=f"assetops-{track}", publish=True)
    board = competition.leaderboards.get()
    parts = [column for column in board.columns.all() if column.where]
    primary = board.columns.get(primary=True)
    assert {column.source for column in parts} == {primary.source}
    assert {tag for column in parts for tag in column.where} == {"type", "category", "stage"}
    assert board.baselines.count() > 5
