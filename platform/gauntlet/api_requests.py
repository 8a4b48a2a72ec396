"""What the API takes from a request: pages of bounded size, JSON of bounded depth, any Accept header for a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import JSONParser


class Pages(LimitOffsetPagination):
    """``?limit=`` and ``?offset=``; nobody gets more at once than this."""

    max_limit = 1000


class Json(JSONParser):
    """JSON, and a refusal also for what is nested too deeply to be read."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """The body's value.

        Raises:
            ParseError
        """
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error


class AnyAccept(DefaultContentNegotiation):
    """For a view that sends a file of one type: a client that asks for that type, or for any other, gets it."""

    # The framework knows the types of its renderers only, and would answer 406 to a client that asks for a zip.
    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        """The renderer of refusals."""
        return renderers[0], renderers[0].media_type
