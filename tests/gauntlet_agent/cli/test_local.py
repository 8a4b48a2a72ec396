"""`gauntlet test`: what is said before it can run, how a kit is fetched, and what the table shows."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from model_server import KEY, model_server

from gauntlet_agent.cli import home_judge, local
from gauntlet_agent.cli.failure import CommandFailed
from gauntlet_runtime.jobs import EpisodeResult
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import AnswerEvent, Event, Outcome, ScenarioEvent, ToolCallEvent, ToolResultEvent

AT = datetime(2024, 5, 1, tzinfo=UTC)
TRUTH = {
    "id": 7,
    "text": "How many pumps?",
    "type": "count",
    "category": "count",
    "deterministic": True,
    "characteristic_form": "a number",
    "planning_steps": [{"agent": "a", "instruction": "count"}],
    "execution_steps": [{"name": "s1", "action": "count", "agent": "a"}],
    "execution_links": [],
    "checks": {
        "task_completion": [{"kind": "number", "path": "count", "value": 4}],
        "data_retrieval_accuracy": [{"kind": "called", "tool": "count"}, {"kind": "called", "tool": "list"}],
        "result_verification": [{"kind": "contains_fields", "paths": ["count"]}],
    },
}


def _events(answer: Any) -> list[Event]:
    common = {"at": AT, "episode": "e1", "turn": 0}
    return [
        ScenarioEvent(seq=0, scenario="opaque", trial=1, seed=1, text="How many pumps?", **common),
        ToolCallEvent(seq=1, call="c1", tool="count", arguments={}, **common),
        ToolResultEvent(seq=2, call="c1", tool="count", is_error=False, seconds=0.1, structured={"n": 4}, **common),
        AnswerEvent(seq=3, text="four", data=answer, **common),
    ]


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    folder = tmp_path / "kit"
    (folder / "reference_data").mkdir(parents=True)
    (folder / "competition.yaml").write_text("title: x\n")
    (folder / "reference_data" / "ground_truth.jsonl").write_text(json.dumps(TRUTH) + "\n")
    return folder


def test_the_table_shows_what_came_of_each_scenario_and_why_checks_failed(
    kit: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    truths = local.truths_of(kit)
    answered = EpisodeResult(episode="e1", outcome=Outcome.ANSWERED, seconds=1.25, tool_calls=1)
    failed = EpisodeResult(
        episode="e2", outcome=Outcome.FAILED, failure=FailureCode.TIME_LIMIT, message="Out of time.", seconds=60
    )
    local.show([local.row_of(answered, _events({"count": 4}), truths), local.row_of(failed, _events(None)[:1], truths)])
    printed = capfd.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ["How", "many", "pumps?", "answered", "four", "1", "1.25", "1/1", "1/2", "1/1"] in lines
    assert "failed: Out of time." in printed
    assert "How many pumps?\n  data retrieval accuracy: list was not called\n" in printed
    assert "task completion: 0.500" in printed  # the one that failed counts as 0
    assert "data retrieval accuracy: 0.250" in printed


def test_without_ground_truth_the_table_has_no_verdicts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answered = EpisodeResult(episode="e1", outcome=Outcome.ANSWERED, seconds=1.25, tool_calls=1)
    local.show([local.row_of(answered, _events({"count": 4}), local.truths_of(tmp_path))])
    assert "completion" not in capfd.readouterr().out


def test_a_damaged_ground_truth_is_named_with_its_line(gauntlet: Any, kit: Path) -> None:
    path = kit / "reference_data" / "ground_truth.jsonl"
    path.write_text(path.read_text() + '\n{"id": 8}\n')
    with pytest.raises(local.CommandFailed, match=r"ground_truth\.jsonl:3: text: is required and missing"):
        local.truths_of(kit)


def test_without_the_runtime_the_one_line_to_install_it_is_named(agent: Path, kit: Path) -> None:
    code = "import sys; sys.modules['gauntlet_runtime'] = None; from gauntlet_agent.cli import main; main()"
    words = [sys.executable, "-c", code, "test", str(agent), "--kit", str(kit)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "gauntlet: `gauntlet test` needs gauntlet-runtime. Install it with: pip install 'gauntlet-agent[test]'\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Say which scenarios"),
        (("--kit", "x", "--competition", "y"), "Say which scenarios"),
        (("--kit", "x", "--sandbox", "none"), "--sandbox is bubblewrap or docker."),
        (("--kit", "absent"), "There is no competition.yaml in absent."),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(gauntlet: Any, agent: Path, words: tuple[str, ...], message: str) -> None:
    done = gauntlet("test", str(agent), *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_bundle_with_errors_is_not_run(gauntlet: Any, kit: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = gauntlet("test", str(tmp_path / "empty"), "--kit", str(kit))
    assert done.exit_code == 1
    assert "There is no agent.yaml" in done.stderr


def _zip(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def test_a_kit_is_fetched_into_the_cache_once(as_ada: Any, home: Path) -> None:
    from gauntlet_agent.cli.kits import kit_folder
    from gauntlet_agent.cli.platform_api import PlatformApi

    as_ada.kit = _zip({"top/competition.yaml": "title: x\n", "top/scenarios.jsonl": "{}\n"})
    with PlatformApi(as_ada.url, None) as api:
        folder = kit_folder(api, "quickstart", None)
        assert (folder / "scenarios.jsonl").read_text() == "{}\n"
        assert folder.is_relative_to(home / "cache")
        inode = folder.stat().st_ino
        assert kit_folder(api, "quickstart", 0).stat().st_ino == inode  # unchanged: not unpacked again
        as_ada.kit = _zip({"competition.yaml": "title: y\n"})
        assert kit_folder(api, "quickstart", 0) != folder


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "a/../../escaped", "..\\escaped", "C:\\escaped"])
def test_a_kit_that_leads_out_of_its_folder_is_refused_and_leaves_nothing(as_ada: Any, home: Path, name: str) -> None:
    from gauntlet_agent.cli.kits import kit_folder
    from gauntlet_agent.cli.platform_api import PlatformApi

    as_ada.kit = _zip({"competition.yaml": "title: x\n", name: "x"})
    with PlatformApi(as_ada.url, None) as api, pytest.raises(local.CommandFailed, match="leads out of its folder"):
        kit_folder(api, "quickstart", 0)
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_kit_that_is_no_zip_is_one_sentence(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    as_ada.kit = b"<html>"
    done = gauntlet("test", str(agent), "--competition", "quickstart")
    assert (done.exit_code, done.stderr) == (4, "gauntlet: What the platform sent is not a zip archive.\n")


def test_a_phase_without_public_data_says_so(gauntlet: Any, as_ada: Any, agent: Path, responses: Any) -> None:
    as_ada.answers["/kit"] = responses["problem"](404, "no_kit", "This phase has no public data.")
    done = gauntlet("test", str(agent), "--competition", "quickstart", "--phase", "0")
    assert (done.exit_code, done.stderr) == (1, "gauntlet: This phase has no public data.\n")


JUDGED = """\
title: x
tasks:
  - {index: 0, name: old, scoring_program: s}
  - {index: 1, name: new, environment: e, judge: {model: wise, cost_budget: 1, runs: 3}}
"""


@pytest.fixture
def judged_kit(kit: Path) -> Path:
    (kit / "competition.yaml").write_text(JUDGED)
    return kit


def _told(kit: Path, *events: Event) -> None:
    truths = local.truths_of(kit)
    answered = EpisodeResult(episode="e1", outcome=Outcome.ANSWERED, seconds=1.25, tool_calls=1)
    home_judge.tell_judge(kit, local._answered([(answered, list(events))], truths))


def test_a_judge_is_not_available_at_home_and_that_is_said(
    judged_kit: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAUNTLET_MODEL_URL", raising=False)
    _told(judged_kit, *_events({"count": 4}))
    printed = capfd.readouterr().out
    assert "judged by the language model wise" in printed
    assert "not available at home" in printed
    assert "Set GAUNTLET_MODEL_URL" in printed


def test_a_competition_without_a_judge_says_nothing_of_one(kit: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _told(kit, *_events({"count": 4}))
    assert capfd.readouterr().out == ""


def test_a_provider_of_ones_own_judges_at_home(
    judged_kit: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = {"task_completion": True, "data_retrieval_accuracy": False, "generalized_result_verification": True}
    with model_server() as server:
        server.says = lambda body, number: json.dumps(verdict)
        monkeypatch.setenv("GAUNTLET_MODEL_URL", server.url)
        monkeypatch.setenv("GAUNTLET_MODEL_KEY", KEY)
        _told(judged_kit, *_events({"count": 4}))
        assert [body["model"] for body in server.seen] == ["wise"] * 3
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert ["How", "many", "pumps?", "1.00", "0.00", "1.00", "1.00", "–"] in lines


def test_a_provider_that_refuses_is_one_sentence(judged_kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server() as server:
        monkeypatch.setenv("GAUNTLET_MODEL_URL", server.url)
        monkeypatch.setenv("GAUNTLET_MODEL_KEY", "wrong")
        with pytest.raises(CommandFailed, match="could not be judged: the judge's door answered with status 401"):
            _told(judged_kit, *_events({"count": 4}))
