"""Run the demonstration: services, a competition, three agents, the leaderboard, and a site to look at."""

from __future__ import annotations

import secrets
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from gauntlet import demonstration
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.processes import Processes, free_port, platform_processes
from gauntlet.submissions.models import Submission

_WAIT_SECONDS: Final = 1200


class Command(BaseCommand):
    """``manage.py demo [--exit]``"""

    help = "Three participants submit agents to the quickstart competition; print the leaderboard and serve it."

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
        self.say("Preparing the quickstart competition from this installation's secret")
        competition = demonstration.quickstart(organizer)
        phase = competition.phases.get(index=demonstration.PHASE)
        port = free_port(options["port"])
        address = f"http://localhost:{port}"
        with platform_processes(settings.VAR / "log", environment={"SITE_URL": address}) as processes:
            self.say("Starting a worker, the beat and the web server")
            processes.start_worker()
            processes.start_beat()
            processes.start_web(port)
            agents = demonstration.demo_agents()
            submissions = [
                demonstration.submit(phase, demonstration.demo_user(agent.participant, password=password), agent.folder)
                for agent in agents
            ]
            stories = self.wait(submissions, processes)
            self.say(f"\n{competition.title}, {phase.name}: {address}/competitions/{competition.slug}/\n")
            self.say(demonstration.board_text(demonstration.board_of(phase)))
            self.say("")
            for story in stories:
                self.say(self.outcome(story, address))
            wrong = self.contradictions(agents, stories)
            if options["exit"]:
                if wrong:
                    raise CommandError("; ".join(wrong))
                return
            names = ", ".join([demonstration.ORGANIZER, *(agent.participant for agent in agents)])
            self.say(f"\nServing {address} until Ctrl-C. Log in as {names} with the password {password}")
            self.serve(processes)

    def say(self, text: str) -> None:
        """Print a line at once."""
        self.stdout.write(text)
        self.stdout.flush()

    def wait(self, submissions: Sequence[Submission], processes: Processes) -> list[SubmissionStory]:
        """Wait until each submission is in a final state, and say how they stand whenever that changes."""
        deadline = time.monotonic() + _WAIT_SECONDS
        told = ""
        while True:
            stories = demonstration.stories(submissions)
            line = demonstration.progress_line(stories)
            if line != told:
                told = line
                self.say(line)
            if all(story.final for story in stories):
                return stories
            processes.check()
            if time.monotonic() > deadline:
                raise CommandError(f"not finished after {_WAIT_SECONDS} s; see the logs in {settings.VAR / 'log'}")
            time.sleep(0.5)

    def outcome(self, story: SubmissionStory, address: str) -> str:
        """One line on how a submission ended."""
        end = f"failed: {story.failure.code}. {story.failure.message}" if story.failure else story.status
        return f"{story.participant}: {end}  {address}/submissions/{story.id}/"

    def contradictions(
        self, agents: Sequence[demonstration.DemoAgent], stories: Sequence[SubmissionStory]
    ) -> list[str]:
        """What did not come out as the demonstration promises."""
        wrong = []
        for agent, story in zip(agents, stories, strict=True):
            if story.status != agent.expected:
                wrong.append(f"{agent.participant} is {story.status}, not {agent.expected}")
            elif agent.expected == "finished" and any(score.value is None for score in story.scores):
                wrong.append(f"{agent.participant} lacks a score")
            elif agent.expected == "failed":
                if story.failure is None or story.failure.code != "agent_error":
                    wrong.append(f"{agent.participant} did not fail with agent_error")
                if not Job.objects.filter(evaluation__submission=story.id).exclude(log="").exists():
                    wrong.append(f"{agent.participant} has no log")
        return wrong

    def serve(self, processes: Processes) -> None:
        """Keep serving until Ctrl-C; say so if a process ends."""
        try:
            while True:
                processes.check()
                time.sleep(1)
        except KeyboardInterrupt:
            self.say("Stopping")
