"""What pages, API and live updates tell of a submission: one shape, cut to what the reader may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, kw_only=True)
class FailureStory:
    """Why it failed, whose fault it is, and what to do: never program output."""

    code: str
    owner: str  # participant, organizer or platform
    message: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the line: received, checked, queued, running, scoring, finished."""

    name: str
    state: str  # done, current, waiting, failed, skipped
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ScoreStory:
    """A column's value beside the participant's best other one and the leader's."""

    column: str
    title: str
    source: str  # the score that the column takes, by which a scenario's scores are named too
    precision: int
    sorting: str
    primary: bool
    value: float | None
    low: float | None
    high: float | None
    own_best: float | None
    leader: float | None
    unverified: int  # trials that count in it and that nobody could verify
    unverified_rule: str  # what such a trial counts, as a sentence


@dataclass(frozen=True, kw_only=True)
class EpisodeStory:
    """One scenario and trial, as far as the reader may see it."""

    episode: UUID | None  # for the trajectory's page; None where it is hidden
    scenario: str  # opaque id
    text: str | None
    category: str | None
    trial: int
    outcome: str
    failure: FailureStory | None
    seconds: float | None
    tool_calls: int
    model_calls: int
    tokens: int  # of the model calls, in and out
    cost: str  # of them, a decimal
    scores: dict[str, float]
    details: dict[str, Any]
    has_trajectory: bool


@dataclass(frozen=True, kw_only=True)
class JudgeStory:
    """What the judge of an evaluation used, for its organizer; kept answers use nothing."""

    model: str
    tokens: int
    cost: str  # a decimal
    budget: str  # of cost, of tokens, or both, in words


@dataclass(frozen=True, kw_only=True)
class EvaluationStory:
    """One evaluation."""

    id: UUID
    task: str
    number: int
    state: str
    position: int | None  # 1 is next; while queued
    estimate_seconds: int | None  # until it starts, where there is a history to estimate from
    unserved_queue: str  # its queue's name where no worker takes jobs of it now; empty otherwise
    queue: str  # in which its jobs wait, or waited
    queue_owner: str  # whose workers alone serve that; empty: the platform's do
    episodes_done: int
    episodes_total: int
    failure: FailureStory | None
    queued_at: datetime
    started_at: datetime | None
    scoring_at: datetime | None
    ended_at: datetime | None
    agent_seconds: float
    scorer_seconds: float
    record: dict[str, Any]
    unverified: int  # episodes that some scoring program could not judge; what they count is each column's rule
    judge: JudgeStory | None  # for organizers
    reports: Sequence[str]  # programs whose own page this reader may open
    episodes: Sequence[EpisodeStory]


@dataclass(frozen=True, kw_only=True)
class ContainerStory:
    """What the check found in a container image."""

    id: str  # as the participant's Docker shows it
    size: int  # bytes of its files
    layers: int
    architecture: str
    user: str  # as the image has it; its program runs as another
    command: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SubmissionStory:
    """A submission from top to bottom."""

    id: UUID
    name: str
    file_name: str
    digest: str
    size: int
    competition: str
    phase: int
    phase_name: str
    queue_owner: str  # whose workers alone serve the queue that its phase has now; empty: the platform's do
    participant: str  # or team
    sent_by: str  # of a team, where it was not the captain
    baseline: bool
    created_at: datetime
    status: str  # received, checking, rejected, waiting, queued, running, scoring, finished, failed, cancelled
    final: bool
    failure: FailureStory | None
    findings: Sequence[dict[str, Any]]
    container: ContainerStory | None
    check_log: str | None
    steps: Sequence[Step]
    evaluations: Sequence[EvaluationStory]
    scores: Sequence[ScoreStory]
    log: str | None  # None: not visible to this reader
    log_visible: bool
    organizer_log: str  # what scoring programs and lost environments printed; empty for everybody else
    scores_visible: bool
    excluded: str  # why an organizer took it off the boards; empty where none did
    counts_as: str
    can_cancel: bool
