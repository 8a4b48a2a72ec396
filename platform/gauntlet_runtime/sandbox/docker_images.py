"""Participants' images in Docker: loaded by digest, and taken out again when there is no room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound

from gauntlet_runtime.container_images import ImageDamaged, docker_id, docker_stream
from gauntlet_runtime.sandbox.docker_container import ENGINE_ERRORS
from gauntlet_runtime.sandbox.image_shelf import SUBMITTED, ImageShelf, default_shelf_bytes, submitted_name
from gauntlet_runtime.sandbox.interface import SandboxError

_TAG = "current"  # as for all our images


class DockerImages:
    """Images that the workers of a host, who share ``folder``, have loaded."""

    def __init__(self, client: docker.DockerClient, folder: Path, *, most_bytes: int | None = None) -> None:
        self._client = client
        self._shelf = ImageShelf(
            folder,
            is_there=self._is_there,
            drop=self._drop,
            most_bytes=default_shelf_bytes() if most_bytes is None else most_bytes,
        )

    @contextmanager
    def borrowed(self, archive: Path, *, digest: str) -> Iterator[str]:
        """The name under which the image of this archive is in Docker, for the length of the block.

        Raises:
            SandboxError: it cannot be loaded.
        """
        name = submitted_name(digest)
        with self._shelf.borrowed(name.rpartition("/")[2], lambda: self._load(archive, name)):
            yield name

    def _is_there(self, entry: str) -> bool:
        try:
            self._client.images.get(f"{SUBMITTED}/{entry}:{_TAG}")
        except ImageNotFound:
            return False
        except ENGINE_ERRORS as error:
            raise SandboxError(f"Docker went away: {error}") from error
        return True

    def _load(self, archive: Path, name: str) -> int:
        try:
            identity = docker_id(archive)
            load: Callable[[Iterator[bytes]], Iterator[dict[str, Any]]] = self._client.api.load_image
            for step in load(docker_stream(archive)):
                if "error" in step:
                    raise SandboxError(f"Docker does not load the image of a submission: {step['error']}")
            image = self._client.images.get(identity)
            image.tag(name, tag=_TAG)
            return int(image.attrs["Size"])
        except (ImageDamaged, *ENGINE_ERRORS) as error:
            raise SandboxError(f"Docker cannot load the image of a submission: {error}") from error

    def _drop(self, entry: str) -> None:
        with suppress(ImageNotFound, APIError):  # a container that just ends may still have it: it goes the next time
            self._client.images.remove(f"{SUBMITTED}/{entry}:{_TAG}")
