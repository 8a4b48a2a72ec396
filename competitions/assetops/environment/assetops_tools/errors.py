"""What a tool says when it cannot answer."""

from __future__ import annotations


class BadArgument(Exception):
    """The call cannot be answered as it was made; the message is one sentence for the caller."""


class StorageFailed(Exception):
    """The records cannot be read; the message is for the organizer."""
