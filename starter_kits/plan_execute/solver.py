"""One question: plan and review; execute where tools are offered; summarise."""

from __future__ import annotations

from orchestrator import Orchestrator, SharedMemory
from plan_text import format_plan
from planner import ModelPlanner, Planner, RulePlanner
from reviewer import ModelReviewer, Reviewer, RuleReviewer, reviewed_plan
from roster import team
from summariser import summarise

from gauntlet_agent import Episode
from gauntlet_agent.assetops import Settings, Trajectory, Workplace
from gauntlet_agent.assetops.answering import Answer, is_planning, open_workplace, plan_as_answer

PARADIGM = "plan-execute"


def solve(episode: Episode, settings: Settings) -> Answer:
    """Answer the question, or declare a plan for it where no tools are offered."""
    place = open_workplace(episode, settings)
    planner, reviewer = planner_and_reviewer(settings, place)
    record = Trajectory(episode.text, PARADIGM)
    steps = reviewed_plan(episode.text, planner, reviewer, retries=settings.plan_retries, record=record)
    episode.plan([step.as_plan() for step in steps])
    text = format_plan(steps)
    episode.note(text)
    if is_planning(place):
        episode.note(record.note(place))
        return plan_as_answer(steps, text)
    memory = SharedMemory(episode.text)
    orchestrator = Orchestrator(place, team(settings, place), parallel=settings.parallel)
    reports = orchestrator.execute(steps, memory, record)
    answer, source = summarise(episode.text, episode.show, steps, reports, place.models)
    record.add("summarise", "done", observation=f"by {source}: {answer[0][:200]}")
    episode.note(record.note(place))
    return answer


def planner_and_reviewer(settings: Settings, place: Workplace) -> tuple[Planner, Reviewer]:
    """The model where there is one, else rules."""
    if place.models is None:
        return RulePlanner(), RuleReviewer()
    return ModelPlanner(place.models, examples=settings.examples), ModelReviewer(place.models)
