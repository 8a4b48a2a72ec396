"""Settings: each is documented once with its default, and a wrong one stops the start with its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gauntlet_runtime.sandbox.image_shelf import DEFAULT_BYTES

SETTINGS = Path(__file__).parents[2] / "platform/gauntlet/settings.py"
ROW = re.compile(r"^([A-Z][A-Z_]+) +(\S.*?)(?:  +(.*))?$", re.MULTILINE)
READ = re.compile(r"(?:\benv\.\w+|(?<![.\w])[a-z_]+)\(\s*\"([A-Z][A-Z_]+)\"")
WRONG = [
    ("GAUNTLET_VAR", "/etc/passwd/var"),
    ("SECRET_KEY", "short"),
    ("GAUNTLET_SECRET", "short"),
    ("DEBUG", "maybe"),
    ("SECURE", "ture"),
    ("SITE_URL", "gauntlet.example.org"),
    ("DATABASE_URL", "mysql://user:password@host/name"),
    ("DATABASE_URL", "postgres://user:password@host:port/name"),
    ("DATABASE_URL", "nonsense"),
    ("BROKER_URL", "nonsense"),
    ("BROKER_URL", "redis://:password@host:port/0"),
    ("EMAIL_URL", "pigeon://user:password@host"),
    ("STORAGE_BACKEND", "no.such.Storage"),
    ("STORAGE_OPTIONS", '{"secret_key": "password"'),
    ("STORAGE_OPTIONS", "[]"),
    ("MAX_BUNDLE_BYTES", "1 GB"),
    ("RUN_SLICE", ""),
    ("RUN_SLICE", "0"),
    ("SCORING_PROGRAMS", "/nowhere"),
    ("SANDBOX", "podman"),
    ("MODEL_PROVIDERS", "{"),
    ("MODEL_PRICES", "[]"),
    ("QUEUES", "A queue"),
    ("WORKER_QUEUES", "A queue"),
    ("LOG_FORMAT", "xml"),
    ("LOG_LEVEL", "loud"),
    ("ACCOUNT_EMAIL_VERIFICATION", "always"),
]
RIGHT = [
    ("SECURE", "on"),
    ("DEBUG", "False"),
    ("SITE_URL", "https://gauntlet.example.org/"),
    ("DATABASE_URL", "postgres://user:p%40ss@host:5432/name"),
    ("DATABASE_URL", "postgresql://user:password@/name?host=%2Frun%2Fpostgresql"),
    ("BROKER_URL", "redis://:password@host:6379/0"),
    ("BROKER_URL", "rediss://user:password@host/0"),
    ("BROKER_URL", "redis+socket:///run/broker.sock"),
    ("BROKER_URL", "redis+socket://:password@%2Frun%2Fbroker.sock"),
    ("BROKER_URL", "sentinel://host:26379;sentinel://other:26379"),
    ("EMAIL_URL", "smtp+tls://user:password@host:587"),
]
READER = """
import json, os, runpy, sys
from django.core.exceptions import ImproperlyConfigured

said = []
for changes in json.load(sys.stdin):
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        values = runpy.run_module("gauntlet.settings")
        kept = {name: value for name, value in values.items() if isinstance(value, (bool, int, str, list))}
        said.append({"values": kept})
    except ImproperlyConfigured as error:
        said.append({"refused": str(error)})
    os.environ.clear()
    os.environ.update(before)
json.dump(said, sys.stdout, default=str)
"""


def start(var: Path, *changes: dict[str, str]) -> list[dict[str, Any]]:
    """What the settings are under each of these changes of an environment that sets nothing but addresses."""
    environment = {
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ},
        "DATABASE_URL": "postgresql://l@localhost/l",
        "BROKER_URL": "redis://localhost",
        "GAUNTLET_VAR": str(var),
    }
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input=json.dumps(changes),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def documented() -> dict[str, str]:
    """The table at the head of the settings: each name with its default."""
    head = SETTINGS.read_text().split('"""')[1]
    rows = [(name, default) for name, default, _ in ROW.findall(head)]
    assert len(rows) == len(dict(rows))
    return dict(rows)


def test_a_wrong_setting_stops_the_start_with_its_name_and_without_a_password(tmp_path):
    told = start(tmp_path, *({name: value} for name, value in WRONG))
    accepted = [pair for pair, answer in zip(WRONG, told, strict=True) if "refused" not in answer]
    assert accepted == []
    sentences = [(name, answer["refused"]) for (name, _), answer in zip(WRONG, told, strict=True)]
    assert [pair for pair in sentences if not pair[1].startswith(pair[0])] == []
    assert [
        said for _, said in sentences if "password" in said.replace("user:password@", "").replace(":password@", "")
    ] == []


def test_what_is_right_starts(tmp_path):
    told = start(tmp_path, *({name: value} for name, value in RIGHT))
    refused = [(pair, answer["refused"]) for pair, answer in zip(RIGHT, told, strict=True) if "refused" in answer]
    assert refused == []


def test_a_start_stops_at_a_secret_that_was_cut_off_when_the_machine_went_down(tmp_path):
    assert "values" in start(tmp_path, {})[0]
    for name in ("secret_key", "gauntlet_secret"):
        kept = tmp_path / f"{name}.txt"
        whole = kept.read_text()
        kept.write_text("")
        (told,) = start(tmp_path, {})
        assert str(kept) in told["refused"]
        kept.write_text(whole)
    assert "values" in start(tmp_path, {})[0]


def test_every_setting_that_is_read_is_documented_and_the_other_way_round(documented):
    code = SETTINGS.read_text().split('"""', 2)[2]
    # The sandbox reads it, where the site's settings are not known: on an organizer's own machine.
    assert set(documented) == set(READ.findall(code)) | {"GAUNTLET_IMAGE_CACHE_BYTES"}


def test_each_documented_default_is_what_a_setting_is_where_nothing_is_set(documented, tmp_path):
    (told,) = start(tmp_path, {})
    values = told["values"]
    numbers = {name: int(default) for name, default in documented.items() if default.isdecimal()}
    assert len(numbers) > 20
    assert numbers.pop("GAUNTLET_IMAGE_CACHE_BYTES") == DEFAULT_BYTES
    assert {name: values[name] for name in numbers} == numbers
    words = (
        "DEBUG",
        "SECURE",
        "SITE_URL",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "DEFAULT_FROM_EMAIL",
        "ACCOUNT_EMAIL_VERIFICATION",
    )
    assert {name: str(values[name]).lower() for name in words} == {name: documented[name].lower() for name in words}
    assert ",".join(values["ALLOWED_HOSTS"]) == documented["ALLOWED_HOSTS"]
    assert ",".join(values["QUEUES"]) == documented["QUEUES"]
    assert values["WORKER_QUEUES"] == values["QUEUES"]


@pytest.mark.django_db
def test_the_database_notices_in_seconds_that_a_host_is_cut_off():
    from django.db import connection

    with connection.cursor() as cursor:  # what a session over TCP has; over a unix socket they are shown as 0
        cursor.execute("SELECT name, reset_val FROM pg_settings WHERE name LIKE 'tcp_%' AND source = 'client'")
        asked = {name: int(value) for name, value in cursor.fetchall()}
    silence = asked["tcp_keepalives_idle"] + asked["tcp_keepalives_interval"] * asked["tcp_keepalives_count"]
    assert (silence, asked["tcp_user_timeout"]) == (25, 20_000)
