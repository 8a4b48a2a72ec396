"""The command line of `gauntlet-worker`: what it takes, and what is wrong with what it was given."""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from gauntlet_runtime.sandbox import BACKENDS
from gauntlet_runtime.sandbox.images import default_images_folder

TOKEN_VARIABLE: Final = "GAUNTLET_WORKER_TOKEN"  # noqa: S105 - its name
_TOKEN: Final = re.compile(r"[\x21-\x7e]{8,512}")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
_SIZE: Final = re.compile(r"([0-9]+)([KMGT]?)")
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_MOST_PROCESSES: Final = 256
_DESCRIPTION: Final = "Run a queue's jobs on this machine, for a Gauntlet site that is reached over HTTPS."
_EPILOG: Final = (
    "The token is read from --token-file, or from the environment variable GAUNTLET_WORKER_TOKEN. "
    "See what is missing on this machine first: gauntlet-worker --url URL --token-file FILE --check"
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a worker was started with."""

    url: str  # without a slash at its end
    token: SecretStr
    verify: ssl.SSLContext | bool
    name: str
    folder: Path
    images: Path
    sandbox: str | None
    docker_runtime: str | None
    min_free_bytes: int
    processes: int
    stop_seconds: float
    once: bool
    check: bool


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; the token's variable is not left to the programs that a worker starts.

    Raises:
        SystemExit: something is wrong with it; what, is on stderr.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    in_environment = os.environ.pop(TOKEN_VARIABLE, "")
    try:
        return Options(
            url=_site(given.url, allow_http=given.allow_http),
            token=_token(given.token_file, in_environment),
            verify=_authority(given.ca_file),
            name=given.name or _host_name(),
            folder=given.folder.absolute(),
            images=given.images.absolute(),
            sandbox=given.sandbox,
            docker_runtime=given.docker_runtime,
            min_free_bytes=given.min_free,
            processes=given.processes,
            stop_seconds=given.stop_seconds,
            once=given.once,
            check=given.check,
        )
    except ValueError as wrong:
        parser.error(str(wrong))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gauntlet-worker", description=_DESCRIPTION, epilog=_EPILOG)
    site = parser.add_argument_group("the site")
    site.add_argument("--url", required=True, help="its address, such as https://gauntlet.example.org")
    site.add_argument("--token-file", type=Path, metavar="FILE", help="the queue's token; only you may read the file")
    site.add_argument("--ca-file", type=Path, metavar="FILE", help="trust only the authorities in this PEM file")
    site.add_argument("--allow-http", action="store_true", help="send the token unencrypted to a site that is not here")
    here = parser.add_argument_group("this machine")
    here.add_argument("--name", type=_name, help="how the queue's page calls this machine (default: its host name)")
    here.add_argument(
        "--folder", type=Path, default=Path("gauntlet-work"), help="what it writes (default: %(default)s)"
    )
    images = default_images_folder()
    here.add_argument("--images", type=Path, default=images, metavar="FOLDER", help="the images (default: %(default)s)")
    here.add_argument("--sandbox", choices=list(BACKENDS), help="the backend (default: the best there is)")
    here.add_argument("--docker-runtime", metavar="NAME", help="what Docker starts containers with")
    here.add_argument(
        "--min-free",
        type=_size,
        default=1 << 30,
        metavar="SIZE",
        help="room that the disk must have for a job to be taken, such as 500M (default: 1G)",
    )
    here.add_argument("--processes", type=_processes, default=1, metavar="N", help="jobs at once (default: 1)")
    how = parser.add_argument_group("how long")
    how.add_argument(
        "--stop-seconds",
        type=_seconds,
        default=10.0,
        metavar="S",
        help="for which a worker that is to end may still work; then it hands its job back (default: 10)",
    )
    how.add_argument("--once", action="store_true", help="work until the queue is empty, then end")
    how.add_argument("--check", action="store_true", help="show whether this machine could work, and end")
    return parser


def _site(url: str, *, allow_http: bool) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("https", "http") or not url.isascii() or not url.isprintable():
        raise ValueError("argument --url: that is no address; write it as https://gauntlet.example.org")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("argument --url: give the address without a user, a query or a fragment")
    if parts.scheme == "http" and not allow_http and not _is_loopback(host):
        raise ValueError(
            "argument --url: over http anybody on the way could read the token; "
            "write https://, or add --allow-http where the way is safe"
        )
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(file: Path | None, in_environment: str) -> SecretStr:
    if file is None and not in_environment:
        raise ValueError(f"no token: name its file with --token-file, or set {TOKEN_VARIABLE}")
    if file is not None and in_environment:
        raise ValueError(f"two tokens: --token-file and {TOKEN_VARIABLE}; leave one away")
    where = TOKEN_VARIABLE if file is None else str(file)
    token = (in_environment if file is None else _private(file)).strip()
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{where} holds no token: it is one line, as the queue's page shows it once")
    return SecretStr(token)


def _private(file: Path) -> str:
    """The content of a file that nobody but its owner may read."""
    try:
        with file.open(encoding="utf-8") as opened:
            if os.fstat(opened.fileno()).st_mode & 0o077:
                raise ValueError(f"argument --token-file: others may read {file}; run: chmod 600 {file}")
            return opened.read(4096)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"argument --token-file: {file} cannot be read ({reason})") from None


def _authority(file: Path | None) -> ssl.SSLContext | bool:
    if file is None:
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError) as error:
        reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise ValueError(f"argument --ca-file: {file} cannot be used ({reason})") from None


def _host_name() -> str:
    name = socket.gethostname()
    if not _NAME.fullmatch(name):
        raise ValueError("this machine's host name cannot be used; give it one with --name")
    return name


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("letters, digits, dots, dashes and underscores, at most 80")
    return text


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text.upper().removesuffix("B").removesuffix("I"))
    if found is None:
        raise argparse.ArgumentTypeError("a number of bytes, or one with K, M, G or T, such as 500M")
    return int(found[1]) << _UNITS[found[2]]


def _processes(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_PROCESSES):
        raise argparse.ArgumentTypeError(f"a number from 1 to {_MOST_PROCESSES}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise argparse.ArgumentTypeError("a number of seconds, at most a day")
    return seconds
