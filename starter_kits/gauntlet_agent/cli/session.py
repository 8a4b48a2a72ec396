"""`gauntlet login` and `gauntlet logout`."""

from __future__ import annotations

import platform
import sys

import typer

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.logins import Login, config_path, load, normalised, save, sends_in_clear
from gauntlet_agent.cli.platform_api import PlatformApi


def log_in(server: str | None, username: str | None, *, password_from_stdin: bool) -> None:
    """Get a token and keep it.

    Raises:
        CommandFailed: something is missing, or the platform refused.
    """
    stored = load()
    url = normalised(server or stored.server or _ask("Server"))
    if sends_in_clear(url):
        typer.echo(f"warning: {url} is not encrypted; others on the network can read your password.", err=True)
    name = username or _ask("User name")
    password = sys.stdin.readline().rstrip("\r\n") if password_from_stdin else _ask("Password", hidden=True)
    if not password:
        raise CommandFailed("The password is empty.", code=Exit.USAGE)
    with PlatformApi(url, None) as api:
        made = api.create_token(username=name, password=password, name=f"gauntlet on {platform.node() or 'a machine'}")
    if not made.get("token"):
        raise CommandFailed(f"{url} did not give a token. Is the address right?", code=Exit.UNREACHABLE)
    with PlatformApi(url, str(made["token"])) as api:  # one may log in by e-mail address; the name is the platform's
        username = str(api.me().get("username") or name)
    stored.server = url
    stored.logins[url] = Login(token=str(made["token"]), username=username, expires_at=made.get("expires_at"))
    save(stored)
    typer.echo(f"Logged in to {url} as {username}. The token is in {config_path()}.")


def log_out(server: str | None) -> None:
    """Forget a token and end it on the server.

    Raises:
        CommandFailed: it is forgotten here but still good there.
    """
    stored = load()
    chosen = server or stored.server
    url = normalised(chosen) if chosen else ""
    login = stored.logins.pop(url, None)
    if login is None:
        typer.echo("You were not logged in.")
        return
    save(stored)
    try:
        with PlatformApi(url, login.token) as api:
            api.revoke_token()
    except CommandFailed as failed:
        if "not valid" in failed.message:
            typer.echo(f"Forgot the token of {url}, which was not valid any more.")
            return
        message = f"Forgot the token of {url}, but it could not be ended there: {failed.message}"
        raise CommandFailed(message, code=failed.code, hints=("It can be ended on your account's page.",)) from failed
    typer.echo(f"Logged out of {url}.")


def _ask(what: str, *, hidden: bool = False) -> str:
    if not sys.stdin.isatty():
        option = {"Server": "--server", "User name": "--username", "Password": "--password-stdin"}[what]
        raise CommandFailed(f"{what} is missing, and there is no terminal to ask at. Use {option}.", code=Exit.USAGE)
    answer: str = typer.prompt(what, hide_input=hidden, err=True)
    return answer
