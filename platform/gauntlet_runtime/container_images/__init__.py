"""Container images that participants send: checked when they come, so that what runs is known to be runnable."""

from __future__ import annotations

from gauntlet_runtime.container_images.check import CheckedImage, ImageLimits, check_image
from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.container_images.packing import ImageDamaged, docker_id, docker_stream, unpack_image
from gauntlet_runtime.container_images.streams import is_image_archive

__all__ = [
    "CheckedImage",
    "ImageDamaged",
    "ImageLimits",
    "ImageRefused",
    "check_image",
    "docker_id",
    "docker_stream",
    "is_image_archive",
    "unpack_image",
]
