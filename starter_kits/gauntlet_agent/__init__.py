"""What a participant writes an agent with.

from gauntlet_agent import Episode, run

def solve(episode: Episode) -> str:
    found = episode.call("search", query=episode.text)
    return f"I found {found}"

run(solve)
"""

from gauntlet_agent.episode import Episode, Reply
from gauntlet_agent.errors import (
    BudgetExceeded,
    Conflict,
    EpisodeClosed,
    GatewayError,
    GatewayUnreachable,
    GauntletError,
    InvalidRequest,
    NoGateway,
    TooLarge,
    ToolError,
    Unavailable,
)
from gauntlet_agent.loop import run
from gauntlet_agent.tools import Tool

__all__ = [
    "BudgetExceeded",
    "Conflict",
    "Episode",
    "EpisodeClosed",
    "GatewayError",
    "GatewayUnreachable",
    "GauntletError",
    "InvalidRequest",
    "NoGateway",
    "Reply",
    "TooLarge",
    "Tool",
    "ToolError",
    "Unavailable",
    "run",
]
