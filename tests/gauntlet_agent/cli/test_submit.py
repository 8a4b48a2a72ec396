"""Submitting: what is checked before, how it is sent, and how it is followed."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse


def _submit(gauntlet: Any, path: Path, *more: str) -> Any:
    return gauntlet("submit", str(path), "--competition", "quickstart", *more)


def test_a_folder_is_packed_and_sent_and_the_address_printed(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    done = _submit(gauntlet, agent)
    assert done.exit_code == 0
    assert done.stdout == f"{as_ada.url}/submissions/s1/\n"
    assert "Attempts: 4 of 5 left today, 90 of 100 in all (this one included)." in done.stderr
    [upload] = as_ada.uploads
    assert (upload["name"], upload["file_name"], upload["phase"]) == ("counter", "counter.zip", "0")
    assert not upload["chunked"]  # a length is known, so that the platform can refuse before it reads
    with zipfile.ZipFile(io.BytesIO(upload["content"])) as archive:
        assert archive.namelist() == ["agent.py", "agent.yaml"]
    assert all(re.fullmatch(r"gauntlet-agent/[\d.]+", name or "") for name in as_ada.agents)


def test_a_zip_is_sent_as_it_is(gauntlet: Any, as_ada: Any, agent: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(agent / "agent.yaml", "top/agent.yaml")
        archive.write(agent / "agent.py", "top/agent.py")
    assert _submit(gauntlet, path, "--name", "second try").exit_code == 0
    [upload] = as_ada.uploads
    assert (upload["content"], upload["name"]) == (path.read_bytes(), "second try")


def test_a_folder_without_a_manifest_is_refused_by_a_phase_that_takes_agents_before_it_is_sent(
    gauntlet: Any, as_ada: Any, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    done = _submit(gauntlet, tmp_path / "empty")
    assert done.exit_code == 1
    assert "agent.yaml: There is no agent.yaml in" in done.stderr
    assert as_ada.uploads == []


def test_a_mistake_in_the_manifest_is_named_with_its_line_before_anything_is_sent(
    gauntlet: Any, as_ada: Any, agent: Path
) -> None:
    (agent / "agent.yaml").write_text("name: counter\ncomand: x\ncommand: python agent.py | tee log\n")
    done = _submit(gauntlet, agent)
    assert done.exit_code == 1
    assert "warning: agent.yaml:2: `comand` is not known and is ignored. Did you mean `command`?" in done.stderr
    assert "agent.yaml:3: `command` is started without a shell" in done.stderr
    assert as_ada.requests == []


def test_without_attempts_left_nothing_is_sent_and_the_next_time_is_named(
    gauntlet: Any, as_ada: Any, agent: Path
) -> None:
    as_ada.limits |= {"left_today": 0, "next_allowed_at": "2030-05-01T12:00:07+00:00"}
    done = _submit(gauntlet, agent)
    assert done.exit_code == 3
    assert re.search(r"no attempts left today\. The next is allowed at 2030-0[45]-\d\d \d\d:\d\d:07\.", done.stderr)
    assert as_ada.uploads == []


def test_a_bundle_beyond_the_limit_is_not_sent(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    as_ada.limits["max_bundle_bytes"] = 10
    done = _submit(gauntlet, agent)
    assert done.exit_code == 1
    assert "this phase takes 10 bytes at most" in done.stderr
    assert as_ada.uploads == []


@pytest.mark.parametrize(
    ("status", "code", "message", "exit_code"),
    [
        (422, "invalid_bundle", "The bundle has errors.", 1),
        (409, "phase_closed", "The phase is closed.", 3),
        (429, "quota", "You have no attempts left today.", 3),
        (403, "not_a_participant", "Join the competition first.", 3),
        (503, "unavailable", "The platform is being updated.", 4),
    ],
)
def test_a_refusal_is_the_platforms_sentence_with_an_exit_code_of_its_kind(
    gauntlet: Any, as_ada: Any, agent: Path, responses: Any, status: int, code: str, message: str, exit_code: int
) -> None:
    errors = [{"file": "agent.yaml", "line": 2, "message": "`command` is empty."}] if status == 422 else []
    as_ada.answers["/submissions"] = responses["problem"](status, code, message, errors=errors)
    done = _submit(gauntlet, agent)
    assert done.exit_code == exit_code
    assert f"gauntlet: {message}\n" in done.stderr
    assert ("agent.yaml:2: `command` is empty." in done.stderr) == (status == 422)
    assert done.stdout == ""


def test_waiting_follows_by_asking_where_there_are_no_events(
    gauntlet: Any, as_ada: Any, agent: Path, responses: Any
) -> None:
    as_ada.states = [responses["submission"](), responses["running"], responses["running"], responses["finished"]]
    done = _submit(gauntlet, agent, "--wait")
    assert done.exit_code == 0
    lines = done.stderr.splitlines()
    assert lines[-3:] == ["queued", "running, 3 of 20 episodes done", "finished"]  # each change once
    assert "0.812" in done.stdout
    assert "[0.750, 0.900]" in done.stdout
    assert "How many pumps?" in done.stdout


def test_waiting_follows_the_events_where_there_are_some(
    gauntlet: Any, as_ada: Any, agent: Path, responses: Any
) -> None:
    as_ada.states = [responses["submission"]()]
    as_ada.streamed = [responses["running"], responses["finished"]]
    done = _submit(gauntlet, agent, "--wait")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-3:] == ["queued", "running, 3 of 20 episodes done", "finished"]
    assert as_ada.asked("/submissions/s1") == 1


def test_events_that_break_off_are_replaced_by_asking(gauntlet: Any, as_ada: Any, agent: Path, responses: Any) -> None:
    as_ada.states = [responses["submission"](), responses["finished"]]
    as_ada.streamed = [responses["running"]]
    done = _submit(gauntlet, agent, "--wait")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-3:] == ["queued", "running, 3 of 20 episodes done", "finished"]


def test_waiting_for_one_that_fails_exits_1_with_the_sentence(
    gauntlet: Any, as_ada: Any, agent: Path, responses: Any
) -> None:
    as_ada.states = [responses["failed"]]
    done = _submit(gauntlet, agent, "--wait")
    assert done.exit_code == 1
    assert (
        "gauntlet: The agent ended with exit code 1.\n  `gauntlet logs s1` shows what your agent printed."
        in done.stderr
    )


@pytest.mark.parametrize(("status", "more"), [(502, {}), (429, {"retry_after": 0})], ids=["away", "asked too often"])
def test_a_server_that_is_away_or_busy_for_a_moment_does_not_end_the_wait(
    gauntlet: Any, as_ada: Any, agent: Path, responses: Any, status: int, more: dict[str, Any]
) -> None:
    as_ada.answers["/submissions/s1"] = responses["problem"](status, "moment", "One moment.", **more)
    assert _submit(gauntlet, agent, "--wait").exit_code == 0


def test_several_open_phases_are_not_guessed(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    as_ada.phases[1]["state"] = "open"
    done = _submit(gauntlet, agent)
    assert done.exit_code == 2
    assert "Several phases are open: 0 (Development), 1 (Test). Choose one with --phase." in done.stderr
    assert _submit(gauntlet, agent, "--phase", "1").exit_code == 0
    assert as_ada.uploads[0]["phase"] == "1"


def test_a_phase_that_does_not_exist_is_wrong_usage(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    done = _submit(gauntlet, agent, "--phase", "7")
    assert done.exit_code == 2
    assert "There is no phase 7. Phases: 0 (Development), 1 (Test)." in done.stderr


def test_when_no_phase_is_open_the_next_is_named(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    as_ada.phases[0]["state"] = "closed"
    done = _submit(gauntlet, agent)
    assert done.exit_code == 3
    assert "No phase of this competition is open. Test starts at 2034-01-01" in done.stderr


def test_a_path_that_does_not_exist_is_wrong_usage(gauntlet: Any, as_ada: Any, tmp_path: Path) -> None:
    done = _submit(gauntlet, tmp_path / "absent")
    assert done.exit_code == 2
    assert "There is no folder or zip at" in done.stderr


def test_a_large_bundle_is_not_held_in_memory(as_ada: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agent.yaml", "name: large\ncommand: python agent.py\nimage: x\n")
        with archive.open("weights.bin", "w") as target:
            for _ in range(200):
                target.write(bytes(1 << 20))
    as_ada.limits["max_bundle_bytes"] = 1 << 40
    as_ada.answers["/submissions"] = JSONResponse({"id": "s1", "url": "http://there/s1"}, status_code=201)
    # The command by itself takes less than 150 MB of data; the file beside it would not fit.
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (150 << 20, 150 << 20)); "
        "from gauntlet_agent.cli import main; main()"
    )
    words = [sys.executable, "-c", code, "submit", str(path), "-c", "quickstart"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "http://there/s1\n"), done.stderr


@pytest.fixture
def takes_results(as_ada: Any) -> Any:
    """The platform, with an open phase that takes results."""
    as_ada.phases[0]["takes"] = "results"
    return as_ada


def test_results_are_sent_as_they_are_where_the_phase_takes_them(
    gauntlet: Any, takes_results: Any, tmp_path: Path
) -> None:
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("predictions/said.txt", "1 2 3")
    done = _submit(gauntlet, path)
    assert (done.exit_code, done.stdout) == (0, f"{takes_results.url}/submissions/s1/\n")
    assert "The phase Development takes results: they are scored as they are, nothing is run." in done.stderr
    [upload] = takes_results.uploads
    assert (upload["content"], upload["name"], upload["file_name"]) == (path.read_bytes(), None, "mine.zip")


def test_a_folder_of_results_is_packed(gauntlet: Any, takes_results: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "said.txt").write_text("1 2 3")
    assert _submit(gauntlet, tmp_path / "mine", "--name", "third").exit_code == 0
    [upload] = takes_results.uploads
    assert (upload["name"], upload["file_name"]) == ("third", "mine.zip")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("agent", "agent", "is an agent, and the phase Development takes results"),
        ("mine.zip", "1 2 3", "is no zip archive"),
        ("empty", None, "holds no file to submit"),
    ],
)
def test_what_are_no_results_is_not_sent_to_such_a_phase(
    gauntlet: Any, takes_results: Any, agent: Path, tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    path = tmp_path / name
    if name == "agent":
        path = agent
    elif content is None:
        path.mkdir()
    else:
        path.write_text(content)
    done = _submit(gauntlet, path)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.split())
    assert takes_results.uploads == []
