"""The agent's program: one function around each question, called until none is left."""

from pathlib import Path

from solver import solve

from gauntlet_agent import Episode, run
from gauntlet_agent.assetops import Settings
from gauntlet_agent.assetops.answering import Answer

SETTINGS = Settings.read(Path(__file__).parent)


def answer(episode: Episode) -> Answer:
    """Answer one question."""
    return solve(episode, SETTINGS)


if __name__ == "__main__":
    run(answer)
