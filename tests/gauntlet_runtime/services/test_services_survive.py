"""Any process may be killed at any time: what the next `ensure` or `keep_alive` makes of what is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from gauntlet_runtime import services
from gauntlet_runtime.services import postgres, valkey

Kill = Callable[[int | None], None]
Wait = Callable[[Callable[[], object]], None]
Start = Callable[..., Popen[str]]
ENSURE = """
import sys, time; from pathlib import Path; from gauntlet_runtime import services
services.ensure(Path(sys.argv[1]), durable=False); print("started", flush=True); sys.stdin.readline()
"""


def write(urls: services.ServiceUrls) -> None:
    with psycopg.connect(urls.database_url) as connection:
        connection.execute("create table kept as select 7 as n")


def read(urls: services.ServiceUrls) -> object:
    with psycopg.connect(urls.database_url) as connection:
        return connection.execute("select n from kept").fetchone()


def ping(urls: services.ServiceUrls) -> object:
    parts = urlsplit(urls.broker_url)
    return redis.Redis(unix_socket_path=parts.path, password=parts.password).ping()


def test_a_killed_postgresql_comes_back_with_what_was_committed(var: Path, kill: Kill) -> None:
    urls = services.ensure(var)
    write(urls)
    before = services.status(var)
    kill(before.postgres)

    assert services.ensure(var) == urls
    assert read(urls) == (7,)
    after = services.status(var)
    assert after.postgres != before.postgres
    assert after.valkey == before.valkey


def test_a_killed_postgresql_with_clients_comes_back(var: Path, kill: Kill) -> None:
    urls = services.ensure(var, durable=False)
    with psycopg.connect(urls.database_url) as client:
        client.execute("create table lost as select 1")
        kill(services.status(var).postgres)
        with psycopg.connect(services.ensure(var).database_url) as other:
            assert other.execute("select to_regclass('lost')").fetchone() == (None,)
        with pytest.raises(psycopg.OperationalError):
            client.execute("select 1")


def test_a_killed_backend_is_recovered_from_without_a_restart(var: Path, kill: Kill, wait_until: Wait) -> None:
    urls = services.ensure(var, durable=False)
    before = services.status(var)
    with psycopg.connect(urls.database_url) as client:
        kill(client.info.backend_pid)
        assert services.ensure(var) == urls
    assert services.status(var) == before


def test_a_killed_valkey_comes_back_under_its_address(var: Path, kill: Kill) -> None:
    urls = services.ensure(var, durable=False)
    before = services.status(var)
    kill(before.valkey)

    assert services.ensure(var) == urls
    assert ping(urls)
    assert services.status(var).postgres == before.postgres


def test_keep_alive_does_nothing_while_both_live_and_replaces_either(var: Path, kill: Kill) -> None:
    urls = services.ensure(var, durable=False)
    before = services.status(var)
    assert services.keep_alive(var) is False
    assert services.status(var) == before

    kill(services.status(var).postgres)
    assert services.keep_alive(var) is True
    kill(services.status(var).valkey)
    assert services.keep_alive(var) is True
    assert services.keep_alive(var) is False
    assert services.ensure(var) == urls


def test_the_servers_outlive_a_killed_starter(var: Path, kill: Kill, python: Start) -> None:
    starter = python(ENSURE, var)
    assert starter.stdout is not None
    assert starter.stdout.readline() == "started\n"
    before = services.status(var)
    kill(starter.pid)

    services.ensure(var)
    assert services.status(var) == before


@pytest.mark.parametrize("sign", ["initdb-*", "postgres/PG_VERSION", "sockets/.s.PGSQL.5432"])
def test_a_start_that_was_killed_half_way_is_finished_by_the_next(
    var: Path, sign: str, *, kill: Kill, python: Start, wait_until: Wait
) -> None:
    starter = python(ENSURE, var)
    wait_until(lambda: list((var / "services").glob(sign)) or starter.poll() is not None)
    kill(starter.pid)

    urls = services.ensure(var, durable=False)
    write(urls)
    assert read(urls) == (7,)
    assert list((var / "services").glob("initdb-*")) == []


def test_a_stale_lock_file_that_names_a_living_stranger_is_seen_through(var: Path, kill: Kill) -> None:
    services.ensure(var, durable=False)
    lines = (var / "services/postgres/postmaster.pid").read_text().splitlines()
    kill(services.status(var).postgres)
    stale = "\n".join([str(os.getppid()), *lines[1:]]) + "\n"
    (var / "services/postgres/postmaster.pid").write_text(stale)
    (var / "services/sockets/.s.PGSQL.5432.lock").write_text(stale)

    assert ping(services.ensure(var))
    os.kill(os.getppid(), 0)


def test_servers_that_hang_are_replaced(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, answer in ((postgres, 2), (valkey, 0.5)):
        monkeypatch.setattr(module, "_ANSWER_SECONDS", answer)
        monkeypatch.setattr(module, "_PATIENCE", 0.5)
    urls = services.ensure(var, durable=False)
    write(urls)
    before = services.status(var)
    for process in (before.postgres, before.valkey):
        assert process is not None
        os.kill(process, signal.SIGSTOP)

    assert services.ensure(var) == urls
    assert read(urls) == (7,)
    assert ping(urls)
    after = services.status(var)
    assert {after.postgres, after.valkey}.isdisjoint({before.postgres, before.valkey})


def fill(urls: services.ServiceUrls, clients: list[psycopg.Connection]) -> None:
    while True:
        clients.append(psycopg.connect(urls.database_url))


def test_a_full_server_is_alive(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    before = services.status(var)
    clients: list[psycopg.Connection] = []
    with pytest.raises(psycopg.OperationalError, match=r"connection slots|too many clients"):
        fill(urls, clients)
    try:
        assert services.ensure(var) == urls
        assert services.status(var) == before
    finally:
        for client in clients:
            client.close()


def test_a_removed_socket_folder_is_made_again(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    write(urls)
    shutil.rmtree(var / "services/sockets")

    assert services.ensure(var) == urls
    assert read(urls) == (7,)


def test_a_broken_data_folder_is_reported_with_the_servers_own_words(var: Path) -> None:
    services.ensure(var, durable=False)
    services.stop(var)
    (var / "services/postgres/global/pg_control").unlink()

    with pytest.raises(services.ServiceError, match=r"postgres ended at once(.|\n)*pg_control"):
        services.ensure(var)


def test_lost_passwords_are_named_and_the_data_left_alone(var: Path, kill: Kill) -> None:
    secrets = var / "services/secrets.json"
    urls = services.ensure(var, durable=False)
    write(urls)
    before = services.status(var)
    kept = secrets.read_text()

    secrets.unlink()
    with pytest.raises(services.ServiceError, match=r"secrets\.json is missing"):
        services.ensure(var)
    secrets.write_text(json.dumps(dict.fromkeys(json.loads(kept), "another")))
    with pytest.raises(services.ServiceError, match=r"refuses the password kept in .*secrets\.json"):
        services.ensure(var)
    secrets.write_text(kept)
    assert read(services.ensure(var)) == (7,)
    assert services.status(var) == before
