"""Whether the worker that this process belongs to is to end, and by when."""

from __future__ import annotations

from django.conf import settings

from gauntlet_runtime import stopping
from gauntlet_runtime.stopping import ask_to_stop

__all__ = ["ask_to_stop", "stop_by"]


def stop_by() -> float | None:
    """None, or the time (monotonic) by which a child is to have no job any more."""
    return stopping.stop_by(settings.STOP_SECONDS)
