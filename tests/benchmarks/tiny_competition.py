"""A competition of a few public scenarios scored by the rubric alone, and an agent that solves them.

The scenarios, the environment and the agent are quickstart's; the rubric runs in the agents' image, with the package
that it imports beside it, so that both sandbox backends need the two small images only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import uuid
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.models import Evaluation

ROOT: Final = Path(__file__).resolve().parents[2]
SECRET: Final = "a secret for measurements only"
PATIENCE: Final = 180.0  # seconds after which a submission will not end any more
_POLL_SECONDS: Final = 0.1
_ENDED: Final = ("finished", "failed", "cancelled")


def make_phase(folder: Path, *, scenarios: int, slug: str, parallel: int = 1, environment: Path | None = None) -> Phase:
    """Import the competition with this many scenarios, which repeat where it has fewer; ``folder`` is new.

    ``parallel`` is how many of them one agent may work on at once; ``environment`` a program in place of its own.
    """
    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import import_bundle

    generator = ROOT / "competitions" / "quickstart" / "generator" / "make.py"
    command = [sys.executable, str(generator), "--secret", SECRET, "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    bundle = folder / "starting_kit"
    _shorten(bundle / "scenarios.jsonl", scenarios)
    _shorten(bundle / "reference" / "ground_truth.jsonl", scenarios)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "scoring_programs" / "rubric", bundle / "rubric", ignore=ignored)
    package = ROOT / "scoring_programs" / "gauntlet_scoring"
    shutil.copytree(package, bundle / "rubric" / package.name, ignore=ignored)
    _describe(bundle / "rubric")
    if environment is not None:
        shutil.copyfile(environment, bundle / "environment" / "server.py")
    manifest = bundle / "competition.yaml"
    content = _only_rubric(yaml.safe_load(manifest.read_text()))
    content["phases"][0]["max_parallel_episodes"] = parallel
    manifest.write_text(yaml.safe_dump(content, sort_keys=False))
    organizer, _ = User.objects.get_or_create(username="organizer", defaults={"email": "organizer@localhost"})
    return import_bundle(bundle, organizer=organizer, slug=slug, publish=True).phases.get()


def _describe(program: Path) -> None:
    """Programs name the package's version in their provenance; a copy needs the metadata of an installation."""
    metadata = program / "gauntlet_scoring-0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: gauntlet-scoring\nVersion: {version('gauntlet-scoring')}\n")


def _shorten(lines: Path, count: int) -> None:
    """Keep the first of the lines, or repeat them under other ids until there are enough."""
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    kept = [
        row if turn == 0 else {**row, "id": f"{row['id']}-{turn}"}
        for turn in range(-(-count // len(rows)))
        for row in rows
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in kept[:count]))


def _only_rubric(content: dict[str, Any]) -> dict[str, Any]:
    task, board = content["tasks"][0], content["leaderboards"][0]
    task["scoring_programs"] = ["rubric"]
    task["scorer_image"] = "gauntlet/agent"
    board["columns"] = [column for column in board["columns"] if column["from"].startswith(("rubric.", "episodes."))]
    content["phases"][0] |= {"max_submissions_per_day": 1000, "max_submissions": 1000}
    return content


def submit(phase: Phase, *, agent: Path = ROOT / "starter_kits" / "minimal") -> uuid.UUID:
    """A new participant submits an agent, the starter's where none is given; the submission's id."""
    from django.core.files import File

    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import join
    from gauntlet.storage.folders import write_zip
    from gauntlet.submissions.models import Source
    from gauntlet.submissions.services import receive

    name = f"p{uuid.uuid4().hex[:12]}"
    user = User.objects.create(username=name, email=f"{name}@localhost")
    join(phase.competition, user=user, terms_accepted=True)
    with TemporaryFile() as archive:
        write_zip(agent, archive)
        archive.seek(0)
        upload = File(archive, name="agent.zip")
        return receive(phase=phase, participant=user, upload=upload, file_name="agent.zip", source=Source.COMMAND).pk


def wait_for(submission: uuid.UUID, *, patience: float = PATIENCE) -> Evaluation:
    """The submission's evaluation, once it has finished.

    Raises:
        RuntimeError: it failed, or did not end.
    """
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.submissions.models import Submission

    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        evaluation = Evaluation.objects.filter(submission=submission, state__in=_ENDED).first()
        if evaluation is not None:
            if evaluation.state != "finished":
                raise RuntimeError(f"the evaluation is {evaluation.state}: {evaluation.failure_message}")
            return evaluation
        stuck = Submission.objects.filter(pk=submission, state="rejected").first()
        if stuck is not None:
            raise RuntimeError(f"the submission was rejected: {stuck.failure_message}")
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"the submission did not end within {patience:.0f} s")
