"""Executes a plan as a DAG: a step begins when those that it needs are done, independent ones at the same time.

How many run at once is what the phase allows of parallel tool calls. Results go into a memory that all steps share,
from which a step is given what it depends on. A step whose dependency failed is skipped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Any

from gauntlet_agent.assetops import Report, Request, Step, SubAgent, Trajectory, Workplace
from gauntlet_agent.assetops.answering import RESERVE_SECONDS
from gauntlet_agent.assetops.guardrails import compress


class SharedMemory:
    """The results of steps by position. Safe to use from several threads."""

    def __init__(self, question: str) -> None:
        self.question = question
        self._lock = threading.Lock()
        self._reports: dict[int, Report] = {}

    def put(self, position: int, report: Report) -> None:
        """Keep a step's report."""
        with self._lock:
            self._reports[position] = report

    def get(self, position: int) -> Report | None:
        """A step's report; None while there is none."""
        with self._lock:
            return self._reports.get(position)

    @property
    def reports(self) -> list[Report]:
        """All reports in the order of the plan."""
        with self._lock:
            return [self._reports[position] for position in sorted(self._reports)]

    def known(self, positions: Sequence[int]) -> dict[str, Any]:
        """What some steps found, each by itself and together, with the question that all is about."""
        found = [report.facts for one in positions if (report := self.get(one)) is not None]
        merged: dict[str, Any] = {}
        for facts in found:
            merged |= facts
        return {**merged, "question": self.question, **({"steps": found} if len(found) > 1 else {})}


class Orchestrator:
    """Runs plans with a team of agents."""

    def __init__(self, place: Workplace, team: Mapping[str, SubAgent], *, parallel: bool) -> None:
        self._place = place
        self._team = team
        self._workers = place.parallel if parallel else 1

    def execute(self, steps: Sequence[Step], memory: SharedMemory, record: Trajectory) -> list[Report]:
        """Execute all steps and return their reports in the order of the plan.

        Raises:
            GatewayError, GatewayUnreachable: what a step raised; the others are waited for first.
        """
        order = TopologicalSorter({position: step.depends_on for position, step in enumerate(steps)})
        order.prepare()
        running: dict[Future[Report], int] = {}
        with ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="step") as pool:
            while order.is_active():
                for position in order.get_ready():
                    running[pool.submit(self._step, position, steps, memory, record)] = position
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    position = running.pop(future)
                    memory.put(position, future.result())
                    order.done(position)
        return memory.reports

    def _step(self, position: int, steps: Sequence[Step], memory: SharedMemory, record: Trajectory) -> Report:
        step = steps[position]
        started = time.monotonic()
        report, state = self._done(step, memory)
        record.add(
            "delegate",
            state,
            agent=step.agent,
            request=step.task,
            observation=compress(report.answer),
            seconds=round(time.monotonic() - started, 4),
        )
        return report

    def _done(self, step: Step, memory: SharedMemory) -> tuple[Report, str]:
        broken = [report for one in step.depends_on if (report := memory.get(one)) and report.review.status == "failed"]
        if broken:
            return Report.failed(broken[0].text), "skipped"
        if getattr(self._place.episode, "seconds_left", float("inf")) < RESERVE_SECONDS:
            return Report.failed("The time is nearly up."), "skipped"
        agent = self._team.get(step.agent) or next(iter(self._team.values()))
        request = Request(step.task, memory.known(step.depends_on))
        report = agent.work(str(request), self._place.desk(agent.name, lambda _: memory.question))
        return report, "failed" if report.review.status == "failed" else "done"
