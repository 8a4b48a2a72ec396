"""Image archives as `docker save` and builders write them, made in memory: good ones, and parts of bad ones."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import os
import platform
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
_PYTHON = ("usr/bin/python3.11", "usr/lib/python3.11", "usr/lib/os-release")
_LEFT_OUT = {"test", "tests", "__pycache__", "lib2to3", "pydoc_data", "idlelib", "tkinter", "ensurepip", "config-3.11"}
_LIBRARIES = ("libc.so.6", "libm.so.6", "libz.so.1", "libexpat.so.1", "ld-linux-*", "libssl.so.3", "libcrypto.so.3")


@dataclass
class Layer:
    """A layer's tar, entry by entry."""

    entries: list[tuple[tarfile.TarInfo, bytes]] = field(default_factory=list)

    def add(self, name: str, content: bytes = b"", **fields: Any) -> Layer:
        """Any entry, as wrong as it may be."""
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        for key, value in fields.items():
            setattr(entry, key, value)
        self.entries.append((entry, content))
        return self

    def file(self, name: str, content: str | bytes = b"", mode: int = 0o644) -> Layer:
        """A regular file."""
        return self.add(name, content.encode() if isinstance(content, str) else content, mode=mode)

    def folder(self, name: str, mode: int = 0o755) -> Layer:
        """A folder."""
        return self.add(name, type=tarfile.DIRTYPE, mode=mode)

    def link(self, name: str, target: str) -> Layer:
        """A symbolic link."""
        return self.add(name, type=tarfile.SYMTYPE, linkname=target)

    def hard_link(self, name: str, target: str) -> Layer:
        """A hard link."""
        return self.add(name, type=tarfile.LNKTYPE, linkname=target)

    @property
    def tar(self) -> bytes:
        """Its bytes."""
        return tar_of(self.entries)


def tar_of(entries: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar of entries."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry, content in entries:
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def files_tar(files: dict[str, bytes]) -> bytes:
    """A tar of files."""
    layer = Layer()
    for name, content in files.items():
        layer.file(name, content)
    return layer.tar


def sha(content: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def compressed(content: bytes, how: str) -> bytes:
    """Compressed by gzip, zstd, or (the empty string) not at all."""
    if how == "gzip":
        return gzip.compress(content, 1)
    return zstandard.compress(content, 1) if how == "zstd" else content


def config_of(layers: Sequence[bytes], **changes: Any) -> dict[str, Any]:
    """An image's config; ``changes`` replace what stands in it, those of ``config`` one by one."""
    inner = {"Cmd": ["/agent"], **changes.pop("config", {})}
    return {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": {key: value for key, value in inner.items() if value is not None},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha(layer)}" for layer in layers]},
        **changes,
    }


def saved(layers: Sequence[bytes], *, files: dict[str, bytes] | None = None, **changes: Any) -> bytes:
    """What `docker save` writes (before version 25); ``files`` replace those of the archive."""
    config = json.dumps(config_of(layers, **changes)).encode()
    names = [f"{sha(layer)}/layer.tar" for layer in layers]
    manifest = [{"Config": f"{sha(config)}.json", "RepoTags": ["agent:latest"], "Layers": names}]
    return files_tar(
        {
            **dict(zip(names, layers, strict=True)),
            f"{sha(config)}.json": config,
            "manifest.json": json.dumps(manifest).encode(),
            **(files or {}),
        }
    )


def oci(layers: Sequence[bytes], *, how: str = "gzip", nested: bool = True, **changes: Any) -> bytes:
    """An OCI layout as builders write it, with a note of the build's beside the image."""
    config = json.dumps(config_of(layers, **changes)).encode()
    packed = [compressed(layer, how) for layer in layers]
    manifest = {
        "schemaVersion": 2,
        "config": _descriptor(config),
        "layers": [_descriptor(one) for one in packed],
    }
    blobs = [config, *packed, json.dumps(manifest).encode()]
    listed = [_descriptor(blobs[-1])]
    if nested:
        note = b"{}"
        listed.append(_descriptor(note, annotations={"vnd.docker.reference.type": "attestation-manifest"}))
        blobs += [note, json.dumps({"schemaVersion": 2, "manifests": listed}).encode()]
        listed = [_descriptor(blobs[-1], mediaType="application/vnd.oci.image.index.v1+json")]
    return files_tar(
        {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2, "manifests": listed}).encode(),
            **{f"blobs/sha256/{sha(blob)}": blob for blob in blobs},
        }
    )


def _descriptor(content: bytes, **more: Any) -> dict[str, Any]:
    return {"digest": f"sha256:{sha(content)}", "size": len(content), **more}


@functools.cache
def python_layer() -> bytes:
    """A small system with nothing but a Python, from the installed base image: no shell, no tools."""
    base = Path(os.environ["GAUNTLET_IMAGES"]) / "gauntlet/base/current/rootfs"
    libraries = next((base / "usr/lib").glob("*-linux-gnu"))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in _PYTHON:
            archive.add(base / name, name, filter=_wanted)
        for pattern in _LIBRARIES:
            for path in sorted(libraries.glob(pattern)):
                archive.add(path.resolve(), path.relative_to(base).as_posix(), filter=_wanted)
        for link, target in (("lib", "usr/lib"), ("lib64", "usr/lib64"), ("bin", "usr/bin")):
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        archive.add(base / "usr/lib64", "usr/lib64")
    return out.getvalue()


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.uid = entry.gid = entry.mtime = 0
    return None if _LEFT_OUT & {part.split("-x86")[0] for part in entry.name.split("/")} else entry


def agent_image(program: str, *, more: Layer | None = None, **config: Any) -> bytes:
    """A saved image whose program is these lines of Python, with the tests' `door` module beside it."""
    door = Path(__file__).parents[1] / "security/zoo/agent/door/gateway.py"
    own = Layer().file("app/agent.py", f"from door import *\n{program}").file("app/door.py", door.read_bytes())
    layers = [python_layer(), own.tar, *([more.tar] if more else [])]
    given = {"Entrypoint": ["python3.11"], "Cmd": ["agent.py"], "WorkingDir": "/app", **config}
    return saved(layers, config=given)
