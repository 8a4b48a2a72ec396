"""What there is to draw from: finished episodes with a judge's verdicts, and scenarios."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, QuerySet

from gauntlet.competitions.models import Competition, Phase, Scenario, Task
from gauntlet.evaluation.models import Episode, ScenarioScore
from gauntlet.reviews.criteria import JUDGED, majority
from gauntlet.storage.services import open_artifact

GROUND_TRUTH: Final = "ground_truth.jsonl"
_NAMES: Final = {name: criterion.key for criterion in JUDGED for name in criterion.scores}


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An episode that can be drawn."""

    episode: Episode  # with its scenario
    verdicts: dict[str, bool]  # the judge's, by criterion

    @property
    def stratum(self) -> tuple[str, bool]:
        """The scenario's category, and whether the judge found all of it right."""
        return self.episode.scenario.category, all(self.verdicts.values())


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A phase in which a program has judged episodes."""

    phase: Phase
    program: str
    episodes: int  # that can be drawn


def judged(competition: Competition) -> list[Judged]:
    """What judge validations of a competition can be drawn from; two queries, whatever the number of phases."""
    counted = (
        _scores()
        .filter(episode__evaluation__submission__phase__competition=competition)
        .order_by()
        .values_list("episode__evaluation__submission__phase", "key")
        .annotate(n=Count("episode", distinct=True))
    )
    found: dict[tuple[int, str], dict[str, int]] = {}
    for phase, key, number in counted:
        program, _, name = key.partition(".")
        if name in _NAMES:
            found.setdefault((phase, program), {})[_NAMES[name]] = number
    return [
        Judged(phase=phase, program=program, episodes=min(numbers.values()))
        for phase in competition.phases.all()
        for (pk, program), numbers in sorted(found.items())
        if pk == phase.pk and len(numbers) == len(JUDGED)
    ]


def _scores() -> QuerySet[ScenarioScore]:
    """The scores of episodes that can be drawn: of evaluations in force, answered, with their record, no baselines.

    An episode without an answer is not among them: nobody needs to look at it to know that it failed.
    """
    return ScenarioScore.objects.filter(
        episode__evaluation__in_force=True,
        episode__evaluation__submission__baseline=False,
        episode__outcome="answered",
        episode__trajectory__isnull=False,
    )


def candidates(phase: Phase, *, program: str) -> list[Candidate]:
    """The episodes of the phase that this program has judged by all three criteria."""
    verdicts: dict[Any, dict[str, bool]] = {}
    names = [f"{program}.{name}" for name in _NAMES]
    scores = _scores().filter(key__in=names, episode__evaluation__submission__phase=phase)
    for episode, key, value in scores.values_list("episode", "key", "value"):
        verdicts.setdefault(episode, {})[_NAMES[key.partition(".")[2]]] = majority(value)
    complete = [pk for pk, found in verdicts.items() if len(found) == len(JUDGED)]
    episodes = Episode.objects.filter(pk__in=complete).select_related("scenario").order_by("pk")
    return [Candidate(episode=episode, verdicts=verdicts[episode.pk]) for episode in episodes]


def scenarios(phase: Phase) -> list[Scenario]:
    """The scenarios of the phase's tasks."""
    return list(Scenario.objects.filter(task__phases=phase).select_related("task").order_by("task__index", "index"))


def characteristic_forms(drawn: Iterable[Scenario]) -> dict[int, str]:
    """What the ground truth says that a right answer looks like, by the scenario's primary key; of those that have it.

    Read from the tasks' reference data, which is opened once a task.
    """
    of_tasks: dict[Any, list[Scenario]] = {}
    for scenario in drawn:
        of_tasks.setdefault(scenario.task_id, []).append(scenario)
    tasks = Task.objects.filter(pk__in=of_tasks, reference_data__isnull=False).select_related("reference_data")
    forms: dict[int, str] = {}
    for task in tasks:
        said = _forms(task)
        forms |= {one.pk: said[one.key] for one in of_tasks[task.pk] if one.key in said}
    return forms


def _forms(task: Task) -> dict[str, str]:
    if task.reference_data is None:
        return {}
    with open_artifact(task.reference_data) as stored, zipfile.ZipFile(stored) as archive:
        name = _file(archive.namelist())
        if name is None:
            return {}
        with archive.open(name) as opened:
            rows = [_row(line) for line in io.TextIOWrapper(opened, encoding="utf-8-sig", errors="replace")]
    return {str(row["id"]): row["characteristic_form"] for row in rows if row}


def _file(names: Sequence[str]) -> str | None:
    """The file that scoring programs read, too: of that name, or the one there is."""
    if GROUND_TRUTH in names:
        return GROUND_TRUTH
    others = [name for name in names if name.endswith(".jsonl") and "/" not in name]
    return others[0] if len(others) == 1 else None


def _row(line: str) -> dict[str, Any]:
    """A line's object, where it has an id and a form; reference data of a competition of its own kind need not."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(row, dict) or not isinstance(row.get("characteristic_form"), str) or "id" not in row:
        return {}
    return row
