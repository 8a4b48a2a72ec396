"""What a finished evaluation was scored from, as an archive for its organizers: `gauntlet-score rescore` reads it.

It holds the reference data, the recorded episodes, the scoring programs and the stored scores, so that an organizer
can score again on a machine of their own, without the agent. The layout is that of :mod:`gauntlet_scoring.rescoring`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import User
from gauntlet.competitions.access import is_organizer
from gauntlet.competitions.models import Takes
from gauntlet.evaluation.errors import EvaluationNotFinished, EvaluationNotFound
from gauntlet.evaluation.models import Episode, Evaluation
from gauntlet.evaluation.states import EvaluationState
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.reading import BLOBS_FOLDER, EPISODES_FILE

_RECORD: Final = "trajectory.jsonl"
_RESULTS: Final = "input/res"
_REFERENCE: Final = "input/ref"
_CHUNK: Final = 1 << 20


def access_evaluation_as_organizer(user: User | AnonymousUser, evaluation_id: UUID) -> Evaluation:
    """An evaluation of a competition that the user organizes.

    Raises:
        NotSignedIn, EvaluationNotFound
    """
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    evaluation = (
        Evaluation.objects.select_related("submission__phase__competition", "submission__agent_bundle")
        .select_related("task__reference_data")
        .filter(pk=evaluation_id)
        .first()
    )
    # One answer for "not there" and "not yours": nobody learns which ids exist.
    if evaluation is None or not is_organizer(user, evaluation.submission.phase.competition):
        raise EvaluationNotFound("No evaluation of a competition that you organize has this id.")
    return evaluation


def scoring_input(evaluation: Evaluation) -> tuple[BinaryIO, int]:
    """The archive as an open, nameless file at its beginning, and its size in bytes.

    Raises:
        EvaluationNotFinished: it has no scores that could be compared with.
    """
    if evaluation.state != EvaluationState.FINISHED:
        raise EvaluationNotFinished("This evaluation has no scores: only a finished one can be scored again.")
    out = cast(BinaryIO, tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR))  # noqa: SIM115  # the caller closes it
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            _write(evaluation, archive)
        size = out.tell()
        out.seek(0)
    except BaseException:
        out.close()
        raise
    return out, size


def _write(evaluation: Evaluation, archive: zipfile.ZipFile) -> None:
    from gauntlet_scoring.rescoring import EVALUATION_FILE  # here: no idle process needs what scores

    task = evaluation.task
    programs = list(task.scoring_programs.select_related("program"))
    archive.writestr(EVALUATION_FILE, json.dumps(_facts(evaluation, [one.key for one in programs]), indent=2) + "\n")
    for one in programs:
        _copy(one.program, archive, f"programs/{one.key}")
    if task.reference_data is not None:
        _copy(task.reference_data, archive, _REFERENCE)
    archive.mkdir(_RESULTS)
    if task.takes == Takes.RESULTS:
        if evaluation.submission.agent_bundle is not None:
            _copy(evaluation.submission.agent_bundle, archive, _RESULTS)
        return
    episodes = evaluation.episodes.select_related("scenario", "trajectory").order_by("position")
    rows = "".join(_written(episode, archive).model_dump_json() + "\n" for episode in episodes)
    archive.writestr(f"{_RESULTS}/{EPISODES_FILE}", rows)


def _facts(evaluation: Evaluation, programs: list[str]) -> dict[str, Any]:
    scores: dict[str, dict[str, float]] = {key: {} for key in programs}
    for score in evaluation.scores.all():
        program = next((key for key in programs if score.key.startswith(f"{key}.")), None)
        if program is not None:
            scores[program][score.key.removeprefix(f"{program}.")] = score.value
    return {
        "evaluation": str(evaluation.pk),
        "submission": str(evaluation.submission_id),
        "competition": evaluation.submission.phase.competition.slug,
        "task": evaluation.task.name,
        "scorer_image": evaluation.task.scorer_image,
        "programs": programs,
        "scores": scores,
        "record": evaluation.record,
    }


def _written(episode: Episode, archive: zipfile.ZipFile) -> EpisodeRow:
    """Put an episode's record into the archive; its row says where. Large results are shared by their digest."""
    place = None
    if episode.trajectory is not None:
        place = f"trajectories/{episode.pk}.jsonl"
        for name, entry in _entries(episode.trajectory):
            if name == _RECORD:
                _put(entry, archive, f"{_RESULTS}/{place}")
            elif name.startswith(f"{BLOBS_FOLDER}/"):
                target = f"{_RESULTS}/trajectories/{name}"
                if target not in archive.NameToInfo:
                    _put(entry, archive, target)
    return EpisodeRow(
        episode=str(episode.pk),
        scenario=episode.scenario.key,
        trial=episode.trial,
        outcome=episode.outcome,
        failure=episode.failure_code or None,
        seconds=episode.seconds or 0.0,
        trajectory=place,
    )


def _copy(artifact: Artifact, archive: zipfile.ZipFile, folder: str) -> None:
    for name, entry in _entries(artifact):
        _put(entry, archive, f"{folder}/{name}")


def _entries(artifact: Artifact) -> Iterator[tuple[str, BinaryIO]]:
    """Name and content of every file of a stored zip, one open at a time."""
    with open_artifact(artifact) as opened, zipfile.ZipFile(opened) as source:
        for info in source.infolist():
            if not info.is_dir():
                with source.open(info) as entry:
                    yield info.filename, cast(BinaryIO, entry)


def _put(entry: BinaryIO, archive: zipfile.ZipFile, name: str) -> None:
    with archive.open(name, "w", force_zip64=True) as out:
        shutil.copyfileobj(entry, out, _CHUNK)
