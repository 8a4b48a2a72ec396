"""The demonstration: the quickstart competition, three participants, their agents, and what came of it."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.files import File
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Competition, Phase
from gauntlet.competitions.services import import_bundle, join
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.leaderboards.selectors import Board, board
from gauntlet.storage.folders import write_zip
from gauntlet.submissions.models import Source, Submission
from gauntlet.submissions.services import receive

SLUG: Final = "quickstart"
ORGANIZER: Final = "organizer"
PHASE: Final = 1  # the test phase: hidden scenarios


@dataclass(frozen=True)
class DemoAgent:
    """A participant of the demonstration and the folder of the agent that it submits."""

    participant: str
    folder: Path
    expected: str  # the status that the demonstration must end with


def demo_agents() -> list[DemoAgent]:
    """A good agent, a weak one, and one that crashes."""
    agents = settings.BASE_DIR / "competitions" / "quickstart" / "demo_agents"
    return [
        DemoAgent("ada", settings.BASE_DIR / "starter_kits" / "minimal", "finished"),
        DemoAgent("bob", agents / "weak", "finished"),
        DemoAgent("eve", agents / "crashing", "failed"),
    ]


def demo_user(name: str, *, password: str) -> User:
    """A user of the demonstration; its password is set anew at each start and printed."""
    user, _ = User.objects.get_or_create(username=name, defaults={"email": f"{name}@localhost"})
    user.set_password(password)
    user.save()
    return user


def quickstart(organizer: User) -> Competition:
    """The quickstart competition, generated from this installation's secret and imported if it is not there yet."""
    existing = Competition.objects.filter(slug=SLUG).first()
    if existing:
        return existing
    folder = settings.VAR / "demo" / secrets.token_hex(8)
    secret = settings.VAR / "demo" / "secret"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.touch(mode=0o600)
    secret.write_text(settings.GAUNTLET_SECRET)
    generator = settings.BASE_DIR / "competitions" / "quickstart" / "generator" / "make.py"
    command = [sys.executable, str(generator), "--secret-file", str(secret), "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return import_bundle(folder, organizer=organizer, slug=SLUG, publish=True)


def submit(phase: Phase, user: User, folder: Path) -> Submission:
    """Zip an agent's folder and submit it the way an upload is."""
    join(phase.competition, user=user, terms_accepted=True)
    archive = settings.VAR / "demo" / f"{user.username}.zip"
    with archive.open("w+b") as opened:
        write_zip(folder, opened)
        opened.seek(0)
        return receive(
            phase=phase,
            participant=user,
            upload=File(opened),
            file_name=archive.name,
            name=f"{folder.name} agent",
            source=Source.COMMAND,
        )


def stories(submissions: Sequence[Submission]) -> list[SubmissionStory]:
    """Where the submissions stand, as their owners see it."""
    now = timezone.now()
    fresh = Submission.objects.select_related("phase__competition", "participant", "bundle").in_bulk(
        [submission.pk for submission in submissions]
    )
    return [submission_story(fresh[one.pk], audience=Audience.OWNER, now=now) for one in submissions]


def progress_line(told: Sequence[SubmissionStory]) -> str:
    """One line that says where each submission stands."""
    parts = []
    for story in told:
        done = sum(one.episodes_done for one in story.evaluations)
        total = sum(one.episodes_total for one in story.evaluations)
        parts.append(f"{story.participant}: {story.status}" + (f" {done}/{total}" if total else ""))
    return "   ".join(parts)


def board_of(phase: Phase) -> Board:
    """The competition's board in this phase."""
    leaderboard = phase.competition.leaderboards.prefetch_related("columns").get()
    return board(leaderboard=leaderboard, phase=phase)


def board_text(found: Board) -> str:
    """The board as a table of text: values with the columns' digits, the primary one with its interval."""
    head = ["rank", "participant", *(column.title for column in found.columns)]
    rows = []
    for row in found.rows:
        cells = []
        for column in found.columns:
            cell = row.cells.get(column.key)
            text = cell.text if cell else "–"
            if cell and cell.low is not None and cell.high is not None:
                text += f" [{cell.low:.{column.precision}f}, {cell.high:.{column.precision}f}]"
            cells.append(text)
        rows.append([str(row.rank or "–"), row.participant, *cells])
    widths = [max(len(line[index]) for line in [head, *rows]) for index in range(len(head))]
    align: list[Callable[[str, int], str]] = [str.rjust, str.ljust, *[str.rjust] * len(found.columns)]
    return "\n".join(
        "  ".join(place(cell, width) for place, cell, width in zip(align, line, widths, strict=True))
        for line in [head, *rows]
    )
