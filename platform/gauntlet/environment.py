"""Reads settings from the environment; whatever is wrong with one stops the start with its name."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()

_SECRET_CHARACTERS: Final = 32
_YES: Final = ("true", "yes", "on", "1")
_NO: Final = ("false", "no", "off", "0", "")


def positive(name: str, default: int) -> int:
    """A number above 0."""
    given: str = env.str(name, default=str(default))
    try:
        value = int(given)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a positive number, not {given!r}") from None
    if value <= 0:
        raise ImproperlyConfigured(f"{name} must be a positive number, not {value}")
    return value


def flag(name: str, *, default: bool) -> bool:
    """True or false; what is neither must not pass for one of them."""
    given: str = env.str(name, default=str(default))
    if given.lower() not in (*_YES, *_NO):
        raise ImproperlyConfigured(f"{name} must be true or false, not {given!r}")
    return given.lower() in _YES


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    value: str = env.str(name, default=default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(repr(a) for a in allowed)}, not {value!r}")
    return value


def names_of_queues(name: str, default: list[str]) -> list[str]:
    """Names of queues, each once; a competition that names none uses the queue "default"."""
    names = list(dict.fromkeys(env.list(name, default=default)))
    wrong = [queue for queue in names if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", queue)]
    if wrong or not names:
        allowed = "small letters, digits, '_', '.' and '-', at most 64"
        raise ImproperlyConfigured(f"{name} must be names of queues ({allowed}) with commas between: {wrong}")
    return names


def site(name: str, default: str) -> str:
    """The address of a site, without a slash at its end."""
    value: str = env.str(name, default=default).rstrip("/")
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ImproperlyConfigured(f"{name} must be an address such as https://gauntlet.example.org, not {value!r}")
    return value


def database(name: str, url: str) -> dict[str, Any]:
    """Django's settings of the database at this address."""
    with contextlib.suppress(ValueError, KeyError):  # the address holds a password: no word of it is repeated
        found: dict[str, Any] = env.db_url_config(url)
        if "postgresql" in found["ENGINE"]:
            return found
    raise ImproperlyConfigured(f"{name} must name a PostgreSQL database: postgres://user:password@host/name")


def broker_address(name: str) -> str:
    """The address of a broker, or of several with semicolons between, as Celery takes them; or nothing."""
    value: str = env.str(name, default="")
    with contextlib.suppress(ValueError):
        if not value or all(map(_is_broker, value.split(";"))):
            return value
    raise ImproperlyConfigured(
        f"{name} must be an address such as redis://:password@host:6379/0 or redis+socket:///run/broker.sock"
    )


def _is_broker(address: str) -> bool:
    parts = urlsplit(address)
    if parts.scheme.endswith("+socket"):
        return parts.path.startswith("/") or bool(parts.netloc)  # beside a password the path is told as a host
    return bool(parts.scheme and parts.netloc) and parts.port != 0


def folder(name: str, default: Path) -> Path:
    """A folder; where one is named it has to be there."""
    given: str = env.str(name, default="")
    if given and not Path(given).is_dir():
        raise ImproperlyConfigured(f"{name} must be a folder, and {given} is none")
    return Path(given or default)


def importable(name: str, default: str) -> str:
    """A dotted path whose module is installed."""
    path: str = env.str(name, default=default)
    with contextlib.suppress(ImportError, ValueError):
        if importlib.util.find_spec(path.rpartition(".")[0]) is not None:
            return path
    raise ImproperlyConfigured(f"{name} must be the dotted path of an installed class, not {path!r}")


def mapping(name: str, default: dict[str, Any]) -> dict[str, Any]:
    """A JSON object."""
    try:
        found = json.loads(env.str(name, default=json.dumps(default)))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ImproperlyConfigured(f"{name} must be a JSON object")  # what was given may hold a password
    return found


def models(name: str, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """A setting about language models; what is wrong is said without the keys in it."""
    try:
        return read(json.loads(env.str(name, default="{}")))
    except json.JSONDecodeError:
        raise ImproperlyConfigured(f"{name} must be JSON") from None
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is wrong: {error}") from None


def mail(name: str, default: str) -> dict[str, Any]:
    """Django's settings of where mails go."""
    try:
        found: dict[str, Any] = env.email_url(name, default=default)
    except (ImproperlyConfigured, ValueError):
        raise ImproperlyConfigured(f"{name} must be an address such as smtp+tls://user:password@host:587") from None
    return found


def kept_secret(name: str, var: Path) -> str:
    """A secret from the environment, or one made at the first start and kept under ``var``."""
    given: str = env.str(name, default="")
    if given:
        if len(given) < _SECRET_CHARACTERS:
            raise ImproperlyConfigured(f"{name} must have at least {_SECRET_CHARACTERS} characters")
        return given
    path = var / f"{name.lower()}.txt"
    try:
        kept = _made_once(path)
    except PermissionError as error:
        message = f"GAUNTLET_VAR is {var}, which is another user's ({error}): start this as that user, or name"
        raise ImproperlyConfigured(f"{message} a folder of this user's own") from None
    if len(kept) < _SECRET_CHARACTERS:
        raise ImproperlyConfigured(f"{name} was kept in {path}, which is cut off: restore that file, or set {name}")
    return kept


def _made_once(path: Path) -> str:
    if path.exists():
        return path.read_text(encoding="ascii")
    # Made under another name and linked: of two processes that start at once, one wins and both read its secret.
    draft = path.with_name(f".{path.stem}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600)
    try:
        with draft.open("w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())  # what is made from it is stored for good, and it must not be lost before that
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii")
