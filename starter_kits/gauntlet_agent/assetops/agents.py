"""The four sub-agents behind one interface: by rules, by a model, or by a model with the rules to fall back on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gauntlet_agent.assetops.desk import Desk
from gauntlet_agent.assetops.event_skills import wo_agent
from gauntlet_agent.assetops.fmsr_skills import fmsr_agent
from gauntlet_agent.assetops.iot_skills import iot_agent
from gauntlet_agent.assetops.react import ReactAgent
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.roster import FMSR, IOT, TSFM, WO
from gauntlet_agent.assetops.settings import Settings
from gauntlet_agent.assetops.tsfm_skills import tsfm_agent
from gauntlet_agent.models import Models, ModelUnavailable


class SubAgent(Protocol):
    """Somebody who does one request with the tools on a desk. Write your own, and put it into a kit's `roster.py`."""

    name: str

    def work(self, request: str, desk: Desk) -> Report:
        """Do what a request asks for and report."""


class WithFallback:
    """A sub-agent in whose place another one works where its model cannot be asked, or came to nothing."""

    def __init__(self, first: SubAgent, second: SubAgent) -> None:
        self.name = first.name
        self._first = first
        self._second = second

    def work(self, request: str, desk: Desk) -> Report:
        """Do what a request asks for and report."""
        try:
            report = self._first.work(request, desk)
        except ModelUnavailable as error:
            desk.place.episode.note(f"{self.name} works by rules: {error}")
            return self._second.work(request, desk)
        if report.review.status != "failed":
            return report
        other = self._second.work(request, desk)
        return other if other.review.status != "failed" else report


RULES: Mapping[str, Callable[[], SubAgent]] = {IOT: iot_agent, FMSR: fmsr_agent, TSFM: tsfm_agent, WO: wo_agent}


def sub_agents(settings: Settings, models: Models | None = None) -> dict[str, SubAgent]:
    """The sub-agents of a kit by name: by rules, or ReAct (CodeReAct for WO) with the rules behind it."""
    made: dict[str, SubAgent] = {}
    for name, by_rules in RULES.items():
        if models is None:
            made[name] = by_rules()
            continue
        driven = ReactAgent(
            name, models, max_steps=settings.max_steps, examples=settings.examples, context=settings.context
        )
        made[name] = WithFallback(driven, by_rules())
    return made
