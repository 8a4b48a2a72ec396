"""The agent's program: one function around each question, called until none is left."""

from solver import Answer, solve

from gauntlet_agent import Episode, run


def answer(episode: Episode) -> Answer:
    """Answer one question."""
    return solve(episode)


if __name__ == "__main__":
    run(answer)
