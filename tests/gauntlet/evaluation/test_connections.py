"""What a long-lived worker holds of the database: one connection, however many jobs it has done."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.models import Evaluation
from gauntlet_runtime.jobs import Claim
from gauntlet_runtime.lease import Lease


class Noticed(DatabaseJobSource):
    """The platform's source, which tells when a lease was renewed."""

    def __init__(self) -> None:
        self.renewed = threading.Event()

    def renew(self, claim: Claim) -> None:
        """Renew, and tell."""
        super().renew(claim)
        self.renewed.set()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Nothing is cleaned up by chance: a large process collects its garbage rarely."""
    gc.disable()
    yield
    gc.enable()


def connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        count: int = cursor.fetchone()[0]
        return count


@pytest.mark.django_db(transaction=True)
def test_a_lease_that_was_renewed_leaves_no_connection(
    start: Callable[..., Evaluation], worker: Any, no_collection: None
) -> None:
    start()
    claim = worker.must_claim().model_copy(update={"lease_seconds": 0.3})
    before = connections()
    for _ in range(3):
        source = Noticed()
        with Lease(source, claim):
            assert source.renewed.wait(60)
    give_up = time.monotonic() + 30  # a server's process for a closed connection is there a moment longer
    while connections() > before and time.monotonic() < give_up:
        time.sleep(0.02)
    assert connections() <= before
