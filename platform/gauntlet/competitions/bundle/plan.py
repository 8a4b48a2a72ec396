"""A bundle that was read: plain data, from which a competition is created."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gauntlet.competitions.models import Sorting, SubmissionRule, Takes, Visibility
from gauntlet_scoring.program_metadata import CodeTool


@dataclass(frozen=True, kw_only=True)
class PagePlan:
    """A page of text."""

    title: str
    source: str


@dataclass(frozen=True, kw_only=True)
class ScenarioPlan:
    """A scenario; ``key`` is the organizer's id."""

    key: str
    text: str
    category: str
    public: bool
    show: dict[str, Any]
    line: int
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProgramPlan:
    """A scoring program: its folder, and which scores it declares with their scale and sorting."""

    key: str
    version: str
    folder: Path
    scores: dict[str, tuple[float, float, Sorting]]
    overall: frozenset[str] = frozenset()  # scores of all episodes together, which no single one has
    optional: frozenset[str] = frozenset()  # scores that an episode may be without


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """What is run and how it is scored."""

    index: int
    name: str
    description: str
    environment: Path | None  # None: participants submit results
    environment_command: list[str]
    code_tool: CodeTool | None
    input_data: Path | None
    reference_data: Path | None  # None only where results are submitted
    scenarios: list[ScenarioPlan]
    programs: list[ProgramPlan]
    sandbox_image: str
    scorer_image: str
    limits: dict[str, float]
    judge: dict[str, Any] | None  # the language model that its scoring programs may ask
    open_reports: bool  # of results: whether participants read what the scoring programs write about theirs

    @property
    def takes(self) -> Takes:
        """What participants submit to it."""
        return Takes.RESULTS if self.environment is None else Takes.AGENTS

    @property
    def hidden(self) -> bool:
        """Whether some scenario is not public, or what is right about the results."""
        if self.takes is Takes.RESULTS:
            return not self.open_reports
        return not all(scenario.public for scenario in self.scenarios)


@dataclass(frozen=True, kw_only=True)
class PhasePlan:
    """A window in time."""

    name: str
    description: str
    start: datetime
    end: datetime | None
    tasks: list[int]
    takes: Takes
    queue: str
    max_submissions_per_day: int | None
    max_submissions: int | None
    max_failed_starts_per_day: int | None
    visibility: Visibility
    reveal_at: datetime | None
    trials: int
    isolation: str
    max_parallel_episodes: int
    llm: dict[str, Any] | None
    execution_time_limit: int
    kit: Path | None
    public_data: Path | None


@dataclass(frozen=True, kw_only=True)
class ColumnPlan:
    """A column of a board."""

    index: int
    key: str
    title: str
    sorting: Sorting
    precision: int
    hidden: bool
    source: str
    over: str
    where: dict[str, list[str]]
    pass_at: float | None
    unverified: str  # what a trial counts that nobody could verify; empty: it may be without the score
    worst: float | None
    min_verified: float
    interval: str
    low: float | None
    high: float | None
    computation: str
    computation_indexes: list[int]


@dataclass(frozen=True, kw_only=True)
class BaselinePlan:
    """A published result that is shown beside a board."""

    name: str
    source: str
    scores: dict[str, float]  # by column key


@dataclass(frozen=True, kw_only=True)
class BoardPlan:
    """A leaderboard; ``primary`` is the index of the column that ranks."""

    key: str
    title: str
    submission_rule: SubmissionRule
    hidden: bool
    primary: int
    columns: list[ColumnPlan]
    baselines: list[BaselinePlan] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CompetitionPlan:
    """The whole bundle."""

    title: str
    description: str
    terms: str
    registration_auto_approve: bool
    time_zone: str
    contact_email: str
    reward: str
    max_team_size: int
    pages: list[PagePlan]
    tasks: list[TaskPlan]
    phases: list[PhasePlan]
    boards: list[BoardPlan]
    extras: dict[str, Any] = field(default_factory=dict)
