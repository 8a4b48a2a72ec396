"""Submitting a container image: what is sent, in parts, and how a broken connection is gone on with."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from image_archives import Layer, compressed, saved

from gauntlet_agent.cli import parts
from gauntlet_agent.cli.images import opened_archive
from gauntlet_runtime.container_images import ImageLimits, check_image


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An image's archive, of a few parts."""
    path = tmp_path / "planner.tar"
    path.write_bytes(saved([Layer().file("agent", bytes(range(256)) * 400, 0o755).tar]))
    return path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few kilobytes, and no patience between questions."""
    monkeypatch.setattr(parts, "PART_BYTES", 30_000)
    monkeypatch.setattr(parts, "_PAUSES", (0.01, 0.02, 0.03))


def submit(gauntlet: Any, *words: str) -> Any:
    """Type the command."""
    return gauntlet("submit", "--competition", "quickstart", *words)


def test_an_archive_is_sent_in_parts_and_submitted(gauntlet: Any, as_ada: Any, archive: Path) -> None:
    done = submit(gauntlet, "--image-archive", str(archive), "--name", "Mine")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{as_ada.url}/submissions/s1/\n"
    assert as_ada.parts == archive.read_bytes()
    named = base64.b64encode(b"planner.tar").decode()
    assert as_ada.announced == (archive.stat().st_size, f"filename {named}")
    assert as_ada.submitted == [{"upload": "u1", "name": "Mine"}]
    assert as_ada.requests.count(("PATCH", "/api/v1/uploads/u1")) == -(-archive.stat().st_size // 30_000)
    assert "Uploaded planner.tar" in done.stderr


@pytest.mark.parametrize("breaks", [1, 3])
def test_a_broken_connection_is_gone_on_with(gauntlet: Any, as_ada: Any, archive: Path, breaks: int) -> None:
    as_ada.breaks = breaks
    done = submit(gauntlet, "--image-archive", str(archive))
    assert done.exit_code == 0, done.stderr
    assert hashlib.sha256(as_ada.parts).digest() == hashlib.sha256(archive.read_bytes()).digest()
    assert as_ada.requests.count(("HEAD", "/api/v1/uploads/u1")) == breaks
    assert "Going on in" in done.stderr


def test_a_part_that_is_still_written_is_waited_for(gauntlet: Any, as_ada: Any, archive: Path, responses: Any) -> None:
    as_ada.answers["/uploads/u1"] = responses["problem"](423, "busy", "Another part is just being written.")
    assert submit(gauntlet, "--image-archive", str(archive)).exit_code == 0
    assert as_ada.parts == archive.read_bytes()


def test_it_is_given_up_when_nothing_gets_through(
    gauntlet: Any, as_ada: Any, archive: Path, monkeypatch: pytest.MonkeyPatch, responses: Any
) -> None:
    class Always(dict[str, Any]):
        def pop(self, key: str, *_: Any) -> Any:
            return responses["problem"](503, "away", "The platform is being restarted.")

    as_ada.answers = Always({"/uploads/u1": None})
    done = submit(gauntlet, "--image-archive", str(archive))
    assert done.exit_code == 4
    assert "The platform is being restarted." in done.stderr
    assert as_ada.submitted == []


def test_a_refusal_is_not_tried_again(gauntlet: Any, as_ada: Any, archive: Path, responses: Any) -> None:
    as_ada.answers["/uploads"] = responses["problem"](429, "too_many_uploads", "You have 4 uploads.")
    done = submit(gauntlet, "--image-archive", str(archive))
    assert (done.exit_code, as_ada.parts, as_ada.submitted) == (3, b"", [])
    assert "You have 4 uploads." in done.stderr


def test_one_beyond_the_limit_is_not_sent(gauntlet: Any, as_ada: Any, archive: Path) -> None:
    as_ada.limits["max_image_bytes"] = 1000
    done = submit(gauntlet, "--image-archive", str(archive))
    assert done.exit_code == 1
    assert "this platform takes 1.0 KB at most" in done.stderr
    assert as_ada.announced is None


def test_a_phase_that_takes_results_takes_no_image(gauntlet: Any, as_ada: Any, archive: Path) -> None:
    as_ada.phases[0]["takes"] = "results"
    assert submit(gauntlet, "--image-archive", str(archive)).exit_code == 2
    assert as_ada.announced is None


def test_what_is_no_archive_is_told_before_anything_is_asked(gauntlet: Any, as_ada: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("no image" * 100)
    for path, words in ((tmp_path / "note.txt", "docker save NAME"), (tmp_path / "none", "There is no file")):
        done = submit(gauntlet, "--image-archive", str(path))
        assert done.exit_code == 2
        assert words in done.stderr
    assert as_ada.announced is None


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_compressed_archives_are_sent_as_they_are(archive: Path, tmp_path: Path, how: str) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(compressed(archive.read_bytes(), how))
    with opened_archive(packed) as (file, name, length):
        assert (file.read(), name, length) == (packed.read_bytes(), "packed", packed.stat().st_size)


@pytest.mark.parametrize("words", [(), ("--image", "a", "--image-archive", "b"), (".", "--image", "a")])
def test_exactly_one_thing_is_submitted(gauntlet: Any, as_ada: Any, words: tuple[str, ...]) -> None:
    done = submit(gauntlet, *words)
    assert done.exit_code == 2
    assert "Say what to submit" in done.stderr


def test_without_docker_the_way_round_is_named(
    gauntlet: Any, as_ada: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = submit(gauntlet, "--image", "planner")
    assert done.exit_code == 2
    assert "no `docker` command" in done.stderr
    assert "--image-archive FILE" in done.stderr


def test_an_image_is_saved_compressed_and_sent_with_its_files_as_they_are(
    gauntlet: Any, as_ada: Any, docker_command: Any, tmp_path: Path
) -> None:
    done = submit(gauntlet, "--image", "planner:latest")
    assert done.exit_code == 0, done.stderr
    assert base64.b64encode(b"planner-latest.tar.zst").decode() in as_ada.announced[1]
    assert contents(io.BytesIO(zstandard.ZstdDecompressor().stream_reader(as_ada.parts).read())) == contents(
        io.BytesIO((docker_command.folder / "archive.tar").read_bytes())
    )
    image = check_image(io.BytesIO(as_ada.parts), tmp_path / "made", work=tmp_path, limits=ImageLimits())
    assert image.size == 100_000


def contents(archive: io.BytesIO) -> dict[str, bytes]:
    """The files of a tar."""
    with tarfile.open(fileobj=archive) as opened:
        return {entry.name: opened.extractfile(entry).read() for entry in opened if entry.isreg()}  # type: ignore[union-attr]


ONE, OTHER = f"sha256:{'5e' * 32}", f"sha256:{'ca' * 32}"
FAR = "registry.example:5000/team/planner"
BY_DIGEST = f"planner@sha256:{'d1' * 32}"


@pytest.mark.parametrize(
    ("named", "saved"),
    [
        ("planner", "planner:latest"),
        ("planner:three", "planner:three"),
        (BY_DIGEST, BY_DIGEST),
        (FAR, f"{FAR}:latest"),
        (f"{FAR}:three", f"{FAR}:three"),
        (OTHER, OTHER),
        (OTHER.removeprefix("sha256:"), OTHER),
        ("cacaca", OTHER),  # the beginning of an id
        ("5e5e", "5e5e:latest"),  # the same, and a name
    ],
)
def test_one_image_is_saved_however_it_is_named(
    gauntlet: Any, as_ada: Any, docker_command: Any, named: str, saved: str
) -> None:
    docker_command.knows(
        {
            ONE: ["planner:latest", f"{FAR}:latest", "5e5e:latest", BY_DIGEST],
            OTHER: ["planner:three", f"{FAR}:three", "5e5e:three"],
        }
    )
    done = submit(gauntlet, "--image", named)
    assert done.exit_code == 0, done.stderr
    assert docker_command.saved == [[saved]]


def test_an_image_that_docker_does_not_have_is_told(gauntlet: Any, as_ada: Any, docker_command: Any) -> None:
    docker_command.knows({ONE: ["planner:three"]})
    done = submit(gauntlet, "--image", "planner")
    assert done.exit_code == 2
    assert "Docker has no image planner." in done.stderr


def test_where_there_is_no_room_for_what_docker_saves_is_told(
    gauntlet: Any, as_ada: Any, docker_command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = iter([lambda: open("/dev/full", "w+b")])  # noqa: SIM115  whoever asks for it closes it
    real = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *given: next(files, real)(*given))
    done = submit(gauntlet, "--image", "planner")
    assert done.exit_code == 1, done.exception
    assert f"planner:latest cannot be kept in {tempfile.gettempdir()} while it is sent: No space left" in done.stderr
    assert "TMPDIR" in done.stderr
    assert as_ada.announced is None


@pytest.mark.parametrize("archive", [None, b"", b"no tar" * 200])
def test_why_docker_does_not_save_is_told(
    gauntlet: Any, as_ada: Any, docker_command: Any, archive: bytes | None
) -> None:
    (docker_command.folder / "fails").write_text("warning\nError response from daemon: no space left\n")
    if archive is not None:
        (docker_command.folder / "docker").write_bytes(
            b"#!/bin/sh\n[ $1 = image ] && exit\nprintf '%s' '" + archive + b"'; cat ${0%/*}/fails >&2; exit 3\n"
        )
    done = submit(gauntlet, "--image", "planner:latest")
    assert done.exit_code == 1
    assert "`docker save planner:latest` failed." in done.stderr
    assert "Error response from daemon: no space left" in done.stderr
    assert as_ada.announced is None


@pytest.mark.parametrize("output", ["", "no tar" * 200])
def test_what_is_no_tar_of_dockers_is_not_sent(gauntlet: Any, as_ada: Any, docker_command: Any, output: str) -> None:
    (docker_command.folder / "docker").write_text(f"#!/bin/sh\n[ $1 = image ] || printf '%s' '{output}'\n")
    done = submit(gauntlet, "--image", "planner:latest")
    assert done.exit_code == 1
    assert "`docker save planner:latest` wrote no whole tar." in done.stderr
    assert as_ada.announced is None
