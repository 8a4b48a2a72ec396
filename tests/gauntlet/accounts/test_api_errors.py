"""Every refusal of the API has one shape."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFilesSent,
)
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions

from gauntlet.api_errors import DomainError, handle


class _Sad(DomainError):
    """A refusal."""

    code = "sad"
    status = 418


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (_Sad("Be glad."), 418, "sad"),
        (exceptions.NotAuthenticated(), 401, "not_signed_in"),
        (exceptions.PermissionDenied(), 403, "forbidden"),
        (exceptions.NotFound(), 404, "not_found"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.UnsupportedMediaType("x/y"), 415, "unsupported_media_type"),
        (exceptions.ParseError(), 400, "invalid"),
        (exceptions.Throttled(wait=3.2), 429, "too_many_requests"),
        (exceptions.ValidationError({"a": ["bad"]}), 400, "invalid"),
        (Http404("secret detail"), 404, "not_found"),
        (PermissionDenied("secret detail"), 403, "forbidden"),
        (RequestDataTooBig("secret detail"), 413, "too_large"),
        (TooManyFilesSent("secret detail"), 400, "invalid"),
        (SuspiciousOperation("secret detail"), 400, "invalid"),
        (BadRequest("secret detail"), 400, "invalid"),
        (UnreadablePostError("secret detail"), 400, "invalid"),
    ],
)
def test_the_shape(error: Exception, status: int, code: str) -> None:
    response = handle(error, {})
    assert response is not None
    assert (response.status_code, response.data["code"]) == (status, code)
    assert response.data["message"]
    assert "secret" not in response.data["message"]
    assert set(response.data) <= {"code", "message", "errors", "retry_after"}


def test_waiting_is_told_in_whole_seconds_in_body_and_header() -> None:
    response = handle(_Sad("Later.", retry_after=3.2), {})
    assert response is not None
    assert (response.data["retry_after"], response["Retry-After"]) == (4, "4")
    throttled = handle(exceptions.Throttled(wait=3.2), {})
    assert throttled is not None
    assert throttled["Retry-After"] == "4"


@pytest.mark.parametrize(
    ("detail", "errors"),
    [
        ({"a": ["bad", "worse"]}, [("a", "bad"), ("a", "worse")]),
        ({"a": {"b": ["bad"]}}, [("a.b", "bad")]),
        ({"non_field_errors": ["bad"]}, [("", "bad")]),
        (["bad"], [("", "bad")]),
    ],
)
def test_a_validation_names_its_fields(detail: Any, errors: list[tuple[str, str]]) -> None:
    response = handle(exceptions.ValidationError(detail), {})
    assert response is not None
    assert [(error["field"], error["message"]) for error in response.data["errors"]] == errors


def test_what_nobody_foresaw_is_not_hidden() -> None:
    assert handle(RuntimeError("bug"), {}) is None
