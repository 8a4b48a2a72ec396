"""A competition whose participants submit results, as on Codabench, and its small scoring program."""

from __future__ import annotations

import io
import itertools
import time
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase

MANIFEST: Final = """\
version: 2
title: Results only
terms: terms.md
registration_auto_approve: true
pages:
  - {title: Overview, file: terms.md}
tasks:
  - {index: 0, name: Digits, scoring_program: scoring, reference_data: reference, scorer_image: gauntlet/agent}
phases:
  - {index: 0, name: Only, start: 2024-01-01, tasks: [0], max_submissions_per_day: 100000, max_submissions: 100000}
leaderboards:
  - title: Results
    key: main
    columns:
      - {title: Accuracy, key: accuracy, index: 0}
"""
SCORE: Final = """\
import json, os, sys
inputs, outputs = sys.argv[1:3]
truth = open(os.path.join(inputs, "ref", "truth.txt")).read().split()
said = open(os.path.join(inputs, "res", "said.txt")).read().split()
right = sum(a == b for a, b in zip(truth, said)) / len(truth)
with open(os.path.join(outputs, "scores.json"), "w") as file:
    json.dump({"accuracy": right}, file)
"""
TRUTH: Final = " ".join(str(number % 10) for number in range(1000))
_PATIENCE: Final = 900.0


def make_phase(folder: Path, *, slug: str) -> Phase:
    """Import the competition; ``folder`` is new."""
    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import import_bundle

    files = {
        "competition.yaml": MANIFEST,
        "terms.md": "Be fair.\n",
        "scoring/metadata": "command: python3 $program/score.py $input $output\n",
        "scoring/score.py": SCORE,
        "reference/truth.txt": TRUTH,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    organizer, _ = User.objects.get_or_create(username="organizer", defaults={"email": "organizer@localhost"})
    return import_bundle(folder, organizer=organizer, slug=slug, publish=True).phases.get()


def make_people(phase: Phase, count: int) -> list[User]:
    """Participants of the phase's competition."""
    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import join

    people = []
    for _ in range(count):
        name = f"p{uuid.uuid4().hex[:12]}"
        people.append(User.objects.create(username=name, email=f"{name}@localhost"))
        join(phase.competition, user=people[-1], terms_accepted=True)
    return people


def submit(phase: Phase, *, count: int, people: Sequence[User]) -> list[uuid.UUID]:
    """That many uploads, no two of them alike, by everybody in turn; they wait for their check."""
    from django.core.files.base import ContentFile

    from gauntlet.submissions.services import receive

    made = []
    for number, participant in zip(range(count), itertools.cycle(people), strict=False):
        upload = ContentFile(results(f"{uuid.uuid4()} {number}"))
        made.append(receive(phase=phase, participant=participant, upload=upload, file_name="results.zip").pk)
    return made


def results(mark: str) -> bytes:
    """A zip of results: the truth, and a mark that makes it unlike any other."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("said.txt", TRUTH)
        archive.writestr("mark.txt", mark)
    return out.getvalue()


def wait_until_queued(submissions: Sequence[uuid.UUID]) -> None:
    """Wait until all of these are checked, and wait for a worker.

    Raises:
        RuntimeError: one was refused, or they are not checked in time.
    """
    from gauntlet.evaluation.models import Evaluation

    deadline = time.monotonic() + _PATIENCE
    while Evaluation.objects.filter(submission__in=submissions).count() < len(submissions):
        if (refused := _refusal(submissions)) is not None:
            raise RuntimeError(f"a submission was refused: {refused}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the submissions were not checked within {_PATIENCE:.0f} s: {_states(submissions)}")
        time.sleep(0.5)


def wait_for_all(submissions: Sequence[uuid.UUID]) -> None:
    """Wait until all of these are finished.

    Raises:
        RuntimeError: one failed, or they do not end.
    """
    from gauntlet.evaluation.models import Evaluation

    deadline = time.monotonic() + _PATIENCE
    mine = Evaluation.objects.filter(submission__in=submissions)
    while mine.filter(state="finished").count() < len(submissions):
        bad = mine.filter(state__in=("failed", "cancelled")).values_list("failure_message", flat=True).first()
        refused = _refusal(submissions)
        if bad is not None or refused is not None:
            raise RuntimeError(f"a submission failed: {bad or refused}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the submissions did not end within {_PATIENCE:.0f} s: {_states(submissions)}")
        time.sleep(0.5)


def _states(submissions: Sequence[uuid.UUID]) -> str:
    """How many of them are in which state, and what the jobs that have not ended wait for."""
    from django.db.models import Count

    from gauntlet.evaluation.models import Job, Worker
    from gauntlet.submissions.models import Submission

    states = Submission.objects.filter(pk__in=submissions).values_list("state").annotate(Count("pk")).order_by("state")
    jobs = Job.objects.filter(evaluation__submission__in=submissions).exclude(state__in=("done", "failed"))
    columns = ("state", "attempt", "worker", "leased_until", "available_at", "avoided", "failure_message")
    return (
        f"{dict(states)}; of the jobs {list(jobs.values(*columns)[:3])}; of the workers {list(Worker.objects.values())}"
    )


def _refusal(submissions: Sequence[uuid.UUID]) -> str | None:
    """Why one of them was refused, if one was."""
    from gauntlet.submissions.models import Submission

    refused = Submission.objects.filter(pk__in=submissions, state="rejected")
    return refused.values_list("failure_message", flat=True).first()
