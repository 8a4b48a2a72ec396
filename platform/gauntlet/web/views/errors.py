"""Error pages that say what to do."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Final

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token

from gauntlet.away import AGAIN_SECONDS, PlatformAway, is_away
from gauntlet.readable_requests import UnreadableRequest

_WORDS: Final = {
    400: ("The request could not be read", "Go back, reload the page and try again."),
    401: ("Log in first", "This page belongs to an account."),
    403: ("You may not do this", "If you think you should, ask the organizer of the competition."),
    404: (
        "There is nothing here",
        "The address may be mistyped, or the page is not yours to see. What is public can be reached from the list of "
        "competitions.",
    ),
    409: ("That is not possible now", "Reload the page: something has changed since you opened it."),
    413: (
        "The file is too large",
        "It is larger than this site takes, and nothing of it was stored. Leave out what the agent does not need, "
        "such as data sets and model weights, and submit again.",
    ),
    422: ("That could not be accepted", "Correct it and try again."),
    429: ("Too many requests", "Wait a little and try again."),
}
_AWAY: Final = "The platform's database or its storage cannot be reached at the moment. Try again in a few seconds."
_BROKEN: Final = (
    "Something broke on the platform's side, and was logged. Look whether what you sent was stored before you send it "
    "again."
)


@requires_csrf_token
def error_page(
    request: HttpRequest, *, status: int, heading: str = "", message: str = "", retry_at: datetime | None = None
) -> HttpResponse:
    """A page with the status, what happened and the next step."""
    usual, advice = _WORDS.get(status, ("That did not work", "Go back and try again."))
    context = {"status": status, "heading": heading or usual, "message": message or advice, "retry_at": retry_at}
    return render(request, "error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, or 413 where a field was larger than a form's fields may be together."""
    if isinstance(exception, RequestDataTooBig):
        return error_page(
            request, status=413, message="What you typed or pasted is too long. Send it as a file instead."
        )
    return error_page(request, status=400, message=str(exception) if isinstance(exception, UnreadableRequest) else "")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403"""
    return error_page(request, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404"""
    return error_page(request, status=404)


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 of a form without its token: most often a page that was open for too long, or cookies that are off."""
    message = "Nothing was changed. Go back, reload the page and send the form again; cookies must be allowed."
    return error_page(request, status=403, heading="This form is no longer valid", message=message)


def server_error(request: HttpRequest) -> HttpResponse:
    """503 where the database or the storage is away, else 500; the API in its shape. Neither needs anything to work."""
    away = is_away(sys.exc_info()[1])
    status = PlatformAway.status if away else 500
    answer: HttpResponse
    if request.path.startswith("/api/"):
        told: dict[str, object] = {"code": "platform_fault", "message": _BROKEN}
        if away:
            told = {"code": PlatformAway.code, "message": _AWAY, "retry_after": round(AGAIN_SECONDS)}
        answer = JsonResponse(told, status=status)
    else:
        answer = HttpResponse(render_to_string(f"{status}.html", {"reads": request.method in ("GET", "HEAD")}))
        answer.status_code = status
    if away:
        answer["Retry-After"] = str(round(AGAIN_SECONDS))
    answer["Cache-Control"] = "no-store"
    return answer
