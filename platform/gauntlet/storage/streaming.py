"""Sending artifacts to browsers and commands, whatever their size, in constant memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact

_CHUNK: Final = 1 << 18


def download(artifact: Artifact, *, name: str, content_type: str = "application/zip") -> StreamingHttpResponse:
    """A response that sends an artifact as a file to be saved under ``name``.

    Django's own FileResponse would be read into the memory as a whole by its ASGI handler, since it iterates
    synchronously.
    """
    return send(open_artifact(artifact), size=artifact.size, name=name, content_type=content_type)


def send(file: BinaryIO, *, size: int, name: str, content_type: str = "application/zip") -> StreamingHttpResponse:
    """A response that sends what is left of an open file, ``size`` bytes, to be saved under ``name``; it closes it."""
    response = StreamingHttpResponse(_chunks(file), content_type=content_type)
    response["Content-Length"] = str(size)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return response


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
