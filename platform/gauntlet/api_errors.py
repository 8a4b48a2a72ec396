"""What the API answers when it refuses: one JSON shape for every error, and the base class of the apps' own errors.

The shape is ``{code, message, errors?, retry_after?}``: a code for programs, a sentence for people, findings where
there are several, seconds where waiting helps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404, UnreadablePostError

from gauntlet.body_limit import BodyTooLarge
from gauntlet_scoring.failures import Owner

if TYPE_CHECKING:  # else where a request is answered: workers raise these errors too, and need no API framework
    from rest_framework.exceptions import APIException
    from rest_framework.response import Response


class DomainError(Exception):
    """A refusal that its reader can act on. Every app's ``errors.py`` derives its classes from it.

    ``code`` and ``status`` are part of the API. The message is a sentence for the reader and says what to do next; it
    never quotes what a program printed.
    """

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400
    owner: ClassVar[Owner] = Owner.PARTICIPANT

    def __init__(
        self,
        message: str,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.errors = [dict(error) for error in errors]
        self.retry_after = retry_after


def answer(
    code: str,
    message: str,
    *,
    status: int,
    errors: Sequence[Mapping[str, Any]] = (),
    retry_after: float | None = None,
) -> Response:
    """The one shape of an error."""
    from rest_framework.response import Response

    body: dict[str, Any] = {"code": code, "message": message}
    headers: dict[str, str] = {}
    if errors:
        body["errors"] = list(errors)
    if retry_after is not None:
        body["retry_after"] = ceil(retry_after)
        headers["Retry-After"] = str(ceil(retry_after))
    return Response(_writable(body), status=status, headers=headers)


def _writable(value: Any) -> Any:
    """The same where it can be written as UTF-8: what is quoted may hold halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_writable(key): _writable(entry) for key, entry in value.items()}
    return [_writable(entry) for entry in value] if isinstance(value, list) else value


_CODES = {
    400: "invalid",
    401: "not_signed_in",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    415: "unsupported_media_type",
    429: "too_many_requests",
}


def _flatten(detail: Any, field: str = "") -> list[dict[str, Any]]:
    """The framework's nested details of a validation as a flat list with a field name each."""
    if isinstance(detail, Mapping):
        return [
            entry
            for key, value in detail.items()
            for entry in _flatten(value, field if key == "non_field_errors" else f"{field}.{key}".lstrip("."))
        ]
    if isinstance(detail, list | tuple):
        return [entry for value in detail for entry in _flatten(value, field)]
    return [{"field": field, "message": str(detail)}]


def _of_framework(error: APIException) -> Response:
    from rest_framework.exceptions import ValidationError

    if isinstance(error, ValidationError):
        errors = _flatten(error.detail)
        message = " ".join(f"{e['field']}: {e['message']}" if e["field"] else str(e["message"]) for e in errors)
        return answer("invalid", message, status=400, errors=errors)
    wait = getattr(error, "wait", None)
    response = answer(
        _CODES.get(error.status_code, "refused"),
        "Too many requests. Wait and try again." if error.status_code == 429 else str(error.detail),
        status=error.status_code,
        retry_after=wait,
    )
    challenge = getattr(error, "auth_header", None)
    if challenge:
        response["WWW-Authenticate"] = challenge
    return response


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Django REST framework's exception handler; None (an error page, and a log entry) for what nobody foresaw."""
    from rest_framework.exceptions import APIException

    del context
    response: Response | None = None
    if isinstance(error, DomainError):
        response = answer(
            error.code, error.message, status=error.status, errors=error.errors, retry_after=error.retry_after
        )
    elif isinstance(error, APIException):
        response = _of_framework(error)
    elif isinstance(error, Http404):
        response = answer("not_found", "There is nothing at this address.", status=404)
    elif isinstance(error, PermissionDenied):
        response = answer("forbidden", "You may not do this.", status=403)
    elif isinstance(error, RequestDataTooBig):
        sentence = str(error) if isinstance(error, BodyTooLarge) else "A field of the request is too large; shorten it."
        response = answer("too_large", sentence, status=413)
    elif isinstance(error, TooManyFieldsSent | TooManyFilesSent):
        response = answer("invalid", "The request has too many fields or files.", status=400)
    elif isinstance(error, UnreadablePostError | SuspiciousOperation | BadRequest):
        response = answer("invalid", "The request could not be read; send it again.", status=400)
    if response is not None:
        # Here, since the framework's views import permissions, and those the errors that are defined above.
        from rest_framework.views import set_rollback

        set_rollback()
    return response
