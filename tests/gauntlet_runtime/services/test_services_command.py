"""The embedded services from a shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from gauntlet_runtime import services


def command(*arguments: object) -> tuple[int, str, str]:
    line = [sys.executable, "-m", "gauntlet_runtime.services", *(str(a) for a in arguments)]
    done = subprocess.run(line, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_start_status_and_stop(var: Path) -> None:
    assert command("status", "--var", var)[0] == 1
    status, started, _ = command("start", "--var", var)
    assert status == 0
    assert "DATABASE_URL=postgresql://gauntlet:***@" in started
    assert "BROKER_URL=redis+socket://:***@" in started

    status, running, _ = command("status", "--var", var)
    now = services.status(var)
    assert status == 0
    assert f"PostgreSQL: process {now.postgres}\n" in running
    assert f"Valkey: process {now.valkey}\n" in running

    assert command("stop", "--var", var)[0] == 0
    status, stopped, _ = command("status", "--var", var)
    assert status == 1
    assert "PostgreSQL: not running\nValkey: not running\n" in stopped


def test_passwords_are_printed_only_when_asked_for(var: Path) -> None:
    urls = services.ensure(var)
    passwords = [urlsplit(urls.database_url).password, urlsplit(urls.broker_url).password]
    assert all(passwords)

    assert [p for p in passwords if str(p) in command("start", "--var", var)[1]] == []
    shown = command("start", "--var", var, "--show")[1]
    assert shown == f"DATABASE_URL={urls.database_url}\nBROKER_URL={urls.broker_url}\n"


def test_a_failure_is_a_sentence_and_an_exit_status(var: Path) -> None:
    services.ensure(var)
    services.stop(var)
    (var / "services" / "secrets.json").unlink()

    status, out, err = command("start", "--var", var)
    assert (status, out) == (1, "")
    assert "secrets.json is missing" in err
    assert "Traceback" not in err
