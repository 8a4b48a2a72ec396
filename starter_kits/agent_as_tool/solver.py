"""One question: the planning track wants a plan, the execution track an answer."""

from __future__ import annotations

from deciders import Decider, ModelDecider, RuleDecider
from memory import Memory
from roster import team
from supervisor import Supervisor

from gauntlet_agent import Episode
from gauntlet_agent.assetops import Settings, Trajectory, Workplace
from gauntlet_agent.assetops.answering import Answer, is_planning, open_workplace, plan_as_answer

PARADIGM = "agent-as-tool"


def solve(episode: Episode, settings: Settings) -> Answer:
    """Answer the question, or declare a plan for it where no tools are offered."""
    place = open_workplace(episode, settings)
    decider = decider_for(settings, place)
    record = Trajectory(episode.text, PARADIGM)
    if is_planning(place):
        steps = decider.plan(Memory(episode.text, episode.show))
        episode.plan([step.as_plan() for step in steps])
        record.add("plan", "done", observation=f"{len(steps)} steps")
        episode.note(record.note(place))
        return plan_as_answer(steps, "\n".join(f"{step.agent}: {step.task}" for step in steps))
    supervisor = Supervisor(
        place, team(settings, place), decider, max_steps=settings.max_steps, reflections=settings.reflections
    )
    outcome = supervisor.solve(episode.text, episode.show, record)
    if outcome.plan:
        episode.plan([step.as_plan() for step in outcome.plan])
    for turn in outcome.history:
        episode.note(f"{turn.number}. {turn.decision.thought}")
    episode.note(record.note(place))
    return outcome.answer


def decider_for(settings: Settings, place: Workplace) -> Decider:
    """The model where there is one, else rules."""
    if place.models is None:
        return RuleDecider()
    return ModelDecider(place.models, examples=settings.examples, context=settings.context)
