"""Removes artifacts that no row uses any more, and files of the storage that no artifact names.

An artifact is stored before the row that uses it is written, so what was stored of late is left alone. Who stores the
same bytes meanwhile holds a lock that the sweeper respects, and stores them anew after it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from gauntlet.one_by_one import one_by_one
from gauntlet.storage.locks import lock_for_sweeping
from gauntlet.storage.models import Artifact

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 1000  # artifacts in one sweep, so that it ends
_FOLDER: Final = re.compile("[0-9a-f]{2}|incoming")  # by the digests' first digits; what is being written


def sweep_artifacts(*, older_than: timedelta | None = None) -> int:
    """Remove what nothing uses and was last stored before that time; return how many objects.

    One transaction each, which removes the row and then the object; whatever stops it in between, the next sweep finds.
    """
    kept_for = timedelta(seconds=settings.ARTIFACT_SECONDS) if older_than is None else older_than
    unused = _unused(kept_for).values_list("pk", flat=True)[:_AT_ONCE]
    removed = one_by_one(unused, partial(_remove, kept_for=kept_for))
    removed += one_by_one(_paths(), partial(_remove_stray, before=timezone.now() - kept_for))
    if removed:
        log.info("artifacts.swept", removed=removed)
    return removed


def _unused(kept_for: timedelta) -> QuerySet[Artifact]:
    """Artifacts that no row of any app refers to; which columns do is asked of the models.

    Their age is by the database's clock, as the time at which they were stored: this host's may be far off.
    """
    found = Artifact.objects.filter(stored_at__lt=Now() - kept_for)
    for relation in Artifact._meta.get_fields(include_hidden=True):
        if relation.one_to_many and relation.related_model is not None:
            users = relation.related_model._default_manager.filter(
                **{relation.field.name: OuterRef("pk")}  # type: ignore[union-attr]
            )
            found = found.exclude(Exists(users))
    return found


@transaction.atomic
def _remove(digest: str, kept_for: timedelta) -> int:
    if not lock_for_sweeping(digest):
        return 0
    # The row's lock keeps others from beginning to refer to it; whoever did so before is seen by the second look.
    if Artifact.objects.select_for_update().filter(pk=digest).first() is None:
        return 0
    artifact = _unused(kept_for).filter(pk=digest).first()
    if artifact is None:
        return 0
    path = artifact.path
    artifact.delete()
    default_storage.delete(path)
    return 1


@transaction.atomic
def _remove_stray(path: str, before: datetime) -> int:
    """A file whose artifact was never written, since its process died, or is removed already."""
    digest = f"sha256:{path.rpartition('/')[2]}"
    try:
        if default_storage.get_modified_time(path) >= before or not lock_for_sweeping(digest):
            return 0
    except FileNotFoundError:  # whoever wrote it has ended
        return 0
    if Artifact.objects.filter(pk=digest).exists():
        return 0
    default_storage.delete(path)
    return 1


def _paths() -> Iterator[str]:
    """Every object of a storage in folders that has no artifact. Any other storage has rules of its own for that."""
    if not isinstance(default_storage, FileSystemStorage):
        return
    with contextlib.suppress(FileNotFoundError):
        folders, _ = default_storage.listdir("")
        for folder in filter(_FOLDER.fullmatch, folders):
            names = default_storage.listdir(folder)[1]
            digests = [f"sha256:{name}" for name in names]
            known = set(Artifact.objects.filter(pk__in=digests).values_list("pk", flat=True))
            yield from (f"{folder}/{name}" for name in names if f"sha256:{name}" not in known)
