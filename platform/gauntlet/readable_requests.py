"""Requests that hold what cannot be read, or what no text here can have: refused before anything stumbles over them.

Django and its form parser take a header's parameters as they come, and a database takes no NUL: each of these would be
an error of the server's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse

from gauntlet.body_limit import Application, Receive, Scope, Send, refuse

_ADDRESS: Final = "The address holds a character that no text here can have (NUL)."
_FORM: Final = "A field of the form holds a character that no text here can have (NUL). Remove it and send it again."
_EXTENDED: Final = re.compile(rb";[^=;]*\*")  # a parameter's name as in RFC 2231, which neither header has
_CHARSET: Final = re.compile(rb";\s*charset\s*=\s*\"?([^\s\";]*)", re.IGNORECASE)
_CHARSETS: Final = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin-1", b"windows-1252"})


class UnreadableRequest(BadRequest):
    """The refusal inside Django; its text is a sentence for the sender."""


def refuse_unreadable_heads(application: Application) -> Application:
    """Answer 400 to parameters of ``Content-Type`` and ``Accept`` that cannot be read, 415 to a charset of no text."""

    async def readable(scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope["headers"] if scope["type"] == "http" else ():
            if name in (b"content-type", b"accept") and _EXTENDED.search(value):
                said = f"The header {name.decode().title()} has a parameter that cannot be read."
                return await refuse(scope, send, status=400, code="invalid", message=said)
            if name == b"content-type" and not _CHARSETS.issuperset(map(bytes.lower, _CHARSET.findall(value))):
                said = "The body is in a charset that is not taken. Send it as UTF-8."
                return await refuse(scope, send, status=415, code="unsupported_media_type", message=said)
        return await application(scope, receive, send)

    return readable


class ReadableAddresses:
    """Answers 400, as a page or as the API does, to a NUL in an address; leaves out cookies with one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse, or go on."""
        request.COOKIES = {name: value for name, value in request.COOKIES.items() if "\0" not in value}
        if "\0" not in request.path and not _holds_nul(request.GET.lists()):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"code": "invalid", "message": _ADDRESS}, status=400)
        raise UnreadableRequest(_ADDRESS)


class ReadableForms:
    """Answers 400 to a NUL in a page's form. It stands behind the check against forgery, which reads the form first.

    The API's views look for themselves.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Go on."""
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        """Refuse, or go on."""
        if request.method == "POST" and not request.path.startswith("/api/") and _holds_nul(request.POST.lists()):
            raise UnreadableRequest(_FORM)


def _holds_nul(fields: Iterable[tuple[str, list[Any]]]) -> bool:
    return any("\0" in value for _, values in fields for value in values)
