"""Middleware that refuses addresses with a NUL in them: no text here holds one, and the database takes none."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse

_SENTENCE = "The address holds a character that no text here can have (NUL)."


class ReadableAddresses:
    """Answers 400, as a page or as the API does, before any view looks for what cannot be there."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse, or go on."""
        values = (value for values in request.GET.lists() for value in values[1])
        if "\0" not in request.path and not any("\0" in value for value in values):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"code": "invalid", "message": _SENTENCE}, status=400)
        raise BadRequest(_SENTENCE)
