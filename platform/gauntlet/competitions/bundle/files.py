"""The files of a bundle: every path that it names stays inside it, and exists."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from django.conf import settings

from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.competitions.bundle.findings import Findings, Place, suggestion
from gauntlet.storage.archives import unpack
from gauntlet.storage.errors import ArchiveRefused

MANIFEST: Final = "competition.yaml"
_LARGEST_TEXT: Final = 4 << 20
_DATASET: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class BundleFiles:
    """Resolves the paths of a bundle; what is wrong with one becomes a finding where it was written."""

    def __init__(self, root: Path, *, work: Path, findings: Findings) -> None:
        self.root = root.resolve()
        self.findings = findings
        self._work = work
        self._unpacked: dict[Path, Path | None] = {}

    def relative(self, path: Path) -> str:
        """How a finding names a file: by its path in the bundle."""
        for top in (self.root, self._work):
            if path.is_relative_to(top):
                return path.relative_to(top).as_posix()
        return path.name

    def has(self, text: str) -> bool:
        """Whether the bundle holds something at this path, without a finding."""
        return self._inside(text) is not None

    def file(self, value: Value) -> Path | None:
        """The file that a value names."""
        path = self._existing(value)
        if path is not None and not path.is_file():
            self.findings.error(value.place, f"'{value.scalar}' is a folder; name a file.")
            return None
        return path

    def text(self, value: Value) -> str:
        """The text of the file that a value names; an empty one is a finding."""
        path = self.file(value)
        if path is None:
            return ""
        place = Place(self.relative(path), 1)
        if path.stat().st_size > _LARGEST_TEXT:
            self.findings.error(place, f"is larger than {_LARGEST_TEXT:,} bytes.")
            return ""
        try:
            text = path.read_text("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            self.findings.error(place, "is not text in UTF-8; save it in this encoding.")
            return ""
        if not text.strip():
            self.findings.error(place, "is empty; write something into it.")
        if "\0" in text:
            self.findings.error(place, "holds NUL characters; save it as text.")
            return ""
        return text

    def folder(self, section: Section, key: str, *, required: bool = False) -> Path | None:
        """The folder that a key names; a zip stands for the folder in it."""
        value = section.needed(key) if required else section.get(key)
        return self.folder_of(value) if value else None

    def folder_of(self, value: Value) -> Path | None:
        """The folder that a value names; a zip stands for the folder in it."""
        path = self._existing(value)
        if path is None or path.is_dir():
            return path if path is None or self._links_stay(value, path) else None
        if not path.is_file():
            self.findings.error(value.place, f"'{value.scalar}' is a device or a pipe; name a folder.")
            return None
        if path not in self._unpacked:
            self._unpacked[path] = self._unpack(value, path)
        return self._unpacked[path]

    def _links_stay(self, value: Value, folder: Path) -> bool:
        for path in folder.rglob("*"):
            if path.is_symlink():
                self.findings.error(value.place, f"'{self.relative(path)}' is a link; put the file itself there.")
                return False
        return True

    def _unpack(self, value: Value, path: Path) -> Path | None:
        target = self._work / f"{len(self._unpacked)}-{path.stem}"
        try:
            with path.open("rb") as archive:
                unpack(archive, target)
        except ArchiveRefused as refusal:
            for fault in refusal.faults:
                inside = f": {fault.file}" if fault.file else ""
                self.findings.error(value.place, f"'{value.scalar}'{inside}: {fault.message}")
            return None
        return target

    def copy_of(self, folder: Path) -> Path:
        """A copy of a folder from outside of the bundle, to be changed; it is there as long as the bundle is open."""
        target = Path(tempfile.mkdtemp(prefix="copy-", dir=self._work)) / folder.name
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
        return target

    def _existing(self, value: Value) -> Path | None:
        text = value.text() or ""
        if not text:
            if value.scalar == "":
                self.findings.error(value.place, "must name a path in the bundle.")
            return None
        if _DATASET.fullmatch(text):
            message = "names a data set of another platform; put the files into the bundle and name their path."
            self.findings.error(value.place, message)
            return None
        path = self._inside(text)
        if path is None:
            hint = suggestion(PurePosixPath(text).as_posix(), self._names_near(text))
            self.findings.error(value.place, f"'{text[:200]}' is not in the bundle.{hint}")
        return path

    def _inside(self, text: str) -> Path | None:
        try:
            path = (self.root / text.replace("\\", "/")).resolve()
            return path if path.is_relative_to(self.root) and path.exists() else None
        except (OSError, ValueError):  # a name that no file system can have
            return None

    def _names_near(self, text: str) -> list[str]:
        """Paths in the folder where the named one should be."""
        parent = self._inside(PurePosixPath(text.replace("\\", "/")).parent.as_posix())
        folder = parent if parent is not None and parent.is_dir() else self.root
        return [path.relative_to(self.root).as_posix() for path in folder.iterdir()]


@contextmanager
def opened_bundle(path: Path, findings: Findings) -> Iterator[BundleFiles | None]:
    """The files of a bundle folder or zip while the context lasts; None, with findings, where it cannot be opened.

    A competition.yaml in the one folder at the top is found too.
    """
    with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR) as work_name:
        work = Path(work_name).resolve()
        root = path if path.is_dir() else _unpacked(path, work=work, findings=findings)
        yield BundleFiles(_root_of(root), work=work, findings=findings) if root else None


def _unpacked(path: Path, *, work: Path, findings: Findings) -> Path | None:
    root = work / "bundle"
    try:
        with path.open("rb") as archive:
            unpack(archive, root)
    except FileNotFoundError:
        findings.error(Place(path.name), "does not exist.")
    except ArchiveRefused as refusal:
        for fault in refusal.faults:
            findings.error(Place(fault.file or path.name), fault.message)
    else:
        return root
    shutil.rmtree(root, ignore_errors=True)
    return None


def _root_of(folder: Path) -> Path:
    if (folder / MANIFEST).is_file():
        return folder
    nested = [child for child in folder.iterdir() if child.is_dir() and not child.name.startswith(("__MACOSX", "."))]
    return nested[0] if len(nested) == 1 and (nested[0] / MANIFEST).is_file() else folder
