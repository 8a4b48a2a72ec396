"""The rows of a competition, from a plan whose every word was checked."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

from django.conf import settings

from gauntlet.accounts.models import User
from gauntlet.competitions.bundle.plan import BoardPlan, CompetitionPlan, PhasePlan, TaskPlan
from gauntlet.competitions.models import (
    Baseline,
    Column,
    Competition,
    Leaderboard,
    Page,
    Phase,
    Scenario,
    Task,
    TaskScoringProgram,
)
from gauntlet.competitions.rendering import render
from gauntlet.storage.models import Artifact

_SCENARIOS_AT_ONCE = 1000


def opaque_id(task_id: UUID, key: str) -> str:
    """What participants and agents see of a scenario: unguessable, and the same for the same scenario."""
    secret = settings.GAUNTLET_SECRET.encode()
    return hmac.new(secret, f"scenario {task_id}/{key}".encode(), hashlib.sha256).hexdigest()[:16]


class Creation:
    """Creates the rows of one competition; call it in a transaction.

    ``artifacts`` holds what every folder of the plan was stored as.
    """

    def __init__(self, plan: CompetitionPlan, artifacts: Mapping[Path, Artifact]) -> None:
        self._plan = plan
        self._artifact: Callable[[Path | None], Artifact | None] = lambda path: artifacts[path] if path else None
        self._artifacts = artifacts

    def create(self, *, slug: str, organizer: User, bundle: Artifact, published: bool) -> Competition:
        """Create the competition with everything in it."""
        plan = self._plan
        competition = Competition.objects.create(
            slug=slug,
            title=plan.title,
            description=plan.description,
            organizer=organizer,
            terms=plan.terms,
            registration_auto_approve=plan.registration_auto_approve,
            time_zone=plan.time_zone,
            contact_email=plan.contact_email,
            reward=plan.reward,
            max_team_size=plan.max_team_size,
            published=published,
            bundle=bundle,
            extras=plan.extras,
        )
        Page.objects.bulk_create(
            Page(competition=competition, index=index, title=page.title, source=page.source, html=render(page.source))
            for index, page in enumerate(plan.pages)
        )
        tasks = {task.index: self._create_task(competition, task) for task in plan.tasks}
        for index, phase in enumerate(plan.phases):
            self._create_phase(competition, phase, index=index, tasks=tasks)
        for index, board in enumerate(plan.boards):
            self._create_board(competition, board, index=index)
        return competition

    def _create_task(self, competition: Competition, plan: TaskPlan) -> Task:
        task = Task.objects.create(
            competition=competition,
            index=plan.index,
            name=plan.name,
            description=plan.description,
            environment=self._artifact(plan.environment),
            environment_command=plan.environment_command,
            code_tool=plan.code_tool.model_dump() if plan.code_tool else None,
            input_data=self._artifact(plan.input_data),
            reference_data=self._artifact(plan.reference_data),
            hidden=plan.hidden,
            sandbox_image=plan.sandbox_image,
            scorer_image=plan.scorer_image,
            limits=plan.limits,
            judge=plan.judge,
        )
        TaskScoringProgram.objects.bulk_create(
            TaskScoringProgram(
                task=task,
                index=index,
                key=program.key,
                version=program.version,
                program=self._artifacts[program.folder],
            )
            for index, program in enumerate(plan.programs)
        )
        Scenario.objects.bulk_create(
            (
                Scenario(
                    task=task,
                    index=index,
                    key=scenario.key,
                    opaque_id=opaque_id(task.pk, scenario.key),
                    text=scenario.text,
                    show=scenario.show,
                    category=scenario.category,
                    tags=scenario.tags,
                    public=scenario.public,
                )
                for index, scenario in enumerate(plan.scenarios)
            ),
            batch_size=_SCENARIOS_AT_ONCE,
        )
        return task

    def _create_phase(
        self, competition: Competition, plan: PhasePlan, *, index: int, tasks: Mapping[int, Task]
    ) -> None:
        phase = Phase.objects.create(
            competition=competition,
            index=index,
            name=plan.name,
            description=plan.description,
            start=plan.start,
            end=plan.end,
            max_submissions_per_day=plan.max_submissions_per_day,
            max_submissions=plan.max_submissions,
            max_failed_starts_per_day=plan.max_failed_starts_per_day,
            visibility=plan.visibility,
            reveal_at=plan.reveal_at,
            takes=plan.takes,
            queue=plan.queue,
            trials=plan.trials,
            isolation=plan.isolation,
            max_parallel_episodes=plan.max_parallel_episodes,
            llm=plan.llm,
            execution_time_limit=plan.execution_time_limit,
            kit=self._artifact(plan.kit),
            public_data=self._artifact(plan.public_data),
        )
        phase.tasks.set(tasks[number] for number in plan.tasks)

    def _create_board(self, competition: Competition, plan: BoardPlan, *, index: int) -> None:
        board = Leaderboard.objects.create(
            competition=competition,
            index=index,
            key=plan.key,
            title=plan.title,
            submission_rule=plan.submission_rule,
            hidden=plan.hidden,
        )
        Column.objects.bulk_create(
            Column(
                leaderboard=board,
                index=column.index,
                key=column.key,
                title=column.title,
                sorting=column.sorting,
                precision=column.precision,
                primary=column.index == plan.primary,
                hidden=column.hidden,
                source=column.source,
                over=column.over,
                where=column.where,
                pass_at=column.pass_at,
                unverified=column.unverified,
                worst=column.worst,
                min_verified=column.min_verified,
                interval=column.interval,
                low=column.low,
                high=column.high,
                computation=column.computation,
                computation_indexes=column.computation_indexes,
            )
            for column in plan.columns
        )
        Baseline.objects.bulk_create(
            Baseline(leaderboard=board, index=number, name=one.name, source=one.source, scores=one.scores)
            for number, one in enumerate(plan.baselines)
        )
