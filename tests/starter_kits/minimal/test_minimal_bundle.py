"""The minimal agent and the demo's agents are bundles that can be submitted, and end as the demo says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet_agent.bundle import check_folder

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "competitions" / "quickstart" / "demo_agents"
AGENTS = [ROOT / "starter_kits" / "minimal", DEMO / "weak", DEMO / "crashing"]


@pytest.mark.parametrize("folder", AGENTS, ids=lambda folder: folder.name)
def test_bundles_can_be_submitted(folder: Path) -> None:
    manifest = check_folder(folder)
    assert manifest.findings == []
    assert manifest.command == ["python", "agent.py"]


def test_the_crashing_agent_ends_with_its_reason_before_it_asks_for_a_question() -> None:
    run = subprocess.run(
        [sys.executable, "agent.py"],
        cwd=DEMO / "crashing",
        capture_output=True,
        text=True,
        env={"GAUNTLET_URL": "http://127.0.0.1:1"},
        check=False,
    )
    assert run.returncode == 1
    assert "FileNotFoundError" in run.stderr
    assert "rules.json" in run.stderr


@pytest.mark.parametrize("folder", AGENTS[:2], ids=lambda folder: folder.name)
def test_the_others_start_and_look_for_their_gateway(folder: Path) -> None:
    run = subprocess.run([sys.executable, "agent.py"], cwd=folder, capture_output=True, text=True, env={}, check=False)
    assert run.returncode == 1
    assert "NoGateway" in run.stderr
