"""The check of submitted results: any zip that unpacks safely; what is in it only the scoring program can judge."""

from __future__ import annotations

from pathlib import Path

from gauntlet.competitions.bundle.findings import Findings, Place
from gauntlet.storage.archives import unpack
from gauntlet.storage.errors import ArchiveRefused
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import as_zip, open_artifact, store_folder


def read_results(upload: Artifact, into: Path, *, file_name: str, findings: Findings) -> Artifact | None:
    """What the scoring programs will find in /app/input/res; None, with findings, where it is refused.

    A folder around the files stays where it is: the program expects what the organizer's page says.

    Args:
        upload: as it was received.
        into: a new folder.
        file_name: under which it was sent, for the findings.
        findings: gets everything that is wrong.
    """
    try:
        with open_artifact(upload) as archive:
            unpacked = unpack(archive, into, keep_top_folder=True)
    except ArchiveRefused as refusal:
        for fault in refusal.faults:
            findings.error(Place(fault.file or file_name), fault.message)
        return None
    if not unpacked.files:
        findings.error(Place(file_name), "holds no file; put your results into it.")
        return None
    return as_zip(upload) if unpacked.as_sent else store_folder(into)
