"""What workers of own queues send, taken in bounds: every one of them is a stranger's program."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, TypeVar, cast

from django.conf import settings
from django.http import HttpRequest
from pydantic import TypeAdapter, ValidationError

from gauntlet import plain_json
from gauntlet.evaluation.errors import MessageRefused, MessageTooLarge
from gauntlet.storage.services import CHUNK
from gauntlet.submissions.errors import NoRoom
from gauntlet.submissions.parts import room_or_refusal
from gauntlet_scoring.phrases import phrase

MESSAGE_BYTES: Final = 1 << 20
_MOST_ERRORS: Final = 20

T = TypeVar("T")


def read_message(request: HttpRequest, adapter: TypeAdapter[T], *, most: int = MESSAGE_BYTES) -> T:
    """The message in a request's body. Whatever is in it can be stored, but for its meaning.

    Raises:
        MessageTooLarge, MessageRefused
    """
    _check_length(request, most)
    body = request.read(most + 1)
    if len(body) > most:
        raise _too_large(most)
    try:
        message = adapter.validate_json(body)
        plain_json.read(body)
    except ValidationError as error:
        raise _refused(error) from None
    except plain_json.NotPlain as error:
        raise MessageRefused(f"{error}.", errors=[]) from None
    return message


@contextmanager
def received_file(request: HttpRequest, *, most: int, digest: str | None = None) -> Iterator[BinaryIO]:
    """A request's body in a nameless file, at its beginning.

    Raises:
        MessageTooLarge, NoRoom
        MessageRefused: its digest is another.
    """
    declared = _check_length(request, most)
    if shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free < settings.MIN_FREE_BYTES + 2 * declared:
        raise NoRoom.now()
    with room_or_refusal(), tempfile.NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as file:
        found, size = hashlib.sha256(), 0
        while chunk := request.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            found.update(chunk)
            file.write(chunk)
        if digest is not None and digest != f"sha256:{found.hexdigest()}":
            raise MessageRefused("What came is not what the address says: its digest is another. Send it again.")
        file.seek(0)
        yield cast(BinaryIO, file)


def _check_length(request: HttpRequest, most: int) -> int:
    """Refuse by the declared length, before a byte is read."""
    declared = request.headers.get("Content-Length", "")
    length = int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0
    if length > most:
        raise _too_large(most)
    return length


def _too_large(most: int) -> MessageTooLarge:
    return MessageTooLarge(f"The body is larger than the {most:,} bytes that are taken here.")


def _refused(error: ValidationError) -> MessageRefused:
    """In the API's shape: the field, and what is wrong with it; no value, which may be a secret."""
    found: list[dict[str, Any]] = [
        {"field": ".".join(str(part) for part in one["loc"]) or "the body", "message": f"{phrase(one)}."}
        for one in error.errors(include_url=False)[:_MOST_ERRORS]
    ]
    return MessageRefused(" ".join(f"{one['field']}: {one['message']}" for one in found), errors=found)
