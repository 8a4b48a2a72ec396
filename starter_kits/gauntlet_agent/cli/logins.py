"""Where `gauntlet` keeps servers and tokens: one JSON file that only its owner can read."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gauntlet_agent.cli.failure import CommandFailed, Exit

SERVER_VARIABLE: Final = "GAUNTLET_SERVER"
TOKEN_VARIABLE: Final = "GAUNTLET_TOKEN"  # noqa: S105  the name of a variable


@dataclass(frozen=True)
class Login:
    """A token for one server."""

    token: str
    username: str
    expires_at: str | None = None


@dataclass
class Logins:
    """The servers that this person logged in to; ``server`` is the one that commands talk to."""

    server: str | None = None
    logins: dict[str, Login] = field(default_factory=dict)


def config_path() -> Path:
    """The file, after the XDG base directory specification."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".config"
    return root / "gauntlet" / "config.json"


def load() -> Logins:
    """Read the file; nothing where there is none.

    Raises:
        CommandFailed: it is there and cannot be read.
    """
    path = config_path()
    try:
        stored = json.loads(path.read_text("utf-8"))
        logins = {url: Login(**login) for url, login in stored.get("logins", {}).items()}
        return Logins(server=stored.get("server"), logins=logins)
    except FileNotFoundError:
        return Logins()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CommandFailed(f"{path} cannot be read ({error}). Remove it and log in again.") from error


def save(logins: Logins) -> None:
    """Write the file anew, readable by its owner only, whole or not at all."""
    path = config_path()
    content = json.dumps(asdict(logins), indent=2)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)  # created with mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(content)
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror or error}.") from error


def normalised(server: str) -> str:
    """A server's address without what does not matter; ``https://`` is meant where nothing is said.

    Raises:
        CommandFailed: it is no address of a web server.
    """
    text = server.strip()
    if "://" not in text:
        host = text.split("/")[0].rsplit(":", 1)[0]
        text = f"{'http' if _is_local(host) else 'https'}://{text}"
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandFailed(f"{server!r} is not an address such as https://gauntlet.example.org.", code=Exit.USAGE)
    return text.rstrip("/")


def sends_in_clear(server: str) -> bool:
    """Whether a password would travel unencrypted over a network."""
    parts = urlsplit(server)
    return parts.scheme == "http" and not _is_local(parts.hostname or "")


def _is_local(host: str) -> bool:
    return host in ("localhost", "[::1]", "::1") or host.startswith("127.")


def choose(server: str | None) -> tuple[str, str | None]:
    """Return the server to talk to and the token for it, if there is one.

    The option (or GAUNTLET_SERVER, which it falls back to) comes before the file. A token of the file is only ever
    sent to the server that gave it.

    Raises:
        CommandFailed: no server is known.
    """
    stored = load()
    chosen = server or stored.server
    if not chosen:
        raise CommandFailed(
            f"No server is known yet. Log in with `gauntlet login --server URL`, or set {SERVER_VARIABLE}.",
            code=Exit.REFUSED,
        )
    url = normalised(chosen)
    login = stored.logins.get(url)
    return url, os.environ.get(TOKEN_VARIABLE) or (login.token if login else None)
