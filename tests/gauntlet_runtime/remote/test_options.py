"""The command line of a worker: every mistake is named in a line, and a token stays where it belongs."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
from own_authority import Certified

from gauntlet_runtime.remote.options import read_options

TOKEN = "gwk_" + "t" * 40
SITE = "https://gauntlet.example"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """As the queue's page says that it is to be made."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


def test_what_a_worker_is_started_with(token_file: Path, certified: Certified) -> None:
    given = ["--url", f"{SITE}/", "--token-file", str(token_file), "--ca-file", str(certified.authority)]
    options = read_options([*given, "--name", "gpu-1", "--min-free", "500M", "--processes", "3", "--once"])
    assert (options.url, options.token.get_secret_value(), options.name) == (SITE, TOKEN, "gpu-1")
    assert (options.min_free_bytes, options.processes, options.once, options.check) == (500 << 20, 3, True, False)
    assert isinstance(options.verify, ssl.SSLContext)
    assert TOKEN not in repr(options)
    assert options.folder.is_absolute()


def test_a_token_of_the_environment_is_not_left_to_the_programs_of_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_WORKER_TOKEN", TOKEN)
    assert read_options(["--url", SITE]).token.get_secret_value() == TOKEN
    assert "GAUNTLET_WORKER_TOKEN" not in os.environ


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:80", "https://a.example/x"])
def test_addresses_that_are_taken(token_file: Path, url: str) -> None:
    assert read_options(["--url", url, "--token-file", str(token_file)]).url == url


def test_plain_http_is_taken_where_somebody_says_so(token_file: Path) -> None:
    given = ["--token-file", str(token_file), "--url", "http://10.0.0.1", "--allow-http"]
    assert read_options(given).url == "http://10.0.0.1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--url", "gauntlet.example"], "that is no address"),
        (["--url", "ftp://gauntlet.example"], "that is no address"),
        (["--url", "https://"], "that is no address"),
        (["--url", "https://gauntlet.example:port"], "that is no address"),
        (["--url", "https://gauntlet.example/\n"], "that is no address"),
        (["--url", "https://me:secret@gauntlet.example"], "without a user"),
        (["--url", f"{SITE}/?x=1"], "without a user"),
        (["--url", "http://gauntlet.example"], "--allow-http"),
        (["--url", "http://localhost.example"], "--allow-http"),
        ([], "--url"),
        (["--url", SITE, "--name", "my host"], "argument --name"),
        (["--url", SITE, "--processes", "0"], "argument --processes"),
        (["--url", SITE, "--processes", "many"], "argument --processes"),
        (["--url", SITE, "--min-free", "lots"], "argument --min-free"),
        (["--url", SITE, "--stop-seconds", "-1"], "argument --stop-seconds"),
        (["--url", SITE, "--stop-seconds", "nan"], "argument --stop-seconds"),
        (["--url", SITE, "--sandbox", "chroot"], "argument --sandbox"),
        (["--url", SITE, "--ca-file", "missing.pem"], "argument --ca-file: missing.pem cannot be used (No such file"),
        (["--url", SITE, "--ca-file", os.devnull], "argument --ca-file"),
    ],
)
def test_a_mistake_is_named(token_file: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_options([*given, "--token-file", str(token_file)])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (TOKEN.encode(), 0o644, "run: chmod 600"),
        (TOKEN.encode(), 0o640, "run: chmod 600"),
        (b"", 0o600, "holds no token"),
        (b"short", 0o600, "holds no token"),
        (f"{TOKEN}\n{TOKEN}".encode(), 0o600, "holds no token"),
        ("gwk_tökentökentöken".encode(), 0o600, "holds no token"),
        (b"\xff\xfe" * 20, 0o600, "it is no text"),
        (None, 0o600, "No such file"),
    ],
)
def test_a_token_file_that_is_none_is_named_and_not_quoted(
    tmp_path: Path, content: bytes | None, mode: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(SystemExit):
        read_options(["--url", SITE, "--token-file", str(path)])
    told = capsys.readouterr().err
    assert said in told
    assert str(path) in told
    assert TOKEN not in told


def test_no_token_and_two_tokens(
    token_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_options(["--url", SITE])
    assert "no token" in capsys.readouterr().err
    monkeypatch.setenv("GAUNTLET_WORKER_TOKEN", TOKEN)
    with pytest.raises(SystemExit):
        read_options(["--url", SITE, "--token-file", str(token_file)])
    assert "two tokens" in capsys.readouterr().err
