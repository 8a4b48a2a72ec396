"""Stored files that nothing uses are removed, and no others: also where the same bytes are stored meanwhile."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models.functions import Now

from gauntlet.storage import services, sweeping
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import store
from gauntlet.storage.sweeping import sweep_artifacts

HOUR = timedelta(hours=1)


def age(*artifacts: Artifact) -> None:
    """Make them look as if they had been stored long ago."""
    pks = [artifact.pk for artifact in artifacts]
    Artifact.objects.filter(pk__in=pks).update(stored_at=Now() - 2 * HOUR)


def is_whole(artifact: Artifact) -> bool:
    """Its row and its object are both there."""
    return Artifact.objects.filter(pk=artifact.pk).exists() and default_storage.exists(artifact.path)


def is_gone(artifact: Artifact) -> bool:
    """Neither is there."""
    return not Artifact.objects.filter(pk=artifact.pk).exists() and not default_storage.exists(artifact.path)


def test_what_nothing_uses_is_removed_when_it_is_old(make_artifact: Callable[..., Artifact]) -> None:
    old, fresh = make_artifact(), make_artifact()
    age(old)
    assert sweep_artifacts(older_than=HOUR) == 1
    assert (is_gone(old), is_whole(fresh)) == (True, True)
    assert sweep_artifacts(older_than=HOUR) == 0


def test_what_any_row_uses_stays(make_phase: Callable[..., Any], make_submission: Callable[..., Any]) -> None:
    submission = make_submission(make_phase())
    task = submission.phase.tasks.get()
    used = [submission.bundle, submission.agent_bundle, task.environment, task.reference_data]
    used += [program.program for program in task.scoring_programs.all()]
    age(*Artifact.objects.all())
    sweep_artifacts(older_than=HOUR)
    assert all(is_whole(artifact) for artifact in used)


def test_what_is_stored_again_is_as_if_it_was_new(make_artifact: Callable[..., Artifact]) -> None:
    artifact = make_artifact(b"the same")
    age(artifact)
    make_artifact(b"the same")
    assert sweep_artifacts(older_than=HOUR) == 0
    assert is_whole(artifact)


def test_an_object_whose_row_was_never_written_is_removed(
    make_artifact: Callable[..., Artifact], tmp_path: Any
) -> None:
    """Its process was killed between the two, or while it wrote."""
    import os

    stray, kept = make_artifact(), make_artifact()
    Artifact.objects.filter(pk=stray.pk).delete()
    draft = tmp_path / "artifacts/incoming/half"
    draft.write_bytes(b"half")
    assert sweep_artifacts(older_than=HOUR) == 0
    for path in (draft, tmp_path / "artifacts" / stray.path, tmp_path / "artifacts" / kept.path):
        os.utime(path, (1, 1))
    assert sweep_artifacts(older_than=HOUR) == 2
    assert (is_gone(stray), draft.exists(), is_whole(kept)) == (True, False, True)


def store_while_swept(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    """Store bytes again; when their file was found to be there, and before the row is touched, the sweeper comes."""
    swept: list[int] = []

    def sweep() -> None:
        try:
            swept.append(sweep_artifacts(older_than=HOUR))
        finally:
            connection.close()

    link = services._link_into_place

    def link_and_be_swept(*arguments: Any, **named: Any) -> None:
        link(*arguments, **named)
        thread = threading.Thread(target=sweep)
        thread.start()
        thread.join(60)
        assert swept, "the sweeper waits for who stores"

    monkeypatch.setattr(services, "_link_into_place", link_and_be_swept)
    return store(io.BytesIO(content), form="file")


@pytest.mark.django_db(transaction=True)
def test_what_is_stored_while_the_sweeper_is_at_it_is_whole_afterwards(
    make_artifact: Callable[..., Artifact], monkeypatch: pytest.MonkeyPatch
) -> None:
    age(make_artifact(b"raced for"))
    assert is_whole(store_while_swept(b"raced for", monkeypatch))


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_its_object_is_gone(
    make_artifact: Callable[..., Artifact], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above."""
    monkeypatch.setattr(sweeping, "lock_for_sweeping", lambda digest: True)
    monkeypatch.setattr(services, "lock_for_storing", lambda digest: None)
    age(make_artifact(b"raced for"))
    artifact = store_while_swept(b"raced for", monkeypatch)
    assert Artifact.objects.filter(pk=artifact.pk).exists()
    assert not default_storage.exists(artifact.path)
