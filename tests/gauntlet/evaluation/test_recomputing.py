"""Boards computed anew from stored scores: what changed is told, and a second time nothing changes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gauntlet.competitions.models import Column, Phase, Task
from gauntlet.evaluation.models import Episode, Evaluation, ScenarioScore
from gauntlet.evaluation.scores import record_again
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.submissions.models import Submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    """Two tasks, of one and of three scenarios."""
    phase = make_phase(scenarios=1)
    other = make_phase(scenarios=3, competition=phase.competition)
    phase.tasks.add(*other.tasks.all())
    Column.objects.filter(key="score").update(worst=0.0)
    return phase


@pytest.fixture
def finish(phase: Phase) -> Callable[..., Evaluation]:
    """A finished evaluation in force, each of its episodes with these steps and this score."""

    def make(submission: Submission, task: Task, *, steps: int, score: float) -> Evaluation:
        scenarios = list(task.scenarios.all())
        evaluation = Evaluation.objects.create(
            submission=submission,
            task=task,
            state="finished",
            in_force=True,
            seed=1,
            queued_at=timezone.now(),
            episodes_total=len(scenarios),
            record={"scoring": {"rubric": {}}},
        )
        for position, scenario in enumerate(scenarios):
            episode = Episode.objects.create(
                evaluation=evaluation, scenario=scenario, position=position, seed=1, outcome="answered", steps=steps
            )
            ScenarioScore.objects.create(episode=episode, key="rubric.score", value=score)
        return evaluation

    return make


@pytest.fixture
def scored(phase: Phase, make_submission: Callable[..., Submission], finish: Any) -> Submission:
    """Its steps are 4 and 0, 0, 0: the mean of all is 1, and that of the tasks' means would be 2."""
    submission = make_submission(phase)
    small, large = phase.tasks.all()
    finish(submission, small, steps=4, score=1.0)
    finish(submission, large, steps=0, score=0.5)
    assert record_again(submission)
    return submission


def value(submission: Submission, key: str) -> float | None:
    return ColumnValue.objects.get(submission=submission, column__key=key).value


def recompute(phase: Phase, *options: str) -> str:
    out = io.StringIO()
    call_command("recompute_boards", "--competition", phase.competition.slug, *options, stdout=out)
    return out.getvalue()


def test_values_of_an_old_meaning_are_computed_anew_and_a_second_time_nothing_changes(
    phase: Phase, scored: Submission
) -> None:
    name = phase.competition.slug
    ColumnValue.objects.filter(submission=scored, column__key="steps").update(value=2.0)
    ColumnValue.objects.filter(submission=scored, column__key="score").delete()
    Entry.objects.update(primary_value=None)
    before = Entry.objects.get().updated_at
    would = recompute(phase, "--dry-run")
    assert would == f"{name}: 1 submissions computed, 2 values and 1 rows would change.\n"
    assert (value(scored, "steps"), Entry.objects.get().primary_value) == (2.0, None)

    assert recompute(phase) == f"{name}: 1 submissions computed, 2 values and 1 rows changed.\n"
    assert (value(scored, "steps"), value(scored, "score")) == (1.0, 0.625)
    entry = Entry.objects.get()
    assert (entry.primary_value, entry.scenarios) == (0.625, 4)
    assert entry.updated_at > before

    assert recompute(phase) == f"{name}: 1 submissions computed, 0 values and 0 rows changed.\n"
    assert Entry.objects.get().updated_at == entry.updated_at


def test_a_column_that_is_defined_anew_moves_the_rows_that_it_ranks(
    phase: Phase, scored: Submission, make_submission: Callable[..., Submission], finish: Any
) -> None:
    better = make_submission(phase, scored.participant)
    for task in phase.tasks.all():
        finish(better, task, steps=9, score=0.7)
    record_again(better)
    assert Entry.objects.get().submission == better
    phase.competition.leaderboards.get().columns.filter(key="score").update(over="max")
    assert "4 values" not in recompute(phase)
    assert Entry.objects.get().submission == scored
    assert Entry.objects.get().primary_value == 1.0


def test_what_has_results_of_some_tasks_only_stays_as_it_is(
    phase: Phase, make_submission: Callable[..., Submission], finish: Any
) -> None:
    finish(make_submission(phase), phase.tasks.first(), steps=1, score=1.0)
    assert recompute(phase).endswith("0 rows changed; 1 left as they are, because some task has no result yet.\n")
    assert not ColumnValue.objects.exists()


def test_without_a_name_every_competition_is_computed(phase: Phase, make_phase: Callable[..., Phase]) -> None:
    other = make_phase()
    out = io.StringIO()
    call_command("recompute_boards", stdout=out)
    assert {line.partition(":")[0] for line in out.getvalue().splitlines()} == {
        phase.competition.slug,
        other.competition.slug,
    }
    with pytest.raises(CommandError, match="no competition 'nowhere'"):
        call_command("recompute_boards", "--competition", "nowhere")


def test_totals_of_several_tasks_are_added(phase: Phase, scored: Submission) -> None:
    board = phase.competition.leaderboards.get()
    Column.objects.create(
        leaderboard=board, index=7, key="tokens", title="Tokens", source="episodes.total_tokens", over="sum"
    )
    Episode.objects.filter(evaluation__submission=scored).update(tokens=10)
    recompute(phase)
    assert value(scored, "tokens") == 40.0
