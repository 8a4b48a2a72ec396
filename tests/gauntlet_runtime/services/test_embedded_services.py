"""One start, many users: what `ensure` gives, and what a stranger does not get."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest
import redis

from gauntlet_runtime import services
from gauntlet_runtime.services import home
from gauntlet_runtime.services.processes import running_in

Start = Callable[..., Popen[str]]
T = TypeVar("T")
RACERS = 4
ENSURE = """
import sys; from pathlib import Path; from gauntlet_runtime import services
print("ready", flush=True); sys.stdin.readline()
print(services.ensure(Path(sys.argv[1]), durable=False).database_url, flush=True)
"""


def query(urls: services.ServiceUrls, statement: str) -> object:
    with psycopg.connect(urls.database_url, autocommit=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchone()[0] if cursor.description else None


def broker(urls: services.ServiceUrls) -> redis.Redis:
    parts = urlsplit(urls.broker_url)
    return redis.Redis(unix_socket_path=parts.path, password=parts.password)


def all_processes(var: Path) -> list[psutil.Process]:
    """The two servers' processes. Those that serve the database's own needs come and go: see `of_each`."""
    now = services.status(var)
    assert now.postgres is not None
    assert now.valkey is not None
    postmaster = psutil.Process(now.postgres)
    return [postmaster, *postmaster.children(recursive=True), psutil.Process(now.valkey)]


def of_each(var: Path, look: Callable[[psutil.Process], T]) -> list[T]:
    """What is seen of each of the servers' processes; one that ends meanwhile, as its connection did, is left out."""
    found = []
    for process in all_processes(var):
        with suppress(psutil.NoSuchProcess):
            found.append(look(process))
    return found


def test_both_answer_and_a_second_call_adopts_them(var: Path) -> None:
    first = services.ensure(var, durable=False)
    before = services.status(var)

    assert query(first, "select current_database()") == "gauntlet"
    assert broker(first).ping()
    assert services.ensure(var) == first
    assert services.status(var) == before


def test_two_processes_that_race_on_a_fresh_folder_start_one_server(var: Path, python: Start) -> None:
    racers = [python(ENSURE, var) for _ in range(3)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [racer.communicate(timeout=120) for racer in racers]

    assert {out for out, _ in answers} == {services.ensure(var).database_url + "\n"}, answers
    kinds = sorted(p.name() for folder in ("postgres", "valkey") for p in main_processes(var / "services" / folder))
    assert kinds == ["postgres", "valkey-server"]


def test_a_folder_made_twice_at_once_is_not_pulled_from_under_its_first_file(open_folder: Path) -> None:
    """A draft renamed over an empty folder takes its place, and a file that is being made in the old one is lost."""

    def make(number: int) -> None:
        folder = open_folder / f"{number // RACERS}" / "services"
        home._make_folder(folder, mode=0o711)
        (folder / f"{number}").touch()

    with ThreadPoolExecutor(RACERS) as pool:
        list(pool.map(make, range(500 * RACERS)))


def main_processes(folder: Path) -> list[psutil.Process]:
    """The servers that run in a folder: of each server's processes the one whose parent is not among them."""
    processes = {p.pid: p for p in running_in(folder)}
    found = []
    for process in processes.values():
        with suppress(psutil.NoSuchProcess):
            if process.ppid() not in processes:
                found.append(process)
    return found


def test_servers_have_an_unprivileged_account_and_private_folders(var: Path) -> None:
    services.ensure(var, durable=False)

    (uid,) = {number for numbers in of_each(var, psutil.Process.uids) for number in numbers}
    assert uid != 0
    for process in all_processes(var):
        with suppress(FileNotFoundError, ProcessLookupError):  # as in `of_each`
            groups = re.search(r"^Groups:(.*)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
            assert groups is not None
            assert os.geteuid() != 0 or groups.group(1).split() == []
    for name in ("postgres", "valkey", "sockets"):
        status = (var / "services" / name).stat()
        assert stat.S_IMODE(status.st_mode) == 0o700
        assert status.st_uid == uid
    assert stat.S_IMODE((var / "services" / "secrets.json").stat().st_mode) == 0o600


def test_nothing_listens_on_a_network(var: Path) -> None:
    services.ensure(var, durable=False)
    assert [c for found in of_each(var, lambda p: p.net_connections(kind="inet")) for c in found] == []


def test_passwords_are_asked_for_and_shown_nowhere(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    address, password = urlsplit(urls.database_url), urlsplit(urls.broker_url).password
    assert address.password
    assert password
    host = parse_qs(address.query)["host"][0]

    for user in ("gauntlet", "postgres"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=host, user=user, dbname="gauntlet", password="wrong")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(unix_socket_path=urlsplit(urls.broker_url).path).ping()
    shown = [*of_each(var, lambda p: " ".join([*p.cmdline(), *p.environ().values()])), repr(urls)]
    assert [text for text in shown if address.password in text or password in text] == []


def test_the_platforms_role_makes_databases_but_rules_nothing(var: Path) -> None:
    urls = services.ensure(var, durable=False)

    assert query(urls, "select rolsuper::int + rolcreaterole::int from pg_roles where rolname = current_user") == 0
    query(urls, "create database test_of_mine")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        query(urls, "copy pg_class to program 'id'")


def test_durability_is_the_default_and_the_choice_stays(var: Path, open_folder: Path) -> None:
    other = open_folder / "other"
    try:
        assert query(services.ensure(other), "show fsync") == "on"
    finally:
        services.stop(other)
    services.ensure(var, durable=False)
    services.stop(var)
    assert query(services.ensure(var), "show fsync") == "off"


def test_what_was_committed_outlives_a_killed_server_whatever_was_chosen(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    query(urls, "create table counted (n int)")
    server = services.status(var).postgres
    assert server is not None
    with psycopg.connect(urls.database_url, autocommit=True) as connection:
        connection.execute("insert into counted values (1)")
        for process in [psutil.Process(server), *psutil.Process(server).children()]:
            with suppress(psutil.NoSuchProcess):  # the others end with the first
                process.kill()

    assert query(services.ensure(var), "select count(*) from counted") == 1


def test_text_sorts_the_same_on_every_machine(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    assert query(urls, "select string_agg(x, '' order by x) from unnest(array['b','Z','ä','a']) as x") == "Zabä"


def test_stop_ends_everything_and_keeps_the_data(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    query(urls, "create table kept as select 7 as n")
    running = all_processes(var)
    services.stop(var)

    assert [p for p in running if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []
    assert services.status(var).postgres is services.status(var).valkey is None
    assert query(services.ensure(var), "select n from kept") == 7


def test_stop_and_status_of_what_never_started_write_nothing(var: Path) -> None:
    services.stop(var)
    assert services.status(var) == services.ServiceStatus(postgres=None, valkey=None, base=None)
    assert not var.exists()


def test_memory_at_idle_is_small(var: Path, wait_until: Callable[[Callable[[], object]], None]) -> None:
    services.ensure(var, durable=False)
    wait_until(lambda: not any(of_each(var, serves_somebody)))
    private = sum(of_each(var, lambda p: p.memory_full_info().uss))
    assert private < 60 << 20


def serves_somebody(process: psutil.Process) -> bool:
    """Whether it is the database's for one connection: such a process is there a moment longer than the connection."""
    return " ".join(process.cmdline()).startswith(("postgres: gauntlet", "postgres: postgres"))
