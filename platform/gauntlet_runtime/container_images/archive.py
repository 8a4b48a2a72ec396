"""What `docker save` and an OCI layout hold: one image's config and its layers, found and their digests checked."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import pydantic_core

from gauntlet_runtime.container_images.errors import ImageRefused, shown
from gauntlet_runtime.container_images.streams import CHUNK, Budget, Window
from gauntlet_runtime.container_images.tars import entries, joined, parts_of

MANIFEST: Final = "manifest.json"  # of `docker save`
INDEX: Final = "index.json"  # of an OCI layout
_MOST_FILES: Final = 10_000  # in the outer archive, with its folders: a few for each layer
_MOST_JSON: Final = 4 << 20
_MOST_LAYERS: Final = 256
_MOST_HOPS: Final = 8
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_OTHER: Final = "is not what its name says: its digest is another; make the archive again."
_SAVE: Final = "make it with: docker save NAME:TAG -o FILE"
_INDEXES: Final = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)


@dataclass(frozen=True)
class Part:
    """A file of the archive: where its bytes are."""

    name: str
    start: int
    size: int


@dataclass(frozen=True, kw_only=True)
class FoundImage:
    """The one image of an archive."""

    id: str  # "sha256:…" of its config, as `docker images --no-trunc` shows it
    config: Mapping[str, Any]
    config_file: str
    layers: tuple[Part, ...]  # from the bottom up, each perhaps compressed


class Archive:
    """An uncompressed image archive; ``source`` must be seekable.

    Raises:
        ImageRefused: it is no tar, or holds names that nobody may use.
        LeaseLost: nobody waits any more; so do all functions that read it.
    """

    def __init__(self, source: BinaryIO, *, size: int, budget: Budget) -> None:
        self._source = source
        self._budget = budget
        self._digests: dict[Part, str] = {}
        self._files: dict[str, Part] = {}
        self._links: dict[str, str] = {}
        listed = entries(source, start=0, size=size, file="the archive", budget=budget)
        for count, entry in enumerate(listed, start=1):
            if count > _MOST_FILES:
                raise ImageRefused(f"The archive holds more than {_MOST_FILES:,} files; save one image only.")
            name = "/".join(parts_of(entry.name, file="The archive"))
            if name in self._files or name in self._links:
                raise ImageRefused("is in the archive twice; make the archive again.", file=name)
            if entry.issym():
                # `docker save` of old writes the second of two equal layers as a link to the first.
                self._links[name] = joined(posixpath.dirname(name), entry.linkname)
            elif entry.isreg() and not entry.issparse():
                self._files[name] = Part(name, entry.offset_data, entry.size)
            elif not entry.isdir():
                raise ImageRefused(f"is neither a file nor a folder; {_SAVE}", file=name)

    def image(self) -> FoundImage:
        """Find the image.

        Raises:
            ImageRefused: there is none, or more than one, or a digest is wrong.
        """
        if MANIFEST in self._files:
            return self._saved()
        if INDEX in self._files:
            return self._laid_out()
        if "json" in self._files or any(name.startswith(("etc/", "usr/", "bin/")) for name in self._files):
            raise ImageRefused(f"This is a file system, as `docker export` writes it, and no image; {_SAVE}")
        raise ImageRefused(
            f"The archive holds no {MANIFEST} (docker save) and no {INDEX} (OCI layout): it is no image; {_SAVE} - "
            "or, for an agent without an image, send a zip of its folder."
        )

    def open(self, part: Part) -> bytes:
        """The bytes of a small file.

        Raises:
            ImageRefused: it is larger than any such file.
        """
        if part.size > _MOST_JSON:
            raise ImageRefused(f"has {part.size:,} bytes; such a file has at most {_MOST_JSON:,}.", file=part.name)
        self._source.seek(part.start)
        return self._source.read(part.size)

    def digest_of(self, part: Part) -> str:
        """The SHA-256 (hexadecimal) of a file, which is read once, however often it is named."""
        if part not in self._digests:
            digest = hashlib.sha256()
            file = part_of(self._source, part)
            while chunk := file.read(CHUNK):
                self._budget.look()
                digest.update(chunk)
            self._digests[part] = digest.hexdigest()
        return self._digests[part]

    # docker save

    def _saved(self) -> FoundImage:
        images = self._json(self._files[MANIFEST], list)
        if len(images) != 1:
            raise ImageRefused(f"holds {len(images)} images; save one: docker save NAME:TAG -o FILE", file=MANIFEST)
        (image,) = images
        names = image.get("Layers") if isinstance(image, dict) else None
        if not isinstance(names, list) or not isinstance(image.get("Config"), str):
            raise ImageRefused(f"names no config and layers; {_SAVE}", file=MANIFEST)
        config = self._part(image["Config"], named_by=MANIFEST)
        digest = _digest(self.open(config))
        wanted = posixpath.basename(config.name).removesuffix(".json")
        if _HEX.fullmatch(wanted) and wanted != digest:
            raise ImageRefused(_OTHER, file=config.name)
        _check_count(names, file=MANIFEST)
        return FoundImage(
            id=f"sha256:{digest}",
            config=self._json(config, dict),
            config_file=config.name,
            layers=tuple(self._part(name, named_by=MANIFEST) for name in names),
        )

    # OCI layout

    def _laid_out(self) -> FoundImage:
        index = self._json(self._files[INDEX], dict)
        manifest = self._only_manifest(index, file=INDEX, depth=0)
        content = self._json(manifest, dict)
        descriptors = content.get("layers")
        if not isinstance(descriptors, list):
            raise ImageRefused("names no layers; export the image again.", file=manifest.name)
        _check_count(descriptors, file=manifest.name)
        config = self._blob(content.get("config"), named_by=manifest.name)
        return FoundImage(
            id=f"sha256:{_digest(self.open(config))}",
            config=self._json(config, dict),
            config_file=config.name,
            layers=tuple(self._blob(one, named_by=manifest.name) for one in descriptors),
        )

    def _only_manifest(self, index: Mapping[str, Any], *, file: str, depth: int) -> Part:
        listed = index.get("manifests")
        if not isinstance(listed, list) or depth > _MOST_HOPS:
            raise ImageRefused("lists no manifests; export the image again.", file=file)
        # One image may be listed under several names, and beside it what a build notes about itself.
        wanted = {str(one.get("digest")): one for one in listed if isinstance(one, dict) and not _is_attestation(one)}
        if len(wanted) != 1:
            message = f"holds {len(wanted)} images; export one, for one platform: docker save NAME:TAG -o FILE"
            raise ImageRefused(message, file=file)
        (descriptor,) = wanted.values()
        part = self._blob(descriptor, named_by=file)
        content = self._json(part, dict)
        kinds = [one.get("mediaType") for one in (descriptor, content)]
        if "manifests" in content or any(isinstance(kind, str) and kind in _INDEXES for kind in kinds):
            return self._only_manifest(content, file=part.name, depth=depth + 1)
        return part

    def _blob(self, descriptor: Any, *, named_by: str) -> Part:
        """The file of a descriptor, whose digest and size are what the descriptor says."""
        digest = descriptor.get("digest") if isinstance(descriptor, dict) else None
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise ImageRefused("names a blob without a SHA-256 digest; export the image again.", file=named_by)
        part = self._part(f"blobs/sha256/{digest.removeprefix('sha256:')}", named_by=named_by)
        if descriptor.get("size") not in (None, part.size) or f"sha256:{self.digest_of(part)}" != digest:
            raise ImageRefused(_OTHER, file=part.name)
        return part

    # Both

    def _part(self, name: Any, *, named_by: str) -> Part:
        if not isinstance(name, str):
            raise ImageRefused(f"names no file where it should; {_SAVE}", file=named_by)
        place = "/".join(parts_of(name, file=f"The archive's {named_by}"))
        for _ in range(_MOST_HOPS):
            if place not in self._links:
                break
            place = self._links[place]
        if place not in self._files:
            message = f"names {shown(name)}, which is not in the archive; make the archive again."
            raise ImageRefused(message, file=named_by)
        return self._files[place]

    def _json(self, part: Part, kind: type[Any]) -> Any:
        try:
            # Not the json module: it lets halves of surrogate pairs through, which no kernel and no database takes.
            value = pydantic_core.from_json(self.open(part).decode("utf-8-sig"))
        except ValueError as error:
            raise ImageRefused("is not JSON; make the archive again.", file=part.name) from error
        if not isinstance(value, kind):
            raise ImageRefused(f"is not what such a file holds; {_SAVE}", file=part.name)
        return value


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_count(layers: list[Any], *, file: str) -> None:
    if not layers:
        raise ImageRefused("names no layers: the image is empty.", file=file)
    if len(layers) > _MOST_LAYERS:
        most = f"at most {_MOST_LAYERS} are taken"
        raise ImageRefused(f"names {len(layers):,} layers; {most}; build the image in fewer steps.", file=file)


def _is_attestation(descriptor: Mapping[str, Any]) -> bool:
    annotations = descriptor.get("annotations")
    return isinstance(annotations, dict) and annotations.get("vnd.docker.reference.type") == "attestation-manifest"


def part_of(source: BinaryIO, part: Part) -> BinaryIO:
    """A part as a file of its own."""
    return cast(BinaryIO, Window(source, start=part.start, size=part.size))
