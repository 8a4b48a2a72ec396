"""From rows to what a worker is given."""

from __future__ import annotations

from typing import Any, Final

from gauntlet.competitions.models import Takes, Task
from gauntlet.evaluation.models import Episode, Evaluation, Job, JobKind
from gauntlet.metering.selectors import judge_spec, model_spec
from gauntlet.storage import models as storage
from gauntlet.submissions.models import Submission
from gauntlet_runtime.jobs import (
    AgentSpec,
    Artifact,
    ContainerSpec,
    EnvironmentSpec,
    EpisodeLimits,
    EpisodeSpec,
    RunSpec,
    SandboxLimits,
    ScoredEpisode,
    ScoreSpec,
    ScoringProgramSpec,
)
from gauntlet_scoring.program_metadata import CodeTool

_START_SECONDS: Final = 30.0  # on top of the episodes' own time: starting the agent and its packages' imports
_JUDGE_SECONDS: Final = 3600.0  # on top of a scoring program's own time: waiting for its judge is none of its doing


def build_spec(job: Job) -> RunSpec | ScoreSpec:
    """What the job's worker has to do, read from the evaluation, its task and its phase."""
    return _score_spec(job) if job.kind == JobKind.SCORE else _run_spec(job)


def _run_spec(job: Job) -> RunSpec:
    evaluation = job.evaluation
    task, phase = evaluation.task, evaluation.submission.phase
    episodes = list(job.episodes.select_related("scenario").order_by("position"))
    limits = episode_limits(task)
    alone = phase.isolation == "scenario"
    most = 1 if alone else len(episodes)  # an agent need not work on several at once where it may
    return RunSpec(
        agent=_agent(evaluation),
        environment=_environment(task),
        episodes=[_episode(episode) for episode in episodes],
        episode_limits=limits,
        agent_limits=_sandbox_limits(task, seconds=most * limits.episode_seconds + _START_SECONDS),
        max_parallel_episodes=phase.max_parallel_episodes,
        isolation="scenario" if alone else "submission",
        trials=phase.trials,
        probe=job.index == 0 and not _is_proven(evaluation),
        llm=model_spec(phase.llm) if phase.llm else None,
    )


def _is_proven(evaluation: Evaluation) -> bool:
    """The first job was lost after it had told that the agent came up: further ones are made only then."""
    return evaluation.jobs.filter(kind=JobKind.RUN, index__gt=0).exists()


def _agent(evaluation: Evaluation) -> AgentSpec:
    submission = evaluation.submission
    bundle = submission.agent_bundle
    if bundle is None:
        raise ValueError(f"submission {submission.pk} was accepted without an agent bundle")
    container = submission.agent.get("container")
    return AgentSpec(
        bundle=artifact(bundle),
        container=_container(container) if container else None,
        command=submission.agent["command"],
        image=evaluation.task.sandbox_image,
        packages=artifact(submission.packages) if submission.packages else None,
    )


def _container(found: dict[str, Any]) -> ContainerSpec:
    return ContainerSpec(id=found["id"], environment=found["environment"], working_directory=found["working_directory"])


def _environment(task: Task) -> EnvironmentSpec:
    if task.environment is None:
        raise ValueError(f"task {task.pk} has no environment")
    # Imported here: the beat and a worker's main process, which import this, pay for neither sandboxes nor the MCP SDK.
    from gauntlet_runtime.code_runs import code_tool_spec

    seconds = 24 * 3600.0  # it lives as long as the run job; the gateway ends it
    return EnvironmentSpec(
        program=artifact(task.environment),
        command=task.environment_command,
        data=artifact(task.input_data) if task.input_data else None,
        image=task.sandbox_image,
        limits=SandboxLimits(seconds=seconds),
        code_tool=code_tool_spec(CodeTool.model_validate(task.code_tool)) if task.code_tool else None,
    )


def _episode(episode: Episode) -> EpisodeSpec:
    scenario = episode.scenario
    return EpisodeSpec(
        episode=str(episode.pk),
        scenario=scenario.opaque_id,
        key=scenario.key,
        trial=episode.trial,
        seed=episode.seed,
        text=scenario.text,
        show=scenario.show,
    )


def _score_spec(job: Job) -> ScoreSpec:
    evaluation = job.evaluation
    task = evaluation.task
    results = task.takes == Takes.RESULTS
    episodes = evaluation.episodes.select_related("scenario", "trajectory").order_by("position")
    return ScoreSpec(
        programs=[
            ScoringProgramSpec(key=program.key, program=artifact(program.program))
            for program in task.scoring_programs.select_related("program")
        ],
        reference=artifact(task.reference_data) if task.reference_data else None,
        results=_results(evaluation.submission) if results else None,
        episodes=[] if results else [_scored_episode(episode) for episode in episodes],
        image=task.scorer_image,
        limits=SandboxLimits(
            seconds=evaluation.submission.phase.execution_time_limit + (_JUDGE_SECONDS if task.judge else 0.0),
            memory=4 << 30,
            cpus=2.0,
            processes=256,
        ),
        judge=judge_spec(task.judge) if task.judge else None,
    )


def _results(submission: Submission) -> Artifact:
    if submission.agent_bundle is None:
        raise ValueError(f"submission {submission.pk} was accepted without its results")
    return artifact(submission.agent_bundle)


def _scored_episode(episode: Episode) -> ScoredEpisode:
    return ScoredEpisode(
        episode=str(episode.pk),
        key=episode.scenario.key,
        trial=episode.trial,
        outcome=episode.outcome,
        failure=episode.failure_code or None,
        seconds=episode.seconds or 0.0,
        trajectory=artifact(episode.trajectory) if episode.trajectory else None,
    )


def artifact(row: storage.Artifact) -> Artifact:
    """A stored artifact as a worker names it."""
    return Artifact(digest=row.digest, size=row.size, form=row.form)


def episode_limits(task: Task) -> EpisodeLimits:
    """What an episode of a task may take."""
    return EpisodeLimits(**_chosen(task.limits, EpisodeLimits))


def _sandbox_limits(task: Task, *, seconds: float) -> SandboxLimits:
    return SandboxLimits(**{**_chosen(task.limits, SandboxLimits), "seconds": seconds})


def _chosen(limits: dict[str, Any], model: type[EpisodeLimits] | type[SandboxLimits]) -> dict[str, Any]:
    return {name: value for name, value in limits.items() if name in model.model_fields}
