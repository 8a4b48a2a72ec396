"""Uploads on their way in: too large a one is refused by its declared length, before its bytes are read."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler

from gauntlet.body_limit import FORM_BYTES, BodyTooLarge, sentence
from gauntlet.submissions.errors import UploadTooLarge, UploadUnusable


def check_declared_length(length: str | None) -> int:
    """Refuse a request by its Content-Length, or return that.

    Raises:
        UploadUnusable: it declares none.
        UploadTooLarge: it is more than the installation takes.
    """
    if not length or not length.isascii() or not length.isdigit():
        raise UploadUnusable("The request does not say how long it is (Content-Length); send it with its length.")
    if int(length) > settings.MAX_BUNDLE_BYTES + FORM_BYTES:
        raise UploadTooLarge(sentence())
    return int(length)


class LimitedUploadHandler(TemporaryFileUploadHandler):
    """Writes every upload to a file, and none that is too large: whichever form or view it was sent to."""

    def handle_raw_input(
        self, input_data: Any, META: dict[str, Any], content_length: int, boundary: str, encoding: Any = None
    ) -> None:
        """Refuse before the first byte is read."""
        if content_length > settings.MAX_BUNDLE_BYTES + FORM_BYTES:
            raise BodyTooLarge(sentence())
