"""An image's config (OCI image specification, `config.md`): what of it a sandbox needs, checked."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gauntlet_runtime.container_images.errors import ImageRefused, shown
from gauntlet_runtime.jobs import MOST_COMMAND_BYTES, MOST_WORDS

ARCHITECTURES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # Docker's
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_VARIABLES: Final = 1000
_MOST_VARIABLE_BYTES: Final = 128 << 10
_ROOT: Final = frozenset({"", "0", "root"})


@dataclass(frozen=True, kw_only=True)
class Config:
    """What an image says of itself."""

    architecture: str
    command: list[str]
    environment: dict[str, str]
    working_directory: str
    user: str  # as the image has it; nothing here runs as that
    diff_ids: list[str]  # "sha256:…" of each layer, uncompressed
    notes: list[str] = field(default_factory=list)  # sentences for the participant


def this_architecture() -> str:
    """This machine's, in the words of images."""
    machine = platform.machine()
    return ARCHITECTURES.get(machine, machine)


def read_config(content: Mapping[str, Any], *, file: str) -> Config:
    """Read and check a config.

    Raises:
        ImageRefused: it is for another machine, starts nothing, or is none.
    """
    inner = content.get("config") or {}
    if not isinstance(inner, dict):
        raise ImageRefused("has a `config` that is no mapping; build the image again.", file=file)
    _check_platform(content, file=file)
    notes: list[str] = []
    return Config(
        architecture=this_architecture(),
        command=_command(inner, file=file),
        environment=_environment(inner.get("Env"), file=file, notes=notes),
        working_directory=_working_directory(inner.get("WorkingDir"), file=file),
        user=_user(inner.get("User"), file=file, notes=notes),
        diff_ids=_diff_ids(content.get("rootfs"), file=file),
        notes=notes,
    )


def _check_platform(content: Mapping[str, Any], *, file: str) -> None:
    system, architecture = content.get("os"), content.get("architecture")
    if system != "linux":
        raise ImageRefused(f"says that the image is for {_word(system)}; build it for linux.", file=file)
    here = this_architecture()
    if architecture != here:
        message = f"says that the image is for {_word(architecture)}; this platform's workers are {here}. "
        raise ImageRefused(f"{message}Build it with: docker build --platform linux/{here}", file=file)


def _word(value: Any) -> str:
    return shown(str(value)) if isinstance(value, str) and value else "nothing that it names"


def _command(inner: Mapping[str, Any], *, file: str) -> list[str]:
    words: list[str] = []
    for key in ("Entrypoint", "Cmd"):
        part = inner.get(key) or []
        if not isinstance(part, list) or not all(isinstance(word, str) for word in part):
            raise ImageRefused(f"has an {key} that is no list of words; build the image again.", file=file)
        words += part
    if not words or not words[0]:
        raise ImageRefused("has neither ENTRYPOINT nor CMD; say in the Dockerfile what starts the agent.", file=file)
    if any("\0" in word for word in words):
        raise ImageRefused("has a command with a NUL in it; build the image again.", file=file)
    if len(words) > MOST_WORDS or sum(len(word.encode()) for word in words) > MOST_COMMAND_BYTES:
        message = (
            f"has a command of more than {MOST_WORDS} words or {MOST_COMMAND_BYTES >> 10} KiB; put it into a script."
        )
        raise ImageRefused(message, file=file)
    return words


def _environment(listed: Any, *, file: str, notes: list[str]) -> dict[str, str]:
    if not isinstance(listed or [], list) or not all(isinstance(one, str) for one in listed or []):
        raise ImageRefused("has an Env that is no list of NAME=value; build the image again.", file=file)
    found = {"PATH": DEFAULT_PATH}
    for one in listed or []:
        name, _, value = one.partition("=")
        if _NAME.fullmatch(name) and "\0" not in value:
            found[name] = value
        else:
            notes.append(f"The environment variable '{shown(name)}' has no ordinary name, and is left out.")
    size = sum(len(name) + len(value.encode()) for name, value in found.items())
    if len(found) > _MOST_VARIABLES or size > _MOST_VARIABLE_BYTES:
        message = f"sets more than {_MOST_VARIABLES} environment variables or {_MOST_VARIABLE_BYTES >> 10} KiB of them."
        raise ImageRefused(f"{message} Put what is long into a file of the image.", file=file)
    return found


def _working_directory(value: Any, *, file: str) -> str:
    if value in (None, ""):
        return "/"
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value or ".." in value.split("/"):
        raise ImageRefused("has a WORKDIR that is no absolute path; build the image again.", file=file)
    return value


def _user(value: Any, *, file: str, notes: list[str]) -> str:
    user = value or ""
    if not isinstance(user, str):
        raise ImageRefused("has a USER that is no text; build the image again.", file=file)
    if user.partition(":")[0] in _ROOT:
        notes.append("The image's user is root. Here its program runs as an unprivileged user instead.")
    else:
        notes.append(f"The image's user is '{shown(user)}'. Here its program runs as another unprivileged user.")
    notes.append("Its files belong to root and can be read by all; only /tmp and /dev/shm can be written to.")
    return shown(user)


def _diff_ids(rootfs: Any, *, file: str) -> list[str]:
    listed = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, str) and _DIGEST.fullmatch(one) for one in listed):
        raise ImageRefused("lists no digests of its layers (rootfs.diff_ids); save the image again.", file=file)
    return listed
