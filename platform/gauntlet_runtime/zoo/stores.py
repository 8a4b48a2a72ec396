"""The zoo's artifacts: made from texts, served from memory, and looked at again when a program has ended."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.jobs import Artifact


class Store:
    """What the platform's storage is for a worker, in memory."""

    def __init__(self, folder: Path) -> None:
        self._content: dict[str, bytes] = {}
        self._files: dict[str, dict[str, bytes]] = {}
        self.folders = ArtifactFolders(folder, fetch=self._fetch)

    def keep(self, files: Mapping[str, str]) -> Artifact:
        """A folder of text files as an artifact; equal folders are one."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in files.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        artifact = self.keep_bytes(buffer.getvalue())
        self._files[artifact.digest] = {name: text.encode() for name, text in files.items()}
        return artifact

    def keep_bytes(self, content: bytes) -> Artifact:
        """A zip as it is."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._content[digest] = content
        return Artifact(digest=digest, size=len(content))

    def _fetch(self, artifact: Artifact, into: Path) -> None:
        into.write_bytes(self._content[artifact.digest])

    def changed(self, artifact: Artifact) -> list[str]:
        """Files of the artifact's folder on this host that are no longer what they were, or are new."""
        folder, files = self.folders.folder(artifact), self._files[artifact.digest]
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
        touched = [name for name, path in found.items() if path.is_symlink() or path.read_bytes() != files.get(name)]
        return sorted({*touched, *(files.keys() - found.keys())})
