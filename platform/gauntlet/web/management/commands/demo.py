"""Run the demonstration: services, two competitions, agents, the boards, and a site to look at."""

from __future__ import annotations

import secrets
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from gauntlet import demonstration
from gauntlet.competitions.models import Competition
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.leaderboards.selectors import Board, Cell
from gauntlet.processes import Processes, free_port, platform_processes
from gauntlet.submissions.models import Submission

_WAIT_SECONDS: Final = 1200


class Command(BaseCommand):
    """``manage.py demo [--exit]``"""

    help = "Starter kits and agents that fail enter both tracks of AssetOps; print the boards and serve them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--exit``: stop after the print; the exit status says whether all came out as it must."""
        parser.add_argument("--exit", action="store_true", help="stop after the print")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        """Set up, submit, wait, print, serve."""
        self.say("Preparing the database")
        call_command("migrate", verbosity=0)
        password = secrets.token_urlsafe(9)
        organizer = demonstration.demo_user(demonstration.ORGANIZER, password=password)
        self.say("Preparing both tracks of AssetOps from this installation's secret")
        tracks = {track: demonstration.track_competition(track, organizer) for track in demonstration.TRACKS}
        port = free_port(options["port"])
        address = f"http://localhost:{port}"
        with platform_processes(settings.VAR / "log", environment={"SITE_URL": address}) as processes:
            self.say("Starting a worker, the beat and the web server")
            processes.start_worker()
            processes.start_beat()
            processes.start_web(port)
            entries = demonstration.entries()
            submissions = [
                demonstration.submit(
                    tracks[entry.track].phases.get(index=entry.phase),
                    demonstration.demo_user(entry.participant, password=password),
                    entry.folder,
                )
                for entry in entries
            ]
            stories = self.wait(entries, submissions, processes)
            for competition in tracks.values():
                self.show(competition, address)
            self.compare(tracks["execution"])
            self.say("")
            for entry, story in zip(entries, stories, strict=True):
                self.say(self.outcome(entry, story, address))
            wrong = self.contradictions(entries, stories)
            if options["exit"]:
                if wrong:
                    raise CommandError("; ".join(wrong))
                return
            names = ", ".join(dict.fromkeys([demonstration.ORGANIZER, *(entry.participant for entry in entries)]))
            self.say(f"\nServing {address} until Ctrl-C. Log in as {names} with the password {password}")
            self.serve(processes)

    def say(self, text: str) -> None:
        """Print a line at once."""
        self.stdout.write(text)
        self.stdout.flush()

    def wait(
        self, entries: Sequence[demonstration.Entry], submissions: Sequence[Submission], processes: Processes
    ) -> list[SubmissionStory]:
        """Wait until each submission is in a final state, and say how they stand whenever that changes."""
        deadline = time.monotonic() + _WAIT_SECONDS
        told = ""
        while True:
            stories = demonstration.stories(submissions)
            line = demonstration.progress_line(entries, stories)
            if line != told:
                told = line
                self.say(line)
            if all(story.final for story in stories):
                return stories
            processes.check()
            if time.monotonic() > deadline:
                raise CommandError(f"not finished after {_WAIT_SECONDS} s; see the logs in {settings.VAR / 'log'}")
            time.sleep(0.5)

    def show(self, competition: Competition, address: str) -> None:
        """The board of the hidden phase: over all questions, and by who is needed to answer them."""
        phase = competition.phases.get(index=demonstration.TEST)
        found = demonstration.board_of(phase)
        self.say(f"\n{competition.title}, {phase.name}: {address}/competitions/{competition.slug}/\n")
        self.say(demonstration.board_text(found, demonstration.whole_columns(found)))
        self.say(f"\n{found.primary.title} by field:")
        self.say(demonstration.board_text(found, demonstration.part_columns(found, "type")))
        best = max(found.published, key=lambda one: _primary(one.cells, found), default=None)
        if best is not None:
            self.say(f"Published, unranked: {best.name}, {_primary(best.cells, found):.3f} ({best.source})")

    def compare(self, competition: Competition) -> None:
        """The three scores of one agent with and without distractors among its tools."""
        phases = (demonstration.TEST, demonstration.DISTRACTED)
        plain, distracted = (demonstration.board_of(competition.phases.get(index=index)) for index in phases)
        self.say("\nThe same questions with ten distractors among the tools:")
        self.say(demonstration.comparison_text(plain, distracted, ("y1", "y2", "y3")))

    def outcome(self, entry: demonstration.Entry, story: SubmissionStory, address: str) -> str:
        """One line on how a submission ended."""
        end = f"failed: {story.failure.code}. {story.failure.message}" if story.failure else story.status
        return f"{entry.name}: {end}  {address}/submissions/{story.id}/"

    def contradictions(self, entries: Sequence[demonstration.Entry], stories: Sequence[SubmissionStory]) -> list[str]:
        """What did not come out as the demonstration promises."""
        wrong = []
        for entry, story in zip(entries, stories, strict=True):
            if story.status != entry.expected:
                wrong.append(f"{entry.name} is {story.status}, not {entry.expected}")
            elif entry.expected == "finished" and not any(
                one.primary and one.value is not None for one in story.scores
            ):
                wrong.append(f"{entry.name} lacks the score that its board is ranked by")
            elif entry.expected == "failed":
                if story.failure is None or story.failure.code != "agent_error":
                    wrong.append(f"{entry.name} did not fail with agent_error")
                if not Job.objects.filter(evaluation__submission=story.id).exclude(log="").exists():
                    wrong.append(f"{entry.name} has no log")
        return wrong

    def serve(self, processes: Processes) -> None:
        """Keep serving until Ctrl-C; say so if a process ends."""
        try:
            while True:
                processes.check()
                time.sleep(1)
        except KeyboardInterrupt:
            self.say("Stopping")


def _primary(cells: Mapping[str, Cell], found: Board) -> float:
    cell = cells.get(found.primary.key)
    return (cell.value if cell else None) or 0.0
