"""A small file whose answer was lost: typed again, the command makes no second submission; typed once more, it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gauntlet_agent.cli import unfinished

PATIENCE = 60.0


@pytest.fixture
def type_it(gauntlet: Any, agent: Path) -> Callable[..., Any]:
    """Type the command that submits the agent's folder."""

    def typed(*words: str, path: Path = agent) -> Any:
        return gauntlet("submit", str(path), "--competition", "quickstart", *words)

    return typed


def notes() -> list[Path]:
    """What is noted of requests whose answer has not come."""
    return list(unfinished.state_folder().glob("*"))


def test_the_same_command_gets_the_submission_that_was_made(type_it: Any, as_ada: Any) -> None:
    as_ada.breaks_at_submission = 1
    lost = type_it()
    assert (lost.exit_code, lost.stdout) == (4, "")
    assert "The same command makes no second submission of it" in lost.stderr
    assert [note.stat().st_mode & 0o777 for note in notes()] == [0o600]
    done = type_it()
    assert (done.exit_code, done.stdout) == (0, f"{as_ada.url}/submissions/s1/\n")
    assert "An earlier request submitted it already" in done.stderr
    assert "To submit the same file once more, type the command again." in done.stderr
    assert (len(as_ada.uploads), len(as_ada.keys), len(set(as_ada.keys)), notes()) == (1, 2, 1, [])


def test_after_an_answer_the_same_file_is_submitted_once_more(type_it: Any, as_ada: Any) -> None:
    assert [type_it().stdout for _ in range(2)] == [f"{as_ada.url}/submissions/s{n}/\n" for n in (1, 2)]
    assert (len(set(as_ada.keys)), notes()) == (2, [])
    assert all(as_ada.keys)


def test_without_an_answer_it_is_submitted_once_more_where_that_is_said(type_it: Any, as_ada: Any) -> None:
    as_ada.breaks_at_submission = 1
    type_it()
    assert type_it("--no-resume").stdout == f"{as_ada.url}/submissions/s2/\n"
    assert (len(as_ada.uploads), len(set(as_ada.keys)), notes()) == (2, 2, [])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_was_ended_before_the_answer_came(
    how: signal.Signals, type_it: Any, as_ada: Any, agent: Path
) -> None:
    as_ada.hangs_at_submission = True
    words = [sys.executable, "-c", "from gauntlet_agent.cli import main; main()", "submit", str(agent)]
    with subprocess.Popen([*words, "-c", "quickstart"], stderr=subprocess.PIPE, text=True) as running:
        assert as_ada.hanging.wait(PATIENCE)
        running.send_signal(how)
        _, said = running.communicate(timeout=PATIENCE)
    as_ada.hangs_at_submission = False
    if how is signal.SIGINT:
        assert running.returncode == 130
        assert "Interrupted. The same command makes no second submission of it" in said
    assert len(notes()) == 1
    done = type_it()
    assert (done.exit_code, len(as_ada.uploads), notes()) == (0, 1, [])


def test_a_changed_file_another_phase_and_another_account_are_submitted_by_themselves(
    type_it: Any, as_ada: Any, agent: Path
) -> None:
    as_ada.breaks_at_submission = 1
    type_it()
    as_ada.phases[1]["state"] = "open"
    assert type_it("--phase", "1").exit_code == 0
    as_ada.answers["/me"] = JSONResponse({"username": "bob"})
    assert type_it("--phase", "0").exit_code == 0
    (agent / "agent.py").write_text("print('changed')\n")
    assert type_it("--phase", "0").exit_code == 0
    assert (len(as_ada.uploads), len(set(as_ada.keys)), len(notes())) == (4, 4, 1)  # the note is of the first


@pytest.mark.parametrize("status", [400, 409, 413, 422, 429])
def test_a_refusal_is_an_answer(type_it: Any, as_ada: Any, responses: Any, status: int) -> None:
    as_ada.answers["/submissions"] = responses["problem"](status, "refused", "Not now.")
    refused = type_it()
    assert refused.exit_code in (1, 3)
    assert "second submission" not in refused.stderr
    assert notes() == []


@pytest.mark.parametrize("limit", ["left_today", "left_total"])
def test_the_answer_to_the_last_attempt_is_still_asked_for(type_it: Any, as_ada: Any, limit: str) -> None:
    as_ada.breaks_at_submission = 1
    type_it()
    as_ada.limits[limit] = 0
    done = type_it()
    assert (done.exit_code, done.stdout) == (0, f"{as_ada.url}/submissions/s1/\n")
    assert "You have no attempts left" in done.stderr
    refused = type_it()
    assert (refused.exit_code, len(as_ada.uploads)) == (3, 1)


def test_two_at_once_do_not_send_the_same(type_it: Any, as_ada: Any, agent: Path) -> None:
    as_ada.hangs_at_submission = True
    words = [sys.executable, "-c", "from gauntlet_agent.cli import main; main()", "submit", str(agent)]
    with subprocess.Popen([*words, "-c", "quickstart"], stdout=subprocess.DEVNULL) as running:
        assert as_ada.hanging.wait(PATIENCE)
        second = type_it()
        as_ada.hangs_at_submission = False
        assert running.wait(PATIENCE) == 0
    assert second.exit_code == 2
    assert "Another `gauntlet submit` sends counter.zip to this phase just now." in second.stderr
    assert (len(as_ada.uploads), notes()) == (1, [])


def test_where_no_note_can_be_kept_it_is_sent_all_the_same(
    type_it: Any, as_ada: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = type_it()
    assert (done.exit_code, len(as_ada.uploads)) == (0, 1)
    assert "cannot be written" in done.stderr


def test_old_notes_are_forgotten(type_it: Any, as_ada: Any) -> None:
    as_ada.breaks_at_submission = 1
    type_it()
    os.utime(notes()[0], (time.time() - 8 * 86400,) * 2)
    assert type_it().exit_code == 0
    assert len(as_ada.uploads) == 2
