"""`gauntlet submit`: check, pack, upload with progress."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gauntlet_agent.bundle import (
    MANIFEST,
    Finding,
    Manifest,
    bundle_files,
    check_folder,
    check_zip,
    holds_manifest,
    pack,
)
from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.images import archive_of, opened_archive
from gauntlet_agent.cli.once import submit_once
from gauntlet_agent.cli.output import clean, console, moment, size
from gauntlet_agent.cli.parts import PART_BYTES, sent_file, submit_in_parts
from gauntlet_agent.cli.platform_api import PlatformApi
from gauntlet_agent.errors import GauntletError


def may_be_agent(path: Path) -> bool:
    """Whether ``path`` describes an agent, or is nothing at all; anything else may be results."""
    if not path.exists():
        return True
    return (path / MANIFEST).is_file() if path.is_dir() else holds_manifest(path)


def check_fits(path: Path, phase: Mapping[str, Any], manifest: Manifest | None) -> None:
    """Check that ``path`` is what the phase takes: an agent, whose manifest was read, or results.

    Raises:
        CommandFailed: it takes the other kind, or there is nothing to score.
    """
    name = clean(phase.get("name", ""))
    if phase.get("takes") != "results":
        if manifest is None:
            checked(path)
        return
    if manifest is not None:
        message = f"{path} is an agent, and the phase {name} takes results: a zip of files that are scored as they are."
        raise CommandFailed(message, hints=(f"Leave out {MANIFEST} if these are your results.",), code=Exit.USAGE)
    if path.is_file() and not zipfile.is_zipfile(path):
        raise CommandFailed(f"{path} is no zip archive; put your result files into one, or name their folder.")
    if path.is_dir() and next(bundle_files(path), None) is None:
        raise CommandFailed(f"{path} holds no file to submit.")
    console(stderr=True).print(f"The phase {name} takes results: they are scored as they are, nothing is run.")


def checked(path: Path) -> Manifest:
    """Check the bundle at ``path``, a folder or a zip, and print what is odd about it.

    Raises:
        CommandFailed: it cannot be submitted; each finding names file and line.
    """
    if path.is_dir():
        manifest = check_folder(path)
    elif path.is_file():
        manifest = check_zip(path)
    else:
        raise CommandFailed(f"There is no folder or zip at {path}.", code=Exit.USAGE)
    for finding in manifest.findings:
        if finding.level == "warning":
            console(stderr=True).print(f"warning: {clean(finding)}")
    if manifest.errors:
        raise CommandFailed(f"{path} cannot be submitted yet.", hints=_lines(manifest.errors))
    return manifest


def _lines(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(clean(finding) for finding in findings)


def choose_phase(competition: Mapping[str, Any], wanted: int | None, *, open_only: bool = True) -> Mapping[str, Any]:
    """The phase with this index, or the one that is open.

    Raises:
        CommandFailed: there is none, or it is not clear which one is meant.
    """
    phases: list[Mapping[str, Any]] = list(competition.get("phases") or [])
    if wanted is not None:
        for phase in phases:
            if phase.get("index") == wanted:
                return phase
        known = ", ".join(f"{phase.get('index')} ({clean(phase.get('name', ''))})" for phase in phases) or "none"
        raise CommandFailed(f"There is no phase {wanted}. Phases: {known}.", code=Exit.USAGE)
    opened = [phase for phase in phases if phase.get("state") == "open"]
    if len(opened) == 1:
        return opened[0]
    if opened:
        names = ", ".join(f"{phase.get('index')} ({clean(phase.get('name', ''))})" for phase in opened)
        raise CommandFailed(f"Several phases are open: {names}. Choose one with --phase.", code=Exit.USAGE)
    if phases and not open_only:
        return phases[-1]
    starting = next((phase for phase in phases if phase.get("state") == "future"), None)
    when = f" {clean(starting.get('name', 'The next'))} starts at {moment(starting.get('start'))}." if starting else ""
    raise CommandFailed(f"No phase of this competition is open.{when}", code=Exit.REFUSED)


def announce_attempts(phase: Mapping[str, Any], *, awaited: bool) -> None:
    """Say how many attempts are left before one is used.

    Args:
        awaited: an earlier run has sent something to this phase and got no answer: perhaps it used the last one.

    Raises:
        CommandFailed: none is.
    """
    limits = phase.get("limits") or {}
    today, total = limits.get("left_today"), limits.get("left_total")
    following = f" The next is allowed at {moment(limits['next_allowed_at'])}." if limits.get("next_allowed_at") else ""
    if total == 0 or today == 0:
        none = "You have no attempts left in this phase." if total == 0 else "You have no attempts left today."
        if not awaited:
            raise CommandFailed(f"{none}{following if total else ''}", code=Exit.REFUSED)
        console(stderr=True).print(f"{none} An earlier run got no answer; asking what became of it.")
        return
    parts = []
    if today is not None:
        parts.append(f"{today} of {limits.get('per_day', today)} left today")
    if total is not None:
        parts.append(f"{total} of {limits.get('total', total)} in all")
    if parts:
        console(stderr=True).print(f"Attempts: {', '.join(parts)} (this one included).")


@contextmanager
def packed(path: Path) -> Iterator[tuple[IO[bytes], str, int]]:
    """The zip to upload, as an open file with its name and size; a folder is packed into a temporary file.

    Raises:
        CommandFailed: a file cannot be read, or there is no room.
    """
    if path.is_file():
        with path.open("rb") as file:
            yield file, path.name, os.fstat(file.fileno()).st_size
        return
    with tempfile.TemporaryFile() as made:
        try:
            pack(path, made)
        except (GauntletError, OSError) as error:
            raise CommandFailed(f"{path} cannot be packed: {error}") from error
        length = made.seek(0, os.SEEK_END)
        made.seek(0)
        yield made, f"{path.resolve().name}.zip", length


def upload(
    api: PlatformApi, slug: str, phase: Mapping[str, Any], *, path: Path, name: str | None, resume: bool = True
) -> dict[str, Any]:
    """Pack and send a bundle, a large one in parts; return what the platform made of it.

    Args:
        resume: whether to go on with what an earlier run has sent of it.

    Raises:
        CommandFailed: it is too large, or the platform refused it.
    """
    with packed(path) as (bundle, file_name, length):
        most = (phase.get("limits") or {}).get("max_bundle_bytes")
        if most is not None and length > most:
            raise CommandFailed(f"The bundle is {size(length)}; this phase takes {size(most)} at most.")
        index = int(phase["index"])
        sent = sent_file(api, slug, index, file=bundle, file_name=file_name, length=length)
        send = submit_in_parts if length > PART_BYTES else submit_once
        return send(api, bundle, sent=sent, name=name, resume=resume)


def upload_image(
    api: PlatformApi,
    slug: str,
    phase: Mapping[str, Any],
    *,
    image: str | None,
    archive: Path | None,
    name: str | None,
    resume: bool = True,
) -> dict[str, Any]:
    """Send a container image in parts and submit it; return what the platform made of it.

    Args:
        image: its name in Docker, or
        archive: a file that holds one.
        resume: whether to go on with what an earlier run has sent of it.

    Raises:
        CommandFailed: there is no such image, it is too large, or the platform refused it.
    """
    if phase.get("takes") == "results":
        raise CommandFailed("This phase takes results, and nothing is run in it.", code=Exit.USAGE)
    source = opened_archive(archive) if archive is not None else archive_of(str(image))
    with source as (file, file_name, length):
        most = (phase.get("limits") or {}).get("max_image_bytes")
        if most is not None and length > most:
            raise CommandFailed(f"The image is {size(length)}; this platform takes {size(most)} at most.")
        sent = sent_file(api, slug, int(phase["index"]), file=file, file_name=file_name, length=length)
        return submit_in_parts(api, file, sent=sent, name=name, resume=resume)
