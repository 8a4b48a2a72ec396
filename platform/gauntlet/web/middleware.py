"""Refusals as pages, and bodies that are too large turned away before anything reads them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from gauntlet.api_errors import DomainError
from gauntlet.web.views.errors import error_page

_FORM_BYTES = 1 << 20  # what a form has beside its file


class PageErrors:
    """Turns an app's refusal into a page that says what to do. The API answers for itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse a body that no form of this site can have; else go on."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        by_api = request.path.startswith("/api/")
        if not by_api and length.isdigit() and int(length) > settings.MAX_BUNDLE_BYTES + _FORM_BYTES:
            return error_page(request, status=413)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """A page for a refusal; None for what nobody foresaw."""
        if not isinstance(error, DomainError):
            return None
        retry_at = timezone.now() + timedelta(seconds=error.retry_after) if error.retry_after is not None else None
        return error_page(request, status=error.status, message=error.message, retry_at=retry_at)
