"""Two submissions of a phase side by side: which is better, column by column, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db.models import QuerySet

from gauntlet.competitions.models import Column, Leaderboard, Sorting
from gauntlet.competitions.visibility import Audience, Part, may_see
from gauntlet.evaluation.errors import ScoresNotComparable, ScoresNotVisible
from gauntlet.evaluation.models import Episode
from gauntlet.evaluation.scores import task_scores
from gauntlet.leaderboards.columns import primary_column, scenario_scores, shown_columns
from gauntlet.leaderboards.exact import mean
from gauntlet.leaderboards.scores import TrialScore
from gauntlet.submissions.access import access_submission_as_reader
from gauntlet.submissions.models import Submission

if TYPE_CHECKING:
    from gauntlet_scoring.comparison import Comparison

MOST_CANDIDATES: Final = 200


@dataclass(frozen=True, kw_only=True)
class ScenarioChange:
    """A scenario on which the two differ in a column: the mean of its trials for each. More is better."""

    scenario: str  # its opaque id
    a: float
    b: float


@dataclass(frozen=True, kw_only=True)
class ColumnComparison:
    """One column of the board. In ``found`` more is better: where less is, its values have the other sign."""

    column: Column
    primary: bool
    found: Comparison
    changed: Sequence[ScenarioChange] = ()  # of ``found``'s sign; where a is worst beside b first

    @property
    def sign(self) -> int:
        """By which a value of ``found`` is to be multiplied to be one of the column."""
        return -1 if self.column.sorting == Sorting.ASC else 1

    @property
    def better(self) -> str:
        """``a``, ``b``, or ``undecided`` where the difference may be chance."""
        return str(self.found.verdict())


@dataclass(frozen=True, kw_only=True)
class SubmissionComparison:
    """Submission ``a`` beside ``b``."""

    a: Submission
    b: Submission
    columns: Sequence[ColumnComparison]


def candidates(submission: Submission, *, audience: Audience) -> QuerySet[Submission]:
    """What a reader may compare a submission with: scored ones of its phase, the newest first.

    A participant sees the scenarios of their own submissions only; an organizer those of all.
    """
    others = Submission.objects.filter(phase=submission.phase_id, evaluations__in_force=True).exclude(pk=submission.pk)
    if audience is not Audience.ORGANIZER:
        others = others.filter(participant=submission.participant_id)
    return others.select_related("participant", "team").distinct().order_by("-created_at")[:MOST_CANDIDATES]


def readable_submission(user: Any, submission_id: UUID, *, now: datetime) -> tuple[Submission, Audience]:
    """A submission whose scores by scenario this user may see.

    Raises:
        NotSignedIn, SubmissionNotFound, ScoresNotVisible
    """
    submission, audience = access_submission_as_reader(user, submission_id)
    if not may_see(Part.SCENARIO_SCORE, phase=submission.phase, audience=audience, now=now, scenario_public=False):
        raise ScoresNotVisible("The organizer of this phase does not show its scores yet.")
    return submission, audience


def compare_submissions(user: Any, a: UUID, b: UUID, *, now: datetime) -> SubmissionComparison:
    """Compare two submissions on the scenarios that both have scores of.

    Raises:
        NotSignedIn, SubmissionNotFound, ScoresNotVisible
        ScoresNotComparable: they belong to different phases, or one of them has no score in force.
    """
    first, _ = readable_submission(user, a, now=now)
    second, _ = readable_submission(user, b, now=now)
    if first.phase_id != second.phase_id:
        raise ScoresNotComparable("Submissions of different phases were run on different scenarios.")
    board = (
        Leaderboard.objects.filter(competition__phases=first.phase_id, hidden=False).prefetch_related("columns").first()
    )
    columns = [column for column in shown_columns(board) if _is_plain(column)] if board else []
    left, right = _scores(first, columns), _scores(second, columns)
    primary = primary_column(board) if board else None
    return SubmissionComparison(
        a=first,
        b=second,
        columns=[
            ColumnComparison(
                column=column,
                primary=column == primary,
                found=found,
                changed=_changed(left[column], right[column]),
            )
            for column in columns
            if left[column] and right[column] and (found := _compare(left[column], right[column])) is not None
        ],
    )


def _is_plain(column: Column) -> bool:
    """Whether the column is the mean of something that each scenario has, which is what a comparison compares."""
    return not column.computation and column.over == "mean"


def _scores(submission: Submission, columns: Sequence[Column]) -> Mapping[Column, Mapping[str, float]]:
    """By column and scenario, the mean of its trials."""
    in_force = submission.evaluations.filter(in_force=True).order_by("task__index")
    tasks = [task_scores(one) for one in in_force]
    if not tasks:
        raise ScoresNotComparable(f"The submission {submission.name} has no score yet.")
    return {column: _by_scenario(column, scenario_scores(column, tasks)) for column in columns}


def _by_scenario(column: Column, rows: Sequence[TrialScore]) -> dict[str, float]:
    sign = -1 if column.sorting == Sorting.ASC else 1
    scenarios: dict[str, list[float]] = {}
    for row in rows:
        scenarios.setdefault(row.scenario, []).append(sign * row.value)
    # As the board combines them: a comparison's own sum would let equal trials differ by their rounding.
    return {scenario: mean(values) for scenario, values in scenarios.items()}


def _changed(left: Mapping[str, float], right: Mapping[str, float]) -> list[ScenarioChange]:
    both = [
        ScenarioChange(scenario=key.rpartition(":")[2], a=left[key], b=right[key])
        for key in sorted(left.keys() & right.keys())
    ]
    return sorted((one for one in both if one.a != one.b), key=lambda one: (one.a - one.b, one.scenario))


def readable_episodes(submission: Submission, *, audience: Audience, now: datetime) -> Mapping[str, Episode]:
    """The first trial of each scenario whose record this reader may open, by the scenario's opaque id; one query."""
    episodes = Episode.objects.filter(evaluation__submission=submission, evaluation__in_force=True, trial=1)
    return {
        one.scenario.opaque_id: one
        for one in episodes.exclude(trajectory=None).select_related("scenario")
        if may_see(
            Part.TRAJECTORY,
            phase=submission.phase,
            audience=audience,
            now=now,
            scenario_public=one.scenario.public,
        )
    }


def _compare(left: Mapping[str, float], right: Mapping[str, float]) -> Comparison | None:
    """None where the scores have no scenario in common, or are too large to be reckoned with."""
    from gauntlet_scoring.comparison import compare_paired

    try:
        found = compare_paired(*({key: [value] for key, value in side.items()} for side in (left, right)))
    except (OverflowError, ValueError):
        return None
    return found if found.scenarios else None
