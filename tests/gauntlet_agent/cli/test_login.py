"""Logging in and out, and where the token is kept."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest


def _config(home: Path) -> Path:
    return home / "config" / "gauntlet" / "config.json"


def test_logging_in_keeps_a_token_that_only_its_owner_can_read(gauntlet: Any, platform: Any, home: Path) -> None:
    done = gauntlet("login", "--server", platform.url, "-u", "ada", "--password-stdin", stdin="right\n")
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Logged in to {platform.url} as ada." in done.stdout
    assert "right" not in done.stdout
    path = _config(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "right" not in path.read_text()
    assert json.loads(path.read_text())["logins"][platform.url]["token"] == "token-of-ada"


def test_after_logging_in_commands_need_no_options(gauntlet: Any, platform: Any) -> None:
    gauntlet("login", "--server", platform.url, "-u", "ada", "--password-stdin", stdin="right\n")
    assert gauntlet("status").exit_code == 0


def test_a_wrong_password_is_the_platforms_sentence_and_keeps_nothing(gauntlet: Any, platform: Any, home: Path) -> None:
    done = gauntlet("login", "--server", platform.url, "-u", "ada", "--password-stdin", stdin="wrong\n")
    assert done.exit_code == 3
    assert done.stderr == "gauntlet: User name or password is wrong.\n"
    assert not _config(home).exists()


def test_without_a_terminal_what_is_missing_is_named_and_nothing_is_sent(process: Any, platform: Any) -> None:
    done = process("login", "--server", platform.url)
    assert done.returncode == 2
    assert done.stderr == "gauntlet: User name is missing, and there is no terminal to ask at. Use --username.\n"
    assert platform.requests == []


def test_logging_out_forgets_the_token_of_that_server_only(gauntlet: Any, platform: Any, home: Path) -> None:
    gauntlet("login", "--server", platform.url, "-u", "ada", "--password-stdin", stdin="right\n")
    stored = json.loads(_config(home).read_text())
    stored["logins"]["https://other.example"] = {"token": "t", "username": "u", "expires_at": None}
    _config(home).write_text(json.dumps(stored))
    assert gauntlet("logout").exit_code == 0
    assert platform.revoked == 1
    assert list(json.loads(_config(home).read_text())["logins"]) == ["https://other.example"]
    refused = gauntlet("status")
    assert refused.exit_code == 3
    assert f"gauntlet login --server {platform.url}" in refused.stderr
    assert gauntlet("logout").stdout == "You were not logged in.\n"


def test_logging_out_of_a_server_that_fails_forgets_the_token_and_says_what_is_left(
    gauntlet: Any, platform: Any, home: Path, responses: Any
) -> None:
    gauntlet("login", "--server", platform.url, "-u", "ada@example.org", "--password-stdin", stdin="right\n")
    assert json.loads(_config(home).read_text())["logins"][platform.url]["username"] == "ada"  # not what was typed
    platform.answers["/tokens/current"] = responses["problem"](503, "unavailable", "Try later.")
    done = gauntlet("logout")
    assert done.exit_code == 4
    assert "could not be ended there: Try later." in done.stderr
    assert json.loads(_config(home).read_text())["logins"] == {}


def test_a_token_of_one_server_is_not_sent_to_another(
    gauntlet: Any, platform: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauntlet("login", "--server", platform.url, "-u", "ada", "--password-stdin", stdin="right\n")
    other = platform.url.replace("127.0.0.1", "localhost")
    before = len(platform.requests)
    done = gauntlet("status", "--server", other)
    assert done.exit_code == 3
    assert len(platform.requests) == before


def test_a_password_over_plain_http_to_another_machine_is_warned_about(process: Any) -> None:
    done = process("login", "--server", "http://192.0.2.1:9", "-u", "ada", "--password-stdin")
    assert "is not encrypted" in done.stderr
    assert done.returncode == 2  # the password is empty: nothing is sent


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gauntlet.example.org", "https://gauntlet.example.org"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://example.org/sub/", "http://example.org/sub"),
    ],
)
def test_an_address_is_understood_as_people_type_it(typed: str, meant: str) -> None:
    from gauntlet_agent.cli.logins import normalised

    assert normalised(typed) == meant


@pytest.mark.parametrize("typed", ["ftp://example.org", "https://"])
def test_an_address_that_is_none_is_wrong_usage(gauntlet: Any, typed: str) -> None:
    done = gauntlet("competitions", "--server", typed)
    assert done.exit_code == 2
    assert "is not an address" in done.stderr


@pytest.mark.parametrize("content", ["{", "[]", '{"logins": {"x": {"wrong": 1}}}'])
def test_a_damaged_file_is_named(gauntlet: Any, home: Path, content: str) -> None:
    _config(home).parent.mkdir(parents=True)
    _config(home).write_text(content)
    done = gauntlet("status")
    assert done.exit_code == 1
    assert str(_config(home)) in done.stderr
    assert len(done.stderr.splitlines()) == 1
