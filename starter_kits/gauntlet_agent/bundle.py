"""An agent's folder: whether it can be submitted, and the zip that is uploaded.

The platform checks every bundle again with a checker of its own; this one exists so that a mistake is found before
the upload and before it costs an attempt.
"""

from __future__ import annotations

import difflib
import os
import shlex
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Literal

from gauntlet_agent.errors import GauntletError
from gauntlet_agent.ignore import IgnoreRules

MANIFEST: Final = "agent.yaml"
IGNORE_FILE: Final = ".gauntletignore"
REQUIRED: Final = ("name", "command")
OPTIONAL: Final = ("image", "description", "model", "paradigm")
_DATE: Final = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold: the same folder gives the same bytes
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Finding:
    """Something about a bundle that is wrong, or merely odd.

    Attributes:
        file: path inside the bundle
        line: 1-based, or None where it concerns the file as a whole
        message: a sentence that says what to do
        level: an ``error`` keeps the bundle from being submitted
    """

    file: str
    line: int | None
    message: str
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


@dataclass
class Manifest:
    """What ``agent.yaml`` says, as far as it could be read, and what there is to say about it."""

    name: str = ""
    command: list[str] = field(default_factory=list)
    image: str | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """The findings that keep the bundle from being submitted."""
        return [finding for finding in self.findings if finding.level == "error"]


def check_folder(folder: Path) -> Manifest:
    """Check an agent's folder as it would be packed."""
    path = folder / MANIFEST
    if not path.is_file():
        return Manifest(findings=[_missing(str(folder))])
    manifest = check_manifest(path.read_bytes())
    names = {name for name, _ in bundle_files(folder, findings=manifest.findings)}
    _check_contents(manifest, names)
    return manifest


def check_zip(path: Path) -> Manifest:
    """Check a zip that was packed elsewhere; ``agent.yaml`` may lie in the one folder at its top."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, prefix = _names_in(archive)
            if f"{prefix}{MANIFEST}" not in names:
                return Manifest(findings=[_missing(path.name)])
            manifest = check_manifest(archive.read(f"{prefix}{MANIFEST}"))
    except zipfile.BadZipFile:
        return Manifest(findings=[Finding(path.name, None, "This is not a zip archive, or it is damaged.")])
    _check_contents(manifest, {name.removeprefix(prefix) for name in names})
    return manifest


def holds_manifest(path: Path) -> bool:
    """Whether a zip holds ``agent.yaml`` where an agent has it; False also for what is no zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, prefix = _names_in(archive)
    except zipfile.BadZipFile:
        return False
    return f"{prefix}{MANIFEST}" in names


def _names_in(archive: zipfile.ZipFile) -> tuple[list[str], str]:
    """The names in a zip, and the one folder at its top with its slash where there is such."""
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    tops = {PurePosixPath(name.replace("\\", "/")).parts[0] for name in names}
    return names, f"{tops.pop()}/" if len(tops) == 1 and MANIFEST not in names else ""


def _missing(where: str) -> Finding:
    return Finding(
        MANIFEST, None, f"There is no {MANIFEST} in {where}. It holds at least two lines, such as "
        "`name: my agent` and `command: python agent.py`."
    )  # fmt: skip


def check_manifest(raw: bytes) -> Manifest:
    """Read ``agent.yaml`` and say, with the line, what is wrong or unknown in it."""
    import yaml

    manifest = Manifest()
    try:
        document = yaml.compose(raw.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        manifest.findings.append(Finding(MANIFEST, None, "The file is not UTF-8 text."))
        return manifest
    except RecursionError:
        manifest.findings.append(Finding(MANIFEST, 1, "The file is nested too deeply."))
        return manifest
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        message = f"This is not YAML: {error.problem or error.context}."
        manifest.findings.append(Finding(MANIFEST, mark.line + 1 if mark else None, message))
        return manifest
    except yaml.YAMLError as error:
        manifest.findings.append(Finding(MANIFEST, None, f"This is not YAML: {error}."))
        return manifest
    if not isinstance(document, yaml.MappingNode):
        manifest.findings.append(Finding(MANIFEST, 1, "Expected lines such as `name: my agent`."))
        return manifest
    _read_fields(manifest, document)
    return manifest


def _read_fields(manifest: Manifest, document: Any) -> None:
    seen: dict[str, int] = {}
    for key_node, value_node in document.value:
        key, line = str(key_node.value), key_node.start_mark.line + 1
        if key in seen:
            manifest.findings.append(Finding(MANIFEST, line, f"`{key}` is given twice (first in line {seen[key]})."))
            continue
        seen[key] = line
        if key not in (*REQUIRED, *OPTIONAL):
            manifest.findings.append(Finding(MANIFEST, line, _unknown_key(key), "warning"))
            continue
        value = _plain(value_node)
        if key == "command":
            _read_command(manifest, value, line=value_node.start_mark.line + 1)
        elif not isinstance(value, str) or not value.strip():
            manifest.findings.append(Finding(MANIFEST, line, f"`{key}` must be text that is not empty."))
        elif key == "name":
            manifest.name = value.strip()
        elif key == "image":
            manifest.image = value.strip()
    for key in REQUIRED:
        if key not in seen:
            manifest.findings.append(Finding(MANIFEST, 1, f"`{key}` is missing."))


def _unknown_key(key: str) -> str:
    allowed = (*REQUIRED, *OPTIONAL)
    close = difflib.get_close_matches(key, allowed, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"Known are {', '.join(allowed)}."
    return f"`{key}` is not known and is ignored. {hint}"


def _plain(node: Any) -> Any:
    """The value of a YAML node as text, a list of texts, or an empty mapping where it is neither.

    Lists are read one level deep, which is all that has a meaning: by an alias a list can hold itself.
    """
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_text(item) for item in node.value]
    return _text(node)


def _text(node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return None if node.tag.endswith(":null") else node.value
    return {}


def _read_command(manifest: Manifest, value: Any, *, line: int) -> None:
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            manifest.findings.append(Finding(MANIFEST, line, f"`command` cannot be split into words: {error}."))
            return
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
        manifest.findings.append(
            Finding(MANIFEST, line, "`command` must be a line such as `python agent.py`, or a list of words.")
        )
        return
    manifest.command = value
    if any(word in ("|", "&&", "||", ";", ">", "<", "2>&1") for word in value):
        message = "`command` is started without a shell; put this line into a script and start the script."
        manifest.findings.append(Finding(MANIFEST, line, message))


def _check_contents(manifest: Manifest, names: set[str]) -> None:
    script = next((word for word in manifest.command[1:2] if word.endswith(".py") and not word.startswith("/")), None)
    if script is not None and manifest.image is None and os.path.normpath(script) not in names:
        manifest.findings.append(Finding(MANIFEST, None, f"`command` starts {script}, which is not in the bundle."))
    if "requirements.txt" in names and not any(name.startswith("wheels/") for name in names):
        message = (
            "There is no network in the sandbox, so packages come from wheels/. Fill it with "
            "`pip download -r requirements.txt -d wheels --only-binary=:all:`."
        )
        manifest.findings.append(Finding("requirements.txt", None, message, "warning"))


def bundle_files(folder: Path, *, findings: list[Finding] | None = None) -> Iterator[tuple[str, Path]]:
    """Yield what goes into the bundle, as (path inside, file), sorted; links are findings and left out."""
    own = folder / IGNORE_FILE
    rules = IgnoreRules(own.read_text("utf-8-sig").splitlines() if own.is_file() else ())
    yield from _walk(folder, "", rules, findings if findings is not None else [])


def _walk(folder: Path, prefix: str, rules: IgnoreRules, findings: list[Finding]) -> Iterator[tuple[str, Path]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if rules.excludes(name, is_folder=is_folder):
            continue
        if is_folder:
            yield from _walk(Path(entry.path), f"{name}/", rules, findings)
        elif entry.is_file(follow_symlinks=False):
            yield name, Path(entry.path)
        else:
            message = f"Only plain files can be submitted. Replace this link by a copy, or name it in {IGNORE_FILE}."
            findings.append(Finding(name, None, message))


def pack(folder: Path, into: IO[bytes]) -> int:
    """Write the folder as a zip and return the number of files. The same files always give the same bytes.

    Raises:
        GauntletError: a file cannot be read.
    """
    count = 0
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in bundle_files(folder):
            try:
                _add(archive, name, path)
            except OSError as error:
                raise GauntletError(f"{name} cannot be read: {error.strerror or error}.") from error
            count += 1
    return count


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    status = path.stat()
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix, so that the mode below is read as one
    info.external_attr = (stat.S_IFREG | (0o755 if status.st_mode & stat.S_IXUSR else 0o644)) << 16
    info.file_size = status.st_size
    with path.open("rb") as source, archive.open(info, "w") as target:
        while chunk := source.read(_CHUNK):
            target.write(chunk)
