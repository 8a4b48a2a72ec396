"""A submission's page: its line of steps and its tables. What may be seen was decided when the story was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil
from typing import Final
from uuid import UUID

from gauntlet.evaluation.story import EpisodeStory, EvaluationStory, FailureStory, ScoreStory, Step, SubmissionStory
from gauntlet.leaderboards.columns import PassMark
from gauntlet.leaderboards.figures import figure
from gauntlet.web import wording
from gauntlet_runtime.metering import money
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.trials import trial_outcome

_TITLES: Final = {
    "received": "Received",
    "checked": "Checked",
    "queued": "Queued",
    "running": "Running",
    "scoring": "Scoring",
    "finished": "Finished",
}
_ICONS: Final = {
    "done": "check",
    "current": "turn",
    "waiting": "dot",
    "failed": "cross",
    "stopped": "stop",
    "skipped": "dot",
}
_WORDS: Final = {
    "done": "done",
    "current": "now",
    "waiting": "to come",
    "failed": "ended here",
    "stopped": "cancelled here",
    "skipped": "not reached",
}
PAGE_SIZE: Final = 40  # scenarios and trials on one page, of all tasks together


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A step as the line shows it."""

    title: str
    state: str
    icon: str
    word: str
    at: datetime | None
    day: bool  # whether it came on another day than the step before, so that the clock alone would mislead


@dataclass(frozen=True, kw_only=True)
class ScoreLine:
    """A score beside the participant's best other one and the leader's, with the differences in words."""

    title: str
    primary: bool
    value: str
    interval: str
    own_best: str
    leader: str
    against_own: str
    against_leader: str
    unverified: str


@dataclass(frozen=True, kw_only=True)
class Named:
    """A column of the scenarios' table, or a value in it."""

    title: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class EpisodeLine:
    """One scenario in the table."""

    episode: UUID | None
    scenario: str
    text: str | None
    trial: int
    outcome: str
    failure: FailureStory | None
    fault: str  # whose, where it is not the agent's
    seconds: float | None
    tool_calls: int
    tokens: str
    cost: str
    has_trajectory: bool
    values: Sequence[Named]
    verdict: str


@dataclass(frozen=True, kw_only=True)
class EvaluationTable:
    """The scenarios of one task."""

    task: str
    summary: str
    trials: bool
    models: bool
    verdicts: bool
    keys: Sequence[Named]
    episodes: Sequence[EpisodeLine]


def steps(story: SubmissionStory) -> list[StepLine]:
    """The step line, each step with an icon and a word."""
    cancelled = story.status == "cancelled"
    lines, before = [], story.created_at
    for step in story.steps:
        lines.append(_step(step, before=before, cancelled=cancelled))
        before = step.at or before
    return lines


def _step(step: Step, *, before: datetime, cancelled: bool) -> StepLine:
    state = "stopped" if cancelled and step.state == "failed" else step.state
    return StepLine(
        title=_TITLES.get(step.name, step.name),
        state=state,
        icon=_ICONS[state],
        word=_WORDS[state],
        at=step.at,
        day=step.at is not None and step.at.astimezone(UTC).date() != before.astimezone(UTC).date(),
    )


def scores(story: SubmissionStory) -> list[ScoreLine]:
    """The scores' table."""
    return [_score(score) for score in story.scores]


def _score(score: ScoreStory) -> ScoreLine:
    def text(value: float | None) -> str:
        return "–" if value is None else figure(value, score.precision)

    interval = ""
    if score.low is not None and score.high is not None:
        interval = f"{text(score.low)} to {text(score.high)}"
    return ScoreLine(
        title=score.title,
        primary=score.primary,
        value=text(score.value),
        interval=interval,
        own_best=text(score.own_best),
        leader=text(score.leader),
        against_own=_difference(score, score.own_best),
        against_leader=_difference(score, score.leader),
        unverified=f"{score.unverified} not verified: {score.unverified_rule}" if score.unverified else "",
    )


def _difference(score: ScoreStory, other: float | None) -> str:
    """How this submission stands against another value, in words and figures."""
    if score.value is None or other is None:
        return ""
    by = score.value - other
    if by == 0:
        return "equal"
    word = "better" if (by > 0) != (score.sorting == "asc") else "worse"
    if not round(by, score.precision):  # they have different ranks, though the figures are equal
        return f"this one is less than {10**-score.precision:.{score.precision}f} {word}"
    return f"this one is {figure(abs(by), score.precision)} {word}"


def tables(
    story: SubmissionStory, titles: Mapping[str, str], *, passing: Sequence[PassMark] = (), page: int = 1
) -> list[EvaluationTable]:
    """The scenarios' tables, one a task; those of which some row stands on this page.

    Args:
        story: told to its reader.
        titles: the board's columns by the score that each takes; of a scenario's scores these are shown, or all where
            the board takes none of them.
        passing: from which score on a trial counts as passed, where a board asks for that. For each task the first is
            used whose score that task's programs give: a board may have columns for other tasks too.
    """
    passing = passing if story.scores_visible else ()
    first, found = (page - 1) * PAGE_SIZE, []
    for one in _with_episodes(story):
        shown = one.episodes[max(0, first) : max(0, first + PAGE_SIZE)]
        first -= len(one.episodes)
        if shown:
            found.append(_table(one, titles, passing, shown=shown))
    return found


def table_pages(story: SubmissionStory) -> int:
    """On how many pages the scenarios' tables stand."""
    return max(1, ceil(sum(len(one.episodes) for one in _with_episodes(story)) / PAGE_SIZE))


def _with_episodes(story: SubmissionStory) -> list[EvaluationStory]:
    return [one for one in story.evaluations if any(episode.outcome for episode in one.episodes)]


def _table(
    evaluation: EvaluationStory,
    titles: Mapping[str, str],
    marks: Sequence[PassMark],
    *,
    shown: Sequence[EpisodeStory],
) -> EvaluationTable:
    episodes = evaluation.episodes
    known = {key for episode in episodes for key in episode.scores}
    asked = marks if evaluation.state == "finished" else ()
    passing = next((mark for mark in asked if mark.source in known), None)
    heads = {key: title for key, title in titles.items() if key in known}
    heads = heads or {key: score_title(key) for key in sorted(known)}
    digits = _cost_digits(episodes)
    answered = sum(episode.outcome == "answered" for episode in episodes)
    return EvaluationTable(
        task=evaluation.task,
        summary=f"{answered} of {len(episodes)} episodes ended with an answer.{_all_models_used(episodes)}"
        f"{_unverified(evaluation)}{_judged(evaluation)}",
        models=any(episode.model_calls for episode in episodes),
        trials=any(episode.trial > 1 for episode in episodes),
        keys=[Named(title=title) for title in heads.values()],
        verdicts=passing is not None,
        episodes=[_episode(episode, heads, passing, digits=digits) for episode in shown],
    )


def _unverified(evaluation: EvaluationStory) -> str:
    """That the judge could not speak of some episodes; what they count is said beside each score."""
    if not evaluation.unverified:
        return ""
    if evaluation.unverified == 1:
        return " One could not be verified: its judge gave no verdict."
    return f" {evaluation.unverified} could not be verified: their judge gave no verdict."


def _judged(evaluation: EvaluationStory) -> str:
    """What the judge used, for the organizer."""
    judge = evaluation.judge
    if judge is None:
        return ""
    return (
        f" The judge {judge.model} used {judge.tokens:,} tokens at a cost of {judge.cost}, of a budget of "
        f"{judge.budget}."
    )


def _all_models_used(episodes: Sequence[EpisodeStory]) -> str:
    used = models_used(
        calls=sum(episode.model_calls for episode in episodes),
        tokens=sum(episode.tokens for episode in episodes),
        cost=sum((Decimal(episode.cost) for episode in episodes), Decimal(0)),
    )
    return f" {used}." if used else ""


def models_used(*, calls: int, tokens: int, cost: Decimal) -> str:
    """What language models took, in words; nothing where none was called."""
    if not calls:
        return ""
    return f"{calls:,} model call{'' if calls == 1 else 's'} with {tokens:,} tokens at a cost of {money(cost)}"


def _cost_digits(episodes: Sequence[EpisodeStory]) -> int:
    """How many digits after the point the costs of a table have: all, and each as many, to stand below each other."""
    return max([2, *(len(one.cost.partition(".")[2]) for one in episodes)])


def _fault(failure: FailureStory | None) -> str:
    return "" if failure is None or failure.owner == Owner.PARTICIPANT else wording.FAULT[failure.owner]


def _episode(episode: EpisodeStory, titles: Mapping[str, str], passing: PassMark | None, *, digits: int) -> EpisodeLine:
    values = [
        Named(title=title, text=f"{episode.scores[key]:.2f}" if key in episode.scores else "–")
        for key, title in titles.items()
    ]
    return EpisodeLine(
        episode=episode.episode,
        scenario=episode.scenario,
        text=episode.text,
        trial=episode.trial,
        outcome=episode.outcome,
        failure=episode.failure,
        fault=_fault(episode.failure),
        seconds=episode.seconds,
        tool_calls=episode.tool_calls,
        tokens=f"{episode.tokens:,}",
        cost=f"{Decimal(episode.cost):.{digits}f}",
        has_trajectory=episode.has_trajectory,
        values=values,
        verdict=_verdict(episode, passing) if passing and episode.outcome else "",
    )


def _verdict(episode: EpisodeStory, passing: PassMark) -> str:
    code = episode.failure and FailureCode(episode.failure.code)
    return trial_outcome(episode.scores.get(passing.source), pass_at=passing.pass_at, failure=code or None).value


def score_title(key: str) -> str:
    """``rubric.data_retrieval_accuracy`` as a head: data retrieval accuracy."""
    return key.partition(".")[2].replace("_", " ") or key
