"""How the doorbell's messages travel: kombu's Redis transport, kept so that nothing that a broker holds stops anybody.

What lies in a broker may be of any age and from anybody: it kept its data over a restart, other software shares it, or
another version wrote it. A worker would end at a message that kombu or Celery cannot make sense of, at once or later,
and put it back for the next worker to end at.
"""

from __future__ import annotations

import base64
import uuid
from datetime import datetime
from queue import Empty
from typing import Any, Final, Literal

import structlog
from kombu.transport import TRANSPORT_ALIASES, redis
from pydantic import BaseModel, ValidationError

log = structlog.get_logger(__name__)

WORK_TASK: Final = "gauntlet.work"
SWEEP_TASK: Final = "gauntlet.sweep"
TIDY_TASK: Final = "gauntlet.tidy"
#: Rings that wait in one queue at most; the oldest are dropped. Each wakes one process, which works until nothing is
#: left, so more of them say nothing new. A queue that nobody serves would otherwise fill a broker of 64 MB in four
#: days, and then no worker of any queue could start.
MOST_WAITING: Final = 1000
#: Arguments, and what Celery would do after the task: none.
_BODY: Final = base64.b64encode(b"[[], {}, {}]").decode()
#: What is no fault of a message: there is none, or the broker is away, or there is no memory.
_NO_FAULTS: Final[tuple[type[Exception], ...]] = (
    *(Empty, MemoryError),
    *(*redis.Transport.connection_errors, *redis.Transport.channel_errors),
)


class _Headers(BaseModel):
    task: Literal["gauntlet.work", "gauntlet.sweep", "gauntlet.tidy"]
    expires: datetime | None = None


class _Heard(BaseModel):
    """All that is read of a message."""

    headers: _Headers


class Channel(redis.Channel):
    """Lets few messages wait, and drops what is none."""

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        with self.conn_or_acquire() as client:
            client.ltrim(queue, 0, MOST_WAITING - 2)
        super()._put(queue, message, **kwargs)

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # kombu's types lack it
        except _NO_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - no JSON, or what kombu makes no object of
            log.warning("doorbell.foreign_message", error=type(error).__name__)
            raise Empty from None


class Transport(redis.Transport):
    """The transport to brokers whose address begins with ``redis``."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        """Hand a ring on as if it had been sent just so, and anything else that lies in a queue of rings not at all."""
        if queue and not queue.endswith(".pidbox") and not queue.startswith("celeryev"):  # Celery's own: workers' talk
            try:
                message = _ring(_Heard.model_validate(message).headers, queue=queue)
            except ValidationError:
                log.warning("doorbell.foreign_message", queue=queue)
                return
        super()._deliver(message, queue)


def _ring(heard: _Headers, *, queue: str) -> dict[str, Any]:
    """A message as Celery's protocol 2 has it, of which nothing but what was read is the sender's.

    Its id is new: once one of an id has expired, Celery hears none of that id any more.
    """
    identity = str(uuid.uuid4())
    expires = heard.expires.isoformat() if heard.expires else None
    return {
        "body": _BODY,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py",
            "task": heard.task,
            "id": identity,
            "root_id": identity,
            "eta": None,
            "expires": expires,
            "retries": 0,
            "timelimit": [None, None],
            "argsrepr": "()",
            "kwargsrepr": "{}",
        },
        "properties": {
            "correlation_id": identity,
            "body_encoding": "base64",
            "delivery_info": {"exchange": "", "routing_key": queue},
            "delivery_tag": identity,
        },
    }


def use() -> None:
    """Let every connection to such a broker from now on be made with this transport."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
