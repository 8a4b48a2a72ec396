"""The lock between those who store an artifact and the sweeper that removes it."""

from __future__ import annotations

import hashlib

from django.db import connection


def lock_for_storing(digest: str) -> None:
    """Keep the sweeper from this artifact until the transaction ends; others may store it at the same time."""
    _call("pg_advisory_xact_lock_shared", digest)


def lock_for_sweeping(digest: str) -> bool:
    """Whether nobody stores this artifact now; then nobody begins to before the transaction ends."""
    return bool(_call("pg_try_advisory_xact_lock", digest))


def _call(function: str, digest: str) -> object:
    """One of PostgreSQL's functions on the artifact's own number among the database's advisory locks."""
    number = int.from_bytes(hashlib.sha256(f"gauntlet artifact {digest}".encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
        return cursor.fetchone()[0]
