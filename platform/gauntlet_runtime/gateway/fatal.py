"""The end of a gateway that cannot go on: its supervisor sees the closed socket, and the job is run again elsewhere."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any, NoReturn

_log = logging.getLogger(__name__)


def give_up(reason: str, error: BaseException | None) -> NoReturn:
    """End this process at once: better no record than one with a hole, better a retry than a job without an end."""
    _log.critical("the gateway gives up: %s", reason, exc_info=error)
    os._exit(70)


def watch(task: asyncio.Task[Any]) -> None:
    """Done-callback of a task whose failure nobody else would hear of."""
    if not task.cancelled() and task.exception() is not None:
        give_up(f"its task {task.get_name()} failed", task.exception())
