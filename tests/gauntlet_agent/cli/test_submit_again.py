"""A submission that broke off, with its command or at its last word: typed again, the command goes on with it."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from image_archives import Layer, saved

from gauntlet_agent.cli import images, parts, submit, unfinished

PART = 30_000
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few kilobytes, and no patience between questions."""
    monkeypatch.setattr(parts, "PART_BYTES", PART)
    monkeypatch.setattr(submit, "PART_BYTES", PART)
    monkeypatch.setattr(parts, "_PAUSES", (0.01, 0.02, 0.03))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An image's archive, of a few parts."""
    path = tmp_path / "planner.tar"
    path.write_bytes(saved([Layer().file("agent", bytes(range(256)) * 400, 0o755).tar]))
    return path


@pytest.fixture
def type_it(gauntlet: Any, archive: Path) -> Callable[..., Any]:
    """Type the command that submits the archive."""

    def typed(*words: str, path: Path = archive) -> Any:
        return gauntlet("submit", "--competition", "quickstart", "--image-archive", str(path), *words)

    return typed


def notes() -> list[Path]:
    """What is noted of uploads that were not submitted."""
    return list(unfinished.state_folder().glob("*"))


def broken_off(type_it: Any, as_ada: Any) -> None:
    """Two parts arrive, then the platform is away until the command gives up."""
    as_ada.answers = _AwayAfter(as_ada, 2 * PART)
    assert type_it().exit_code == 4
    as_ada.answers = {}
    assert len(as_ada.parts) == 2 * PART


class _AwayAfter(dict[str, Any]):
    """The answers of a platform that is away once so much has arrived."""

    def __init__(self, platform: Any, length: int) -> None:
        super().__init__()
        self.platform, self.length = platform, length

    def __iter__(self) -> Any:
        return iter(["/uploads/u1"] if len(self.platform.parts) >= self.length else [])

    def pop(self, key: str, *_: Any) -> Any:
        from starlette.responses import JSONResponse

        return JSONResponse({"code": "away", "message": "The platform is being restarted."}, status_code=503)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_was_ended_goes_on_when_it_is_typed_again(
    how: signal.Signals, as_ada: Any, type_it: Any, archive: Path
) -> None:
    ended(how, as_ada, "--image-archive", str(archive))
    done = type_it()
    assert done.exit_code == 0, done.stderr
    assert "Going on with an earlier run: 60.0 KB of" in done.stderr
    assert (as_ada.parts, as_ada.begun, len(as_ada.submitted)) == (archive.read_bytes(), 1, 1)
    assert notes() == []


def test_so_does_one_that_saves_an_image(as_ada: Any, gauntlet: Any, docker_command: Any) -> None:
    """Though Docker saves it otherwise each time."""
    ended(signal.SIGINT, as_ada, "--image", "planner:latest")
    begun = as_ada.parts
    done = gauntlet("submit", "-c", "quickstart", "--image", "planner:latest")
    assert done.exit_code == 0, done.stderr
    assert "Going on with an earlier run: 60.0 KB of" in done.stderr
    assert (as_ada.begun, len(as_ada.submitted), len(docker_command.saved)) == (1, 1, 2)
    assert as_ada.parts.startswith(begun)
    assert zstandard.ZstdDecompressor().stream_reader(as_ada.parts).read()
    assert notes() == []


def test_an_image_whose_answer_was_lost_is_submitted_once(as_ada: Any, gauntlet: Any, docker_command: Any) -> None:
    words = ("submit", "-c", "quickstart", "--image", "planner:latest")
    as_ada.breaks_at_submission = 99
    assert gauntlet(*words).exit_code == 4
    as_ada.breaks_at_submission = 0
    done = gauntlet(*words)
    assert (done.exit_code, len(as_ada.submitted), as_ada.begun, notes()) == (0, 1, 1, [])
    assert "An earlier request submitted it already" in done.stderr


def ended(how: signal.Signals, as_ada: Any, *words: str) -> None:
    """Type a command that submits, and end it after two parts."""
    code = f"from gauntlet_agent.cli import main, parts; parts.PART_BYTES = {PART}; parts._PAUSES = (0.01,) * 3; main()"
    as_ada.hangs_from = 2 * PART
    command = [sys.executable, "-c", code, "submit", "-c", "quickstart", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert as_ada.hanging.wait(PATIENCE)
        running.send_signal(how)
        _, said = running.communicate(timeout=PATIENCE)
    as_ada.hangs_from = None
    _wait_until(lambda: not as_ada.hanging.is_set())
    if how is signal.SIGINT:
        assert running.returncode == 130
        assert "Interrupted. The same command goes on from where it was." in said
    assert len(notes()) == 1
    assert notes()[0].stat().st_mode & 0o777 == 0o600


def _wait_until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_says_so_when_it_gives_up(type_it: Any, as_ada: Any, archive: Path) -> None:
    as_ada.answers = _AwayAfter(as_ada, PART)
    done = type_it()
    assert "The platform is being restarted." in done.stderr
    assert "The same command goes on from where it was" in done.stderr


def test_what_is_not_kept_any_more_is_sent_from_the_start(type_it: Any, as_ada: Any, archive: Path) -> None:
    broken_off(type_it, as_ada)
    as_ada.gone.add("u1")
    done = type_it()
    assert (done.exit_code, as_ada.parts, as_ada.begun) == (0, archive.read_bytes(), 2)
    assert "not kept any more; it is sent from the start" in done.stderr
    assert notes() == []


def test_another_file_or_phase_goes_on_with_nothing(type_it: Any, as_ada: Any, archive: Path, tmp_path: Path) -> None:
    broken_off(type_it, as_ada)
    other = tmp_path / "planner"
    other.write_bytes(archive.read_bytes() + bytes(512))
    assert type_it(path=other).exit_code == 0
    assert (as_ada.parts, as_ada.begun) == (other.read_bytes(), 2)
    as_ada.phases[1]["state"] = "open"
    assert type_it("--phase", "1").exit_code == 0
    assert as_ada.begun == 3
    assert len(notes()) == 1  # of the first


def test_the_name_of_the_file_does_not_matter(type_it: Any, as_ada: Any, archive: Path, tmp_path: Path) -> None:
    broken_off(type_it, as_ada)
    done = type_it(path=archive.rename(tmp_path / "renamed.tar"))
    assert "Going on with an earlier run" in done.stderr
    assert as_ada.begun == 1


def test_no_resume_forgets_what_was_sent(type_it: Any, as_ada: Any, archive: Path) -> None:
    broken_off(type_it, as_ada)
    done = type_it("--no-resume")
    assert (done.exit_code, as_ada.gone, as_ada.begun, as_ada.parts) == (0, {"u1"}, 2, archive.read_bytes())
    assert notes() == []


def test_too_many_begun_are_named_and_the_way_out_works(
    type_it: Any, as_ada: Any, archive: Path, tmp_path: Path, responses: Any
) -> None:
    broken_off(type_it, as_ada)
    other = tmp_path / "other.tar"
    other.write_bytes(archive.read_bytes() + bytes(512))
    as_ada.answers["/uploads"] = responses["problem"](429, "too_many_uploads", "You have 4 uploads.")
    refused = type_it(path=other)
    assert refused.exit_code == 3
    assert "not submitted: planner.tar (" in refused.stderr
    assert "--no-resume" in refused.stderr
    assert type_it("--no-resume", path=other).exit_code == 0
    assert (as_ada.gone, notes()) == ({"u1"}, [])


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_was_lost_is_asked_for_again(
    type_it: Any, as_ada: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A connection that the broken request left half closed may fail one try more.
    monkeypatch.setattr(parts, "_PAUSES", (0.01,) * 10)
    as_ada.breaks_at_submission = times
    done = type_it()
    assert (done.exit_code, done.stdout) == (0, f"{as_ada.url}/submissions/s1/\n")
    assert "An earlier" in done.stderr
    assert len(as_ada.submitted) == 1


def test_a_run_that_died_before_the_answer_made_one_submission(type_it: Any, as_ada: Any) -> None:
    as_ada.breaks_at_submission = 99
    assert type_it().exit_code == 4
    as_ada.breaks_at_submission = 0
    done = type_it()
    assert (done.exit_code, len(as_ada.submitted), as_ada.begun, notes()) == (0, 1, 1, [])
    assert "An earlier request submitted it already" in done.stderr


def test_what_is_refused_for_now_is_submitted_later_without_being_sent_again(
    type_it: Any, as_ada: Any, responses: Any
) -> None:
    as_ada.answers["/submissions"] = responses["problem"](409, "phase_not_open", "The phase has not begun.")
    refused = type_it()
    assert refused.exit_code == 3
    assert "The same command goes on" in refused.stderr
    sent = as_ada.requests.count(("PATCH", "/api/v1/uploads/u1"))
    assert type_it().exit_code == 0
    assert (as_ada.begun, as_ada.requests.count(("PATCH", "/api/v1/uploads/u1"))) == (1, sent)


def test_what_can_never_be_submitted_is_not_gone_on_with(type_it: Any, as_ada: Any, responses: Any) -> None:
    as_ada.answers["/submissions"] = responses["problem"](413, "too_large", "The file is too large.")
    refused = type_it()
    assert (refused.exit_code, notes()) == (1, [])
    assert "The same command" not in refused.stderr


def test_two_at_once_do_not_send_the_same(type_it: Any, as_ada: Any, archive: Path) -> None:
    broken_off(type_it, as_ada)
    with archive.open("rb") as file:
        length = archive.stat().st_size
        sent = unfinished.Sent(
            server=as_ada.url,
            account="ada",
            competition="quickstart",
            phase=0,
            digest=unfinished.digest_of(file),
            file_name="planner.tar",
            length=length,
        )
    with unfinished.noted(sent) as note:
        assert note.upload == "u1"
        for word in ("--resume", "--no-resume"):
            done = type_it(word)
            assert done.exit_code == 2
            assert "Another `gauntlet submit` sends planner.tar to this phase just now." in done.stderr
    assert as_ada.gone == set()
    assert type_it().exit_code == 0
    assert as_ada.begun == 1


def test_a_note_that_cannot_be_read_or_kept_does_not_keep_from_sending(
    type_it: Any, as_ada: Any, archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken_off(type_it, as_ada)
    notes()[0].write_text("{")
    assert type_it().exit_code == 0
    assert as_ada.begun == 2
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = type_it()
    assert (done.exit_code, as_ada.parts) == (0, archive.read_bytes())
    assert "cannot be written" in done.stderr


def test_old_notes_are_forgotten(type_it: Any, as_ada: Any) -> None:
    broken_off(type_it, as_ada)
    os.utime(notes()[0], (0, 0))
    assert type_it().exit_code == 0
    assert as_ada.begun == 2


def test_a_large_bundle_is_sent_in_parts_and_gone_on_with(gauntlet: Any, as_ada: Any, agent: Path) -> None:
    (agent / "weights.bin").write_bytes(os.urandom(4 * PART))

    def type_it() -> Any:
        return gauntlet("submit", str(agent), "--competition", "quickstart")

    broken_off(type_it, as_ada)
    assert type_it().exit_code == 0
    assert as_ada.begun == 1
    assert as_ada.submitted == [{"upload": "u1", "name": "counter"}]
    with zipfile.ZipFile(io.BytesIO(as_ada.parts)) as sent:
        assert sent.testzip() is None
        assert "weights.bin" in sent.namelist()


@pytest.mark.parametrize(("status", "code"), [(409, "wrong_offset"), (460, "checksum_mismatch")])
def test_a_part_that_is_not_where_or_what_it_should_be_is_sent_again(
    type_it: Any, as_ada: Any, archive: Path, responses: Any, status: int, code: str
) -> None:
    as_ada.answers["/uploads/u1"] = responses["problem"](status, code, "Not so.")
    assert type_it().exit_code == 0
    assert as_ada.parts == archive.read_bytes()


@pytest.mark.parametrize(("status", "pauses"), [(409, []), (507, ["0.01", "0.02", "0.03"])])
def test_a_platform_that_keeps_nothing_is_given_up(
    type_it: Any, as_ada: Any, responses: Any, status: int, pauses: list[str]
) -> None:
    """Though it answers each question how much has come: the longer that lasts, the longer it is waited."""

    class Forgetful(dict[str, Any]):
        def __iter__(self) -> Any:
            return iter(["/uploads/u1"] if as_ada.requests[-1][0] == "PATCH" else [])

        def pop(self, key: str, *_: Any) -> Any:
            return responses["problem"](status, "code", "There is no room.")

    as_ada.answers = Forgetful()
    done = type_it()
    assert done.exit_code == 4
    assert re.findall(r"Going on in (\S+) s", done.stderr) == pauses
    assert "keeps nothing of what is sent. There is no room." in done.stderr
    assert "The same command goes on" in done.stderr


def test_the_same_image_is_compressed_to_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a later run would not know what it has sent."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    made = []
    for moment in (1_000_000, 2_000_000):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        into = io.BytesIO()
        ending, packed = images._compressor(into)
        with packed:
            packed.write(b"layers" * 1000)
        made.append(into.getvalue())
    assert ending == ".tar.gz"
    assert made[0] == made[1]
    assert gzip.decompress(made[0]) == b"layers" * 1000
