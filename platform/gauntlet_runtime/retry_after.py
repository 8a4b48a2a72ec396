"""When somebody who was asked too early or too often wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx


def retry_after(response: httpx.Response) -> float | None:
    """The header Retry-After in seconds: a number, or a date. None where there is none that can be read."""
    value = response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):  # the last of a year or a zone that no clock has
        return None
