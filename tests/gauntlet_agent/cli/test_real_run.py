"""`gauntlet test` from end to end: real sandbox, real gateway, the quickstart competition's own starting kit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quickstart_generator.bundle import make_competition

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def starting_kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("competition") / "bundle"
    make_competition(folder, secret=bytes(range(16)))
    return folder / "starting_kit"


def test_the_minimal_agent_answers_and_is_judged(process: Any, starting_kit: Path) -> None:
    agent = ROOT / "starter_kits" / "minimal"
    done = process("test", str(agent), "--kit", str(starting_kit), "--scenarios", "3")
    assert done.returncode == 0, done.stderr
    assert "What happened on Chiller 21 in November 2020" in done.stdout
    assert "task completion: 0.667" in done.stdout  # two by rules; the first needs a comparison, which it has none for
    assert done.stdout.count("answered") >= 3


def test_what_raises_is_shown_with_its_traceback_and_the_rest_is_answered(
    process: Any, starting_kit: Path, tmp_path: Path
) -> None:
    (tmp_path / "agent.yaml").write_text("name: shaky\ncommand: python agent.py\n")
    (tmp_path / "agent.py").write_text(
        "from gauntlet_agent import run\n"
        "seen = []\n"
        "def solve(episode):\n"
        "    seen.append(episode)\n"
        "    if len(seen) == 1:\n"
        "        episode.call('list_equipment', nonsense=1)\n"
        "    return f'{len(episode.tools()) > 5} after {len(seen)}'\n"
        "run(solve)\n"
    )
    done = process("test", str(tmp_path), "--kit", str(starting_kit), "--scenarios", "2")
    assert done.returncode == 0, done.stderr
    assert "solve raised ToolError: list_equipment does not" in done.stdout
    assert "True after 2" in done.stdout
    assert "ToolError: list_equipment does not take nonsense" in done.stderr


def test_a_file_that_stays_out_of_the_bundle_is_missing_here_too(
    process: Any, starting_kit: Path, tmp_path: Path
) -> None:
    (tmp_path / "agent.yaml").write_text("name: forgetful\ncommand: python agent.py\n")
    (tmp_path / "agent.py").write_text("import rules\n")
    (tmp_path / "rules.py").write_text("")
    (tmp_path / ".gauntletignore").write_text("rules.py\n")
    done = process("test", str(tmp_path), "--kit", str(starting_kit), "--scenarios", "1")
    assert done.returncode == 1
    assert "No module named 'rules'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr.split("gauntlet: ")[-1].splitlines()[0]
