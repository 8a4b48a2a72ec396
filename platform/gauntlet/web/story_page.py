"""A submission's page: the words around its story. What may be seen was decided when the story was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from gauntlet.evaluation.story import EpisodeStory, EvaluationStory, ScoreStory, Step, SubmissionStory
from gauntlet.leaderboards.columns import PassMark
from gauntlet.web.queue_page import runs_on
from gauntlet.web.templatetags.gauntlet_ui import duration
from gauntlet_runtime.metering import money
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trials import trial_outcome

_TITLES: Final = {
    "received": "Received",
    "checked": "Checked",
    "queued": "Queued",
    "running": "Running",
    "scoring": "Scoring",
    "finished": "Finished",
}
_ICONS: Final = {"done": "check", "current": "turn", "waiting": "dot", "failed": "cross", "skipped": "dot"}
_WORDS: Final = {
    "done": "done",
    "current": "now",
    "waiting": "to come",
    "failed": "ended here",
    "skipped": "not reached",
}
_SHOWN_LINES: Final = 12

_COUNTS: Final = {
    "attempt": "uses one attempt",
    "failed_start": "uses one of the failed starts, no attempt",
    "nothing": "uses no attempt",
}


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A step as the line shows it."""

    title: str
    state: str
    icon: str
    word: str
    at: datetime | None


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
    failure: object
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


def said(story: SubmissionStory) -> str:
    """Where the submission stands, in one sentence; it is also what a screen reader is told at a change."""
    current = next((one for one in story.evaluations if one.state == story.status), None)
    return {
        "received": "It waits for the check of its bundle.",
        "checking": "The bundle is being unpacked and checked, and its packages installed.",
        "rejected": "The bundle was not accepted; nothing was run.",
        "waiting": "The organizer approves each run of this phase.",
        "queued": _queued(current),
        "running": f"The agent is running: {current.episodes_done} of {current.episodes_total} episodes are done."
        if current
        else "The agent is running.",
        "scoring": "All episodes are over; they are being scored."
        if current and current.episodes_total
        else "The results are being scored.",
        "finished": _finished(story),
        "failed": "It failed; the cause stands above.",
        "cancelled": "It was cancelled; nothing more will happen to it.",
    }.get(story.status, "")


def _queued(evaluation: EvaluationStory | None) -> str:
    if evaluation is None or evaluation.position is None:
        return "It waits for a free worker."
    place = (
        "It is next in the queue" if evaluation.position == 1 else f"It is number {evaluation.position} in the queue"
    )
    if evaluation.unserved_queue and evaluation.queue_owner:
        return (
            f"{place} '{evaluation.unserved_queue}', which only {evaluation.queue_owner}'s own workers serve, and none "
            "of them does now. It starts once one does; if that takes long, write to the organizer."
        )
    if evaluation.unserved_queue:
        return (
            f"{place} '{evaluation.unserved_queue}', which no worker serves at the moment. It starts once one does; if "
            "that takes long, the operator of this installation has to see to it."
        )
    if evaluation.estimate_seconds is None:
        return f"{place}; there is no history yet to estimate from."
    return f"{place} and starts in about {duration(float(round(evaluation.estimate_seconds)))}."


def _finished(story: SubmissionStory) -> str:
    seconds = sum(one.agent_seconds for one in story.evaluations)
    scored = sum(one.scorer_seconds for one in story.evaluations)
    if not any(one.episodes_total for one in story.evaluations):
        return f"It is scored. The scorers ran for {duration(scored)}."
    return f"It is scored. The agent ran for {duration(seconds)}, the scorers for {duration(scored)}."


def run_by(story: SubmissionStory) -> str:
    """Whose workers run it, in a sentence; the tasks of one submission may differ once its phase was moved.

    Empty where it ended before anything ran.
    """
    evaluations = story.evaluations
    if story.final:
        evaluations = [one for one in evaluations if one.started_at or one.scoring_at]
        if not evaluations:
            return ""
    owners = [one.queue_owner for one in evaluations] or [story.queue_owner]
    return " ".join(runs_on(owner, verb="Ran" if story.final else "Runs") for owner in dict.fromkeys(owners))


def steps(story: SubmissionStory) -> list[StepLine]:
    """The step line, each step with an icon and a word."""
    return [_step(step) for step in story.steps]


def _step(step: Step) -> StepLine:
    return StepLine(
        title=_TITLES.get(step.name, step.name),
        state=step.state,
        icon=_ICONS[step.state],
        word=_WORDS[step.state],
        at=step.at,
    )


def counts(story: SubmissionStory) -> str:
    """Which quota a failed submission used."""
    return _COUNTS.get(story.counts_as, "") if story.final else ""


def last_lines(story: SubmissionStory) -> str:
    """The end of the log that belongs to a failure."""
    text = story.check_log if story.status == "rejected" else story.log
    return "\n".join((text or "").rstrip().splitlines()[-_SHOWN_LINES:]) if story.failure else ""


def scores(story: SubmissionStory) -> list[ScoreLine]:
    """The scores' table."""
    return [_score(score) for score in story.scores]


def _score(score: ScoreStory) -> ScoreLine:
    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:.{score.precision}f}"

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
    by = round(score.value - other, score.precision)
    if by == 0:
        return "equal"
    better = (by > 0) != (score.sorting == "asc")
    return f"this one is {abs(by):.{score.precision}f} {'better' if better else 'worse'}"


def tables(
    story: SubmissionStory, titles: Mapping[str, str], *, passing: Sequence[PassMark] = ()
) -> list[EvaluationTable]:
    """The scenarios' tables, one a task.

    Args:
        titles: the board's columns by the score that each takes; of a scenario's scores these are shown, or all where
            the board takes none of them.
        passing: from which score on a trial counts as passed, where a board asks for that. Of a task the first counts
            whose score its programs give: a board may have columns for other tasks too.
    """
    passing = passing if story.scores_visible else ()
    return [
        _table(one, titles, passing) for one in story.evaluations if any(episode.outcome for episode in one.episodes)
    ]


def _table(evaluation: EvaluationStory, titles: Mapping[str, str], marks: Sequence[PassMark]) -> EvaluationTable:
    episodes = evaluation.episodes
    known = {key for episode in episodes for key in episode.scores}
    asked = marks if evaluation.state == "finished" else ()
    passing = next((mark for mark in asked if mark.source in known), None)
    shown = {key: title for key, title in titles.items() if key in known}
    shown = shown or {key: score_title(key) for key in sorted(known)}
    answered = sum(episode.outcome == "answered" for episode in episodes)
    return EvaluationTable(
        task=evaluation.task,
        summary=f"{answered} of {len(episodes)} episodes ended with an answer.{_all_models_used(episodes)}"
        f"{_unverified(evaluation)}{_judged(evaluation)}",
        models=any(episode.model_calls for episode in episodes),
        trials=any(episode.trial > 1 for episode in episodes),
        keys=[Named(title=title) for title in shown.values()],
        verdicts=passing is not None,
        episodes=[_episode(episode, shown, passing) for episode in episodes],
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


def _episode(episode: EpisodeStory, titles: Mapping[str, str], passing: PassMark | None) -> EpisodeLine:
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
        seconds=episode.seconds,
        tool_calls=episode.tool_calls,
        tokens=f"{episode.tokens:,}",
        cost=episode.cost,
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
