"""Records of episodes that another machine made: looked through, kept, and named by the result that follows."""

from __future__ import annotations

from typing import BinaryIO, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F

from gauntlet.evaluation.claims import lease_of, lock_held
from gauntlet.evaluation.errors import TooManyRecords
from gauntlet.evaluation.models import Job, JobKind, SentRecord
from gauntlet.evaluation.remote_jobs import episodes_of
from gauntlet.evaluation.specs import episode_limits
from gauntlet.evaluation.states import JobState
from gauntlet.storage.models import Artifact, Form
from gauntlet.storage.services import store
from gauntlet.trajectories.checking import check_record

# A record that is full ends its episode, and what is under way then still comes into it.
_BEYOND: Final = 64 << 20
_MOST_TIMES: Final = 20  # for one episode, in all attempts at its job: what is replaced is kept for a while too


def most_bytes(held: Job) -> int:
    """Of a record of one of the job's episodes, packed or not."""
    return episode_limits(held.evaluation.task).record_bytes + _BEYOND if held.kind == JobKind.RUN else 0


def keep_record(held: Job, archive: BinaryIO) -> None:
    """Keep an episode's record until the job's result names it; the same one again changes nothing.

    Raises:
        RecordRefused: it is no record of an episode of this job.
        TooManyRecords
        LeaseLost: while it came or was stored, the job was taken away or its evaluation ended.
    """
    episode = UUID(check_record(archive, episodes=episodes_of(held), most_bytes=most_bytes(held)))
    archive.seek(0)
    artifact = store(archive, form=Form.ZIP)
    _note(held, lease_of(held), episode, artifact)


@transaction.atomic
def _note(held: Job, lease: UUID, episode: UUID, artifact: Artifact) -> None:
    lock_held(job=held.pk, token=lease)
    noted = SentRecord.objects.filter(job=held, episode=episode)
    if noted.filter(lease=lease, artifact=artifact).exists():
        return
    if not noted.exists():
        SentRecord.objects.create(job=held, episode_id=episode, lease=lease, artifact=artifact)
    elif not noted.filter(times__lt=_MOST_TIMES).update(lease=lease, artifact=artifact, times=F("times") + 1):
        raise TooManyRecords(f"A record of this episode was sent {_MOST_TIMES} times already.")


def forget_records() -> int:
    """Drop what was sent for jobs that have ended; return how many."""
    forgotten, _ = SentRecord.objects.filter(job__state__in=(JobState.DONE, JobState.FAILED)).delete()
    return forgotten
