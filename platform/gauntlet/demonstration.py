"""The demonstration: both tracks of AssetOps, participants, their agents, and what came of it."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.files import File
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Column, Competition, Phase
from gauntlet.competitions.services import import_bundle, join
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.leaderboards.selectors import Board, Cell, board
from gauntlet.storage.folders import write_zip
from gauntlet.submissions.models import Source, Submission
from gauntlet.submissions.services import receive

ORGANIZER: Final = "organizer"
TEST: Final = 1  # the phase with hidden scenarios
DISTRACTED: Final = 2  # the same scenarios, with tools that only sound useful
TRACKS: Final = ("planning", "execution")
#: A demonstration is short: few questions, a short record. The usual competition asks 141.
_SIZE: Final = {
    "planning": ("--hidden-questions", "12"),
    "execution": ("--hidden-questions", "12", "--distractors"),
}
_SMALL: Final = ("--public-questions", "8", "--telemetry-days", "200")
# Open whatever the clock says: the phases of the usual competition have dates.
_OPEN: Final = ("--development-start", "2020-01-01 00:00:00", "--test-start", "2020-01-02 00:00:00")


@dataclass(frozen=True)
class Entry:
    """An agent's folder, who submits it, to which track and phase, and the status that it must end with."""

    participant: str
    folder: Path
    track: str
    phase: int
    expected: str = "finished"

    @property
    def name(self) -> str:
        """Who and where, in a few words."""
        return f"{self.participant} ({self.track}{', distracted' if self.phase == DISTRACTED else ''})"


def entries() -> list[Entry]:
    """Both starter kits in both tracks, a gullible agent, two of them again with distractors, and one that crashes."""
    kits = settings.BASE_DIR / "starter_kits"
    supervisor, planner = kits / "agent_as_tool", kits / "plan_execute"
    gullible = settings.BASE_DIR / "competitions" / "assetops" / "demo_agents" / "gullible"
    crashing = settings.BASE_DIR / "competitions" / "quickstart" / "demo_agents" / "crashing"
    return [
        Entry("ada", supervisor, "execution", TEST),
        Entry("bob", planner, "execution", TEST),
        Entry("carl", gullible, "execution", TEST),
        Entry("ada", supervisor, "execution", DISTRACTED),
        Entry("carl", gullible, "execution", DISTRACTED),
        Entry("ada", supervisor, "planning", TEST),
        Entry("bob", planner, "planning", TEST),
        Entry("eve", crashing, "execution", TEST, expected="failed"),
    ]


def demo_user(name: str, *, password: str) -> User:
    """A user of the demonstration; its password is set anew at each start and printed."""
    user, _ = User.objects.get_or_create(username=name, defaults={"email": f"{name}@localhost"})
    user.set_password(password)
    user.save()
    return user


def track_competition(track: str, organizer: User) -> Competition:
    """A track of AssetOps, generated from this installation's secret and imported if it is not there yet."""
    slug = f"assetops-{track}"
    existing = Competition.objects.filter(slug=slug).first()
    if existing:
        return existing
    folder = settings.VAR / "demo" / secrets.token_hex(8)
    secret = settings.VAR / "demo" / "secret"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.touch(mode=0o600)
    secret.write_text(settings.GAUNTLET_SECRET)
    generator = settings.BASE_DIR / "competitions" / "assetops" / "generator" / "make.py"
    command = [sys.executable, str(generator), "--track", track, "--secret-file", str(secret), "--out", str(folder)]
    subprocess.run([*command, *_SIZE[track], *_SMALL, *_OPEN], check=True, stdout=subprocess.DEVNULL)
    return import_bundle(folder, organizer=organizer, slug=slug, publish=True)


def submit(phase: Phase, user: User, folder: Path) -> Submission:
    """Zip an agent's folder and submit it the way an upload is."""
    join(phase.competition, user=user, terms_accepted=True)
    archive = settings.VAR / "demo" / f"{user.username}-{folder.name}.zip"
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


def progress_line(entered: Sequence[Entry], told: Sequence[SubmissionStory]) -> str:
    """One line that says how many submissions are through, and where the others stand."""
    parts = []
    for entry, story in zip(entered, told, strict=True):
        done = sum(one.episodes_done for one in story.evaluations)
        total = sum(one.episodes_total for one in story.evaluations)
        if not story.final:
            parts.append(f"{entry.name} {story.status}" + (f" {done}/{total}" if total else ""))
    through = sum(story.final for story in told)
    return "   ".join([f"{through} of {len(told)} done", *parts])


def board_of(phase: Phase) -> Board:
    """The competition's board in this phase."""
    leaderboard = phase.competition.leaderboards.prefetch_related("columns").get()
    return board(leaderboard=leaderboard, phase=phase)


def whole_columns(found: Board) -> list[Column]:
    """The columns over all scenarios."""
    return [column for column in found.columns if not column.where]


def part_columns(found: Board, tag: str) -> list[Column]:
    """The columns over the scenarios with one value of a tag: type, category or stage."""
    return [column for column in found.columns if tag in column.where]


def board_text(found: Board, columns: Sequence[Column]) -> str:
    """The board as a table of text: values with the columns' digits, the primary one with its interval."""
    rows = [
        [str(row.rank or "–"), row.participant, *(_cell_text(row.cells, column) for column in columns)]
        for row in found.rows
    ]
    return table_text(["rank", "participant", *(column.title for column in columns)], rows)


def _cell_text(cells: Mapping[str, Cell], column: Column) -> str:
    cell = cells.get(column.key)
    if cell is None:
        return "–"
    if cell.low is None or cell.high is None:
        return cell.text
    return f"{cell.text} [{cell.low:.{column.precision}f}, {cell.high:.{column.precision}f}]"


def comparison_text(plain: Board, distracted: Board, keys: Sequence[str]) -> str:
    """The scores of those who are on both boards, side by side: without distractors, and with them."""
    columns = [column for column in plain.columns if column.key in keys]
    head = ["participant", *(f"{column.title} {word}" for column in columns for word in ("without", "with"))]
    noisy = {row.participant: row for row in distracted.rows}
    rows = [
        [
            row.participant,
            *(
                cells[column.key].text if column.key in cells else "–"
                for column in columns
                for cells in (row.cells, noisy[row.participant].cells)
            ),
        ]
        for row in plain.rows
        if row.participant in noisy
    ]
    return table_text(head, rows)


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells in columns as wide as they must be; the participant's name to the left, all else to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(head))]
    align: list[Callable[[str, int], str]] = [str.ljust if title == "participant" else str.rjust for title in head]
    return "\n".join(
        "  ".join(place(cell, width) for place, cell, width in zip(align, line, widths, strict=True)) for line in lines
    )
