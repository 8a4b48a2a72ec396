"""The plain alternative of the web server's uploads: the same application with Django's in-memory upload handler."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import MemoryFileUploadHandler

from gauntlet.asgi import application

__all__ = ["InMemory", "application"]


class InMemory(MemoryFileUploadHandler):
    """Django's own, for files of any size."""

    def handle_raw_input(
        self, input_data: Any, META: dict[str, Any], content_length: int, boundary: str, encoding: Any = None
    ) -> None:
        """Take it into memory whatever its length."""
        self.activated = True


settings.FILE_UPLOAD_HANDLERS = ["plain_uploads.InMemory"]  # read anew for each request
