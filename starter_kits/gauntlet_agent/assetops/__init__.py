"""What the AssetOps starter kits share: who the agents are, how they read, work and report, with and without a model.

A kit holds what makes it a paradigm (a supervisor's loop, a planner and its orchestrator) and takes the rest from here;
decision 0022 of the project says why. Import what you want to change into your kit, or write your own beside it: an
agent is any object with ``name`` and ``work(request, desk) -> Report``.
"""

from gauntlet_agent.assetops.agents import SubAgent, sub_agents
from gauntlet_agent.assetops.composing import compose, in_words
from gauntlet_agent.assetops.desk import Desk, Workplace
from gauntlet_agent.assetops.planning import Step
from gauntlet_agent.assetops.recipes import plan
from gauntlet_agent.assetops.record import Trajectory
from gauntlet_agent.assetops.report import Report, Request, Review
from gauntlet_agent.assetops.settings import Settings

__all__ = [
    "Desk",
    "Report",
    "Request",
    "Review",
    "Settings",
    "Step",
    "SubAgent",
    "Trajectory",
    "Workplace",
    "compose",
    "in_words",
    "plan",
    "sub_agents",
]
