"""The check of a submitted container image: what was found goes into the submission, what is run into the storage."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from django.conf import settings

from gauntlet.competitions.bundle.findings import Findings, Place
from gauntlet.storage.models import Artifact, Form
from gauntlet.storage.services import store
from gauntlet.submissions.models import ContainerImage

HEAD_BYTES: Final = 512


def is_image(head: bytes) -> bool:
    """Whether a file that begins so is a container image's archive, whatever its name."""
    from gauntlet_runtime.container_images import is_image_archive

    return is_image_archive(head[:HEAD_BYTES])


def read_image(
    archive: BinaryIO, work: Path, *, file_name: str, findings: Findings, unwanted: threading.Event
) -> tuple[dict[str, Any], Artifact] | None:
    """The agent that an image is, with what is to be run; None, with findings, where it is refused.

    An image that is stored already is not stored again. It is read whole all the same: whoever knows no more of
    somebody else's image than its digest does not get to run it.

    Args:
        archive: as it was received; read from where it stands.
        work: a folder with room for the image.
        file_name: under which it was sent, for the findings.
        findings: gets what is wrong, and what the participant should know.
        unwanted: set when the submission was cancelled, or taken from this checker.

    Raises:
        LeaseLost: ``unwanted`` was set.
    """
    from gauntlet_runtime.container_images import ImageLimits, ImageRefused, check_image

    limits = ImageLimits(unpacked_bytes=settings.MAX_IMAGE_UNPACKED_BYTES, entries=settings.MAX_IMAGE_ENTRIES)
    made = work / "image"
    try:
        image = check_image(archive, made, work=work, limits=limits, unwanted=unwanted)
    except ImageRefused as refusal:
        findings.error(Place(refusal.file or file_name), refusal.message)
        return None
    for note in image.notes:
        findings.warning(Place(file_name), note)
    container = {
        "id": image.id,
        "size": image.size,
        "layers": image.layers,
        "entries": image.entries,
        "architecture": image.architecture,
        "user": image.user,
        "working_directory": image.working_directory,
        "environment": image.environment,
    }
    agent = {"name": _name_of(file_name), "command": image.command, "container": container}
    return agent, _stored(image.id, made)


def _stored(identity: str, made: Path) -> Artifact:
    """What is run of an image, stored where it is not. What an earlier release wrote of it otherwise is not reused."""
    known = ContainerImage.objects.select_related("archive").filter(pk=identity).first()
    if known is not None and known.archive_id == _digest(made):
        return known.archive
    # Of two checkers at once both write the same bytes, which are one artifact.
    archive = store(made, form=Form.FILE)
    ContainerImage.objects.update_or_create(pk=identity, defaults={"archive": archive})
    return archive


def _digest(made: Path) -> str:
    with made.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _name_of(file_name: str) -> str:
    name = PurePosixPath(file_name).name
    for ending in (".gz", ".zst", ".tgz", ".tar"):
        name = name.removesuffix(ending)
    return name[:200] or "image"
