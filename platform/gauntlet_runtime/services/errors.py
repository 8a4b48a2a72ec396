"""What can go wrong with the embedded services."""

from __future__ import annotations


class ServiceError(RuntimeError):
    """An embedded service cannot be had. The message says what to do, and quotes the server's log if there is one."""
