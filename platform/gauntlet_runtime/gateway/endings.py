"""How episodes end: the notices for the supervisor, and the sentences that say why."""

from __future__ import annotations

from typing import Final

from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.messages import EpisodeEnded
from gauntlet_runtime.jobs import EpisodeLimits, EpisodeSpec
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

_ORGANIZER: Final = "Its organizer has to look at it."
NOT_SET_UP: Final = f"The competition's environment could not set up this scenario. {_ORGANIZER}"
FAILED_TWICE: Final = f"The competition's environment failed twice during this episode. {_ORGANIZER}"
LOST_ITS_STATE: Final = f"The competition's environment lost its state before it was read. {_ORGANIZER}"


def no_answer(limits: EpisodeLimits) -> str:
    """The episode ran out of time."""
    return f"The agent gave no answer within the {limits.episode_seconds:g} seconds of an episode."


def record_full(limits: EpisodeLimits) -> str:
    """The episode's record is as large as it may get."""
    most = limits.record_bytes / (1 << 20)
    return (
        f"The record of this episode grew beyond the {most:g} MiB allowed: messages, notes, plans, tool calls and "
        "their results together. Say less, and ask tools for less."
    )


def too_slow(seconds: float) -> str:
    """The environment answers, but an episode would have to wait for it for too long."""
    return f"The competition's environment took more than {seconds:.0f} seconds in all of this episode. {_ORGANIZER}"


def never_began(spec: EpisodeSpec, message: str) -> EpisodeEnded:
    """An episode that no environment could serve."""
    return EpisodeEnded(
        episode=spec.episode, outcome=Outcome.FAILED, failure=FailureCode.ENVIRONMENT_ERROR, message=message
    )


def ended_notice(
    episode: Episode, outcome: Outcome, *, failure: FailureCode | None, message: str, seconds: float, lost: bool
) -> EpisodeEnded:
    """An episode that was open, with what it used; ``lost`` where its sandbox ended before it was answered."""
    return EpisodeEnded(
        episode=episode.spec.episode,
        outcome=outcome,
        failure=failure,
        message=message,
        seconds=seconds,
        steps=episode.actions,
        tool_calls=episode.tool_calls,
        model_calls=episode.meter.calls,
        tokens=episode.meter.tokens,
        cost=episode.meter.cost,
        folder=episode.recorder.folder,
        generation=episode.generation,
        lost=lost,
    )
