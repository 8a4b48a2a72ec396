"""What the command shows: competitions, submissions, logs, leaderboards; and how it fails."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, RedirectResponse

BOARD = {
    "title": "Main board",
    "updated_at": "2024-05-01T10:00:00Z",
    "scenarios": 60,
    "columns": [
        {"key": "rubric", "title": "Rubric", "sorting": "desc", "precision": 2, "primary": True},
        {"key": "cost", "title": "Cost", "sorting": "asc", "precision": 4, "primary": False},
    ],
    "rows": [
        {
            "rank": 1,
            "participant": "ada\x1b]0;owned\x07 [bold]",
            "baseline": False,
            "scores": {"rubric": {"value": 0.8, "low": 0.75, "high": 0.85}, "cost": {"value": 0.00012}},
            "scenarios": 60,
            "submitted_at": "2024-05-01T09:00:00Z",
        },
        {"rank": 2, "participant": "null", "baseline": True, "scores": {"rubric": {"value": 0.1}}, "scenarios": 60},
    ],
}


def test_competitions_are_listed_over_all_pages_without_logging_in(gauntlet: Any, platform: Any) -> None:
    done = gauntlet("competitions", "--server", platform.url)
    assert done.exit_code == 0
    assert "quickstart" in done.stdout
    assert "0  Development" in done.stdout
    assert "second" in done.stdout


def test_a_terminal_that_lacks_letters_shows_what_it_has(process: Any, as_ada: Any) -> None:
    as_ada.board = {**BOARD, "title": "Zürich Ω"}
    done = process("leaderboard", "quickstart", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert "Z?rich ?" in done.stdout


def test_json_is_the_platforms_own(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    as_ada.own = [responses["finished"]]
    assert json.loads(gauntlet("status", "--json").stdout) == [responses["finished"]]
    assert json.loads(gauntlet("status", "s1", "--json").stdout) == responses["finished"]
    as_ada.board = BOARD
    assert json.loads(gauntlet("leaderboard", "quickstart", "--json").stdout) == BOARD
    assert [c["slug"] for c in json.loads(gauntlet("competitions", "--json").stdout)] == ["quickstart", "second"]


def test_status_lists_ones_own(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    assert gauntlet("status").stdout == "You have no submissions yet. `gauntlet submit` makes one.\n"
    as_ada.own = [responses["finished"], responses["submission"](status="failed", failure_code="agent_error")]
    shown = gauntlet("status").stdout
    assert "finished" in shown
    assert "agent_error" in shown


def test_status_of_one_says_why_it_failed_and_how_far_it_is(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    as_ada.states = [responses["failed"]]
    done = gauntlet("status", "s1")
    assert done.exit_code == 0  # showing it worked
    assert "failed, agent_error: The agent ended with exit code 1." in done.stdout
    waiting = {"state": "queued", "position": 3, "estimate_seconds": 40, "failure": None}
    as_ada.states = [responses["submission"](evaluations=[waiting])]
    assert "queued, position 3 in the queue, begins in about 40 s" in gauntlet("status", "s1").stdout


def test_status_of_one_can_wait_for_it(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    as_ada.states = [responses["running"], responses["failed"]]
    assert gauntlet("status", "s1", "--wait").exit_code == 1
    assert gauntlet("status", "--wait").exit_code == 2


def test_scores_that_are_hidden_or_missing_are_dashes(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    as_ada.states = [responses["submission"](status="finished", scores=[{"column": "rubric", "value": None}])]
    assert "–" in gauntlet("status", "s1").stdout


def test_a_scenarios_scores_stand_under_the_boards_own_titles(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    """A program's keys are long, and a terminal is narrow."""
    episode = {"scenario": "x1", "trial": 1, "scores": {"rubric.task_completion": 0.25}, "outcome": "answered"}
    score = {"column": "task", "title": "Task", "source": "rubric.task_completion", "value": 0.25}
    more = {"scores": [score], "evaluations": [{"id": "e1", "state": "finished", "episodes": [episode]}]}
    as_ada.states = [responses["submission"](status="finished", **more)]
    shown = gauntlet("status", "s1").stdout
    assert "rubric.task_completion" not in shown
    (head,) = [line for line in shown.splitlines() if "Scenario" in line]
    assert head.split() == ["Scenario", "Trial", "Outcome", "Task"]


def test_logs_print_what_the_agent_printed(gauntlet: Any, as_ada: Any) -> None:
    assert gauntlet("logs", "s1").stdout == "hello from the agent\n"  # without the colour that it was printed in


def test_logs_that_a_phase_hides_say_so(gauntlet: Any, as_ada: Any, responses: Any) -> None:
    as_ada.answers["/log"] = responses["problem"](403, "not_visible", "This phase does not show logs.")
    done = gauntlet("logs", "s1")
    assert (done.exit_code, done.stderr) == (3, "gauntlet: This phase does not show logs.\n")


def test_cancelling_is_one_request(gauntlet: Any, as_ada: Any) -> None:
    assert gauntlet("cancel", "s1").exit_code == 0
    assert as_ada.cancelled == ["s1"]


def test_a_leaderboard_shows_intervals_precision_and_baselines(gauntlet: Any, platform: Any) -> None:
    platform.board = BOARD
    shown = gauntlet("leaderboard", "quickstart", "--server", platform.url).stdout
    assert "Rubric *" in shown
    assert "0.80 [0.75, 0.85]" in shown
    assert "0.0001" in shown
    assert "null (baseline)" in shown


def test_a_long_leaderboard_shows_its_beginning_ones_own_row_and_how_to_get_the_rest(
    gauntlet: Any, as_ada: Any
) -> None:
    own = {"rank": 612, "participant": "me", "scores": {"rubric": {"value": 0.01}}, "scenarios": 60}
    as_ada.board = {**BOARD, "own_row": own, "matching": 5000}
    done = gauntlet("leaderboard", "quickstart")
    assert "612" in done.stdout
    assert "2 of 5000 entries; --csv gives all of them." in done.stderr


def test_names_cannot_steer_the_terminal_or_the_markup(gauntlet: Any, platform: Any) -> None:
    platform.board = BOARD
    shown = gauntlet("leaderboard", "quickstart", "--server", platform.url).stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]" in shown


def test_a_leaderboard_as_csv_is_printed_as_it_comes(gauntlet: Any, as_ada: Any) -> None:
    assert gauntlet("leaderboard", "quickstart", "--csv").stdout == "rank,participant\n1,ada\n"
    assert gauntlet("leaderboard", "quickstart", "--csv", "--json").exit_code == 2


def test_an_empty_leaderboard_says_so(gauntlet: Any, as_ada: Any) -> None:
    as_ada.board = {**BOARD, "rows": []}
    assert "Nobody is on this board yet." in gauntlet("leaderboard", "quickstart").stdout


def test_a_name_that_does_not_exist_fails_with_the_platforms_sentence(gauntlet: Any, as_ada: Any) -> None:
    done = gauntlet("leaderboard", "absent")
    assert (done.exit_code, done.stderr) == (1, "gauntlet: There is no competition of this name.\n")
    done = gauntlet("status", "absent")
    assert (done.exit_code, done.stderr) == (1, "gauntlet: There is no such submission.\n")


def test_a_name_cannot_lead_to_another_route(gauntlet: Any, as_ada: Any) -> None:
    assert gauntlet("logs", "../submissions/s1").exit_code == 1
    assert gauntlet("cancel", "s1/../s1").exit_code == 1
    assert as_ada.requests == []


def test_a_server_that_is_not_there_exits_4_with_one_sentence(process: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        done = process("competitions", "--server", url)
    assert done.returncode == 4
    assert done.stderr.startswith(f"gauntlet: {url} cannot be reached")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("answer", "exit_code", "words"),
    [
        (PlainTextResponse("<html>", status_code=502), 4, "answered 502 (Bad Gateway)"),
        (PlainTextResponse("<html>welcome", status_code=200), 4, "does not answer like a Gauntlet server"),
        (RedirectResponse("https://elsewhere.example/"), 4, "sends on to https://elsewhere.example/"),
        (PlainTextResponse("no", status_code=418), 1, "answered 418"),
    ],
)
def test_an_answer_that_is_not_the_apis_is_one_sentence(
    gauntlet: Any, as_ada: Any, answer: Any, exit_code: int, words: str
) -> None:
    as_ada.answers["/competitions"] = answer
    done = gauntlet("competitions")
    assert done.exit_code == exit_code
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_token_that_is_not_valid_any_more_says_to_log_in(
    gauntlet: Any, as_ada: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_TOKEN", "old")
    done = gauntlet("status")
    assert done.exit_code == 3
    assert f"Your login is not valid (any more). Run `gauntlet login --server {as_ada.url}`." in done.stderr


def test_without_any_server_the_command_says_how_to_name_one(gauntlet: Any) -> None:
    done = gauntlet("status")
    assert done.exit_code == 3
    assert "gauntlet login --server URL" in done.stderr


def test_help_lists_every_command_and_the_exit_codes_and_loads_little() -> None:
    code = (
        "import sys\n"
        "from gauntlet_agent.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'httpx', 'mcp', 'yaml', 'pydantic', 'gauntlet_runtime'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("login", "logout", "competitions", "submit", "status", "logs", "leaderboard", "test", "cancel"):
        assert f" {command} " in done.stdout
    assert "Exit codes" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
