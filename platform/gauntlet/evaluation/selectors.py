"""Reading submissions' stories: everything pages and API show, cut by the visibility table."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Exists, F, OuterRef, Prefetch, QuerySet

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase, Takes
from gauntlet.competitions.visibility import Audience, Part, may_see
from gauntlet.evaluation.job_models import judge_account
from gauntlet.evaluation.models import Episode, Evaluation, Job, JobKind, Report, ScenarioDetail, ScenarioScore
from gauntlet.evaluation.states import EVALUATION, EvaluationState
from gauntlet.evaluation.story import (
    ContainerStory,
    EpisodeStory,
    EvaluationStory,
    FailureStory,
    JudgeStory,
    ScoreStory,
    Step,
    SubmissionStory,
)
from gauntlet.evaluation.stranded import unserved_queues
from gauntlet.evaluation.waiting import Wait, waits_of
from gauntlet.evaluation.whose_workers import WhoseWorkers, whose_workers
from gauntlet.leaderboards.models import Exclusion
from gauntlet.leaderboards.scores import unverified_told
from gauntlet.leaderboards.selectors import compare
from gauntlet.metering.models import Account
from gauntlet.submissions.models import Submission
from gauntlet.submissions.states import SubmissionState
from gauntlet.submissions.teams import of_person
from gauntlet_runtime.metering import money
from gauntlet_scoring.failures import FailureCode

_ORDER: Final = ("waiting", "queued", "running", "scoring", "finished", "failed", "cancelled")

_UNCHECKED: Final = (SubmissionState.RECEIVED, SubmissionState.CHECKING)

# The newest evaluation of its submission and task.
_NEWEST: Final = ~Exists(
    Evaluation.objects.filter(submission=OuterRef("submission"), task=OuterRef("task"), number__gt=OuterRef("number"))
)


def current_evaluations(submission: Submission) -> Sequence[Evaluation]:
    """The newest evaluation of each task, in the order of tasks.

    The end of one may change what the submission counts as. That is read again in the same statement and set on
    ``submission``: else an end might be told together with what was before it.
    """
    newest = submission.evaluations.filter(_NEWEST).select_related("task").order_by("task__index")
    counted = newest.annotate(counts_as=F("submission__counts_as"), given_back_for=F("submission__given_back_for"))
    evaluations = list(counted)
    for one in evaluations[:1]:
        submission.counts_as, submission.given_back_for = one.counts_as, one.given_back_for
    return evaluations


def status_of(submission: Submission, evaluations: Sequence[Evaluation]) -> str:
    """The one word that a page shows: of the intake until it is over, then of the evaluation furthest behind.

    Of several tasks' evaluations a failed or cancelled one decides once none is going on any more.
    """
    if submission.state != SubmissionState.ACCEPTED or not evaluations:
        return submission.shown_state
    states = [evaluation.state for evaluation in evaluations]
    ongoing = [state for state in states if state not in EVALUATION.final()]
    return min(ongoing, key=_ORDER.index) if ongoing else max(states, key=_ORDER.index)


def submission_story(submission: Submission, *, audience: Audience, now: datetime) -> SubmissionStory:
    """Tell a submission to a reader. ``submission`` comes with its phase, competition, participant and bundle."""
    phase = submission.phase
    evaluations = current_evaluations(submission)
    status = status_of(submission, evaluations)
    log_visible = may_see(Part.AGENT_OUTPUT, phase=phase, audience=audience, now=now)
    scores_visible = may_see(Part.AGGREGATE_SCORE, phase=phase, audience=audience, now=now)
    own_or_organizer = audience in (Audience.OWNER, Audience.ORGANIZER)
    queued = [one.pk for one in evaluations if one.state == EvaluationState.QUEUED]
    waits = waits_of(queued, queue=phase.queue)
    begun = [one.pk for one in evaluations if one.state in (EvaluationState.RUNNING, EvaluationState.SCORING)]
    now_run_by, run_by = whose_workers(phase, evaluations)
    unserved = {pk: run_by[pk].queue for pk, wait in waits.items() if not wait.served} | unserved_queues(begun)
    return SubmissionStory(
        id=submission.pk,
        name=submission.name,
        file_name=submission.file_name if own_or_organizer else "",
        digest=submission.sent_digest,
        size=submission.sent_size,
        competition=phase.competition.slug,
        phase=phase.index,
        phase_name=phase.name,
        queue_owner=now_run_by.owner,
        participant=submission.entrant,
        sent_by=submission.sent_by.username if submission.sent_by and submission.team else "",
        baseline=submission.baseline,
        created_at=submission.created_at,
        status=status,
        final=status in ("rejected", "finished", "failed", "cancelled"),
        failure=_submission_failure(submission, evaluations),
        findings=submission.findings if own_or_organizer else [],
        container=_container(submission) if own_or_organizer else None,
        check_log=submission.check_log if own_or_organizer else None,
        steps=_steps(submission, evaluations, status=status),
        evaluations=[
            _evaluation(
                one,
                phase=phase,
                audience=audience,
                now=now,
                wait=waits.get(one.pk),
                unserved_queue=unserved.get(one.pk, ""),
                run_by=run_by[one.pk],
            )
            for one in evaluations
        ],
        scores=_scores(submission) if scores_visible and status == "finished" else [],
        log=_log(evaluations) if log_visible else None,
        log_visible=log_visible,
        organizer_log=_organizer_log(evaluations) if audience is Audience.ORGANIZER else "",
        scores_visible=scores_visible,
        excluded=Exclusion.objects.filter(submission=submission).values_list("reason", flat=True).first() or "",
        counts_as=submission.counts_as,
        can_cancel=own_or_organizer
        and (submission.state in _UNCHECKED or any(one.state not in EVALUATION.final() for one in evaluations)),
    )


def _container(submission: Submission) -> ContainerStory | None:
    found = submission.agent.get("container")
    if not found:
        return None
    shown = {name: found[name] for name in ("id", "size", "layers", "architecture", "user")}
    return ContainerStory(**shown, command=submission.agent["command"])


Version = tuple[tuple[Any, ...], ...]

_VERSION: Final = """
    SELECT submission.state, submission.check_attempts, submission.counts_as,
           evaluation.id, evaluation.state, evaluation.episodes_done, evaluation.in_force
      FROM submissions_submission submission
      LEFT JOIN evaluation_evaluation evaluation ON evaluation.submission_id = submission.id
     WHERE submission.id = %s
     ORDER BY evaluation.id
"""


def submission_version(submission: UUID) -> Version:
    """A value that changes whenever the submission's own progress does. One cheap statement, for polling."""
    with connection.cursor() as cursor:
        cursor.execute(_VERSION, [submission])
        return tuple(cursor.fetchall())


def failure_story(code: str, message: str) -> FailureStory | None:
    """A stored failure for a reader, with its owner; None where there is none."""
    return FailureStory(code=code, owner=FailureCode(code).owner, message=message) if code else None


def _submission_failure(submission: Submission, evaluations: Sequence[Evaluation]) -> FailureStory | None:
    own = failure_story(submission.failure_code, submission.failure_message)
    failed = (failure_story(one.failure_code, one.failure_message) for one in evaluations)
    return own or next((failure for failure in failed if failure), None)


def _steps(submission: Submission, evaluations: Sequence[Evaluation], *, status: str) -> list[Step]:
    """The step line: each step with the time at which it was reached."""
    reached: dict[str, datetime | None] = {
        "received": submission.created_at,
        "checked": submission.checked_at,
        "queued": min((one.queued_at for one in evaluations), default=None),
        "running": min((one.started_at for one in evaluations if one.started_at), default=None),
        "scoring": min((one.scoring_at for one in evaluations if one.scoring_at), default=None),
        "finished": max((one.ended_at for one in evaluations if one.ended_at), default=None),
    }
    if status != "finished":
        reached["finished"] = None
    if submission.phase.takes == Takes.RESULTS:  # nothing is run
        del reached["running"]
    names = list(reached)
    if status in ("queued", "running", "scoring"):  # of several tasks the one furthest behind
        reached |= dict.fromkeys(names[names.index(status) + 1 :])
    last = max(index for index, name in enumerate(names) if reached[name])
    ended_badly = status in ("rejected", "failed", "cancelled")
    steps = []
    for index, name in enumerate(names):
        state = "done" if reached[name] else "skipped" if ended_badly else "waiting"
        if index == last and status != "finished":
            state = "failed" if ended_badly else "current"
        steps.append(Step(name=name, state=state, at=reached[name]))
    return steps


def _evaluation(
    evaluation: Evaluation,
    *,
    phase: Phase,
    audience: Audience,
    now: datetime,
    wait: Wait | None,
    unserved_queue: str,
    run_by: WhoseWorkers,
) -> EvaluationStory:
    return EvaluationStory(
        id=evaluation.pk,
        task=evaluation.task.name,
        number=evaluation.number,
        state=evaluation.state,
        position=wait.position if wait else None,
        estimate_seconds=wait.estimate_seconds if wait else None,
        unserved_queue=unserved_queue,
        queue=run_by.queue,
        queue_owner=run_by.owner,
        episodes_done=evaluation.episodes_done,
        episodes_total=evaluation.episodes_total,
        failure=failure_story(evaluation.failure_code, evaluation.failure_message),
        queued_at=evaluation.queued_at,
        started_at=evaluation.started_at,
        scoring_at=evaluation.scoring_at,
        ended_at=evaluation.ended_at,
        agent_seconds=evaluation.agent_seconds,
        scorer_seconds=evaluation.scorer_seconds,
        unverified=_unverified(evaluation),
        judge=judge_story(evaluation) if audience is Audience.ORGANIZER else None,
        record=evaluation.record if audience in (Audience.OWNER, Audience.ORGANIZER) else {},
        reports=list(
            visible_reports(evaluation, phase=phase, audience=audience, now=now).values_list("program", flat=True)
        ),
        episodes=_episodes(evaluation, phase=phase, audience=audience, now=now),
    )


def _unverified(evaluation: Evaluation) -> int:
    """How many episodes a scoring program could not judge: of several programs' numbers the largest."""
    told = [str(made_by.get("unverified", "")) for made_by in evaluation.record.get("scoring", {}).values()]
    return max((int(number) for number in told if number.isascii() and number.isdigit()), default=0)


def judge_story(evaluation: Evaluation) -> JudgeStory | None:
    """What the judge of an evaluation used; None where no language model judges its task."""
    judge = evaluation.task.judge
    if judge is None:
        return None
    account = Account.objects.filter(pk=judge_account(evaluation.pk)).first()
    budgets = [judge.get("cost_budget", ""), f"{judge['token_budget']:,} tokens" if "token_budget" in judge else ""]
    return JudgeStory(
        model=judge["model"],
        tokens=account.tokens if account else 0,
        cost=money(account.cost) if account else "0",
        budget=" and ".join(filter(None, budgets)),
    )


def visible_reports(evaluation: Evaluation, *, phase: Phase, audience: Audience, now: datetime) -> QuerySet[Report]:
    """The scoring programs' own pages about an evaluation that this reader may open, by program.

    A page may quote the ground truth of any scenario: where some are hidden, it is the organizer's only.
    """
    public = not evaluation.task.hidden
    if not may_see(Part.DETAILED_RESULTS, phase=phase, audience=audience, now=now, scenario_public=public):
        return Report.objects.none()
    return evaluation.reports.filter(html__isnull=False).select_related("html").order_by("program")


def _episodes(evaluation: Evaluation, *, phase: Phase, audience: Audience, now: datetime) -> list[EpisodeStory]:
    if evaluation.state not in EVALUATION.final():
        return []
    if not may_see(Part.SCENARIO_SCORE, phase=phase, audience=audience, now=now):
        return []
    episodes = evaluation.episodes.select_related("scenario").prefetch_related(
        Prefetch("scores", ScenarioScore.objects.order_by("key")),
        Prefetch("details", ScenarioDetail.objects.order_by("program")),
    )
    told = [
        _episode(
            episode,
            seen={
                part
                for part in Part
                if may_see(part, phase=phase, audience=audience, now=now, scenario_public=episode.scenario.public)
            },
        )
        for episode in episodes
    ]
    # By opaque id and not by position: the order in which episodes were handed out tells nothing.
    return sorted(told, key=lambda episode: (episode.scenario, episode.trial))


def _episode(episode: Episode, *, seen: Set[Part]) -> EpisodeStory:
    scenario = episode.scenario
    text = Part.SCENARIO_TEXT in seen
    trajectory = Part.TRAJECTORY in seen and episode.trajectory_id is not None
    return EpisodeStory(
        episode=episode.pk if trajectory else None,
        scenario=scenario.opaque_id,
        text=scenario.text if text else None,
        category=scenario.category if text else None,
        trial=episode.trial,
        outcome=episode.outcome,
        failure=failure_story(episode.failure_code, episode.failure_message),
        seconds=episode.seconds,
        tool_calls=episode.tool_calls,
        model_calls=episode.model_calls,
        tokens=episode.tokens,
        cost=money(episode.cost),
        scores={score.key: score.value for score in episode.scores.all()},
        details={one.program: one.detail for one in episode.details.all()} if Part.SCORER_OUTPUT in seen else {},
        has_trajectory=trajectory,
    )


def _scores(submission: Submission) -> list[ScoreStory]:
    return [
        ScoreStory(
            column=one.column.key,
            title=one.column.title,
            source=one.column.source,
            precision=one.column.precision,
            sorting=one.column.sorting,
            primary=one.column.primary,
            value=one.value.value if one.value else None,
            low=one.value.low if one.value else None,
            high=one.value.high if one.value else None,
            own_best=one.own_best,
            leader=one.leader,
            unverified=one.value.unverified if one.value else 0,
            unverified_rule=unverified_told(one.column) if one.value and one.value.unverified else "",
        )
        for one in compare(submission)
    ]


def _log(evaluations: Sequence[Evaluation]) -> str:
    """The agent's own output, job after job, at most the last part of each that is kept."""
    jobs = [job for one in evaluations for job in one.jobs.filter(kind="run").order_by("index") if job.log]
    return "\n".join(job.log.rstrip("\n") for job in jobs)[-settings.LOG_SHOWN_BYTES :]


def _organizer_log(evaluations: Sequence[Evaluation]) -> str:
    """What the organizer's own programs printed where they failed: scoring programs, and environments that died."""
    parts = []
    for job in Job.objects.filter(evaluation__in=evaluations).order_by("created_at"):
        parts += [job.environment_log, job.log if job.kind == JobKind.SCORE else ""]
    return "\n".join(part.rstrip("\n") for part in parts if part)[-settings.LOG_SHOWN_BYTES :]


def submission_list(participant: User, *, competition: str = "") -> QuerySet[Submission]:
    """A participant's submissions and their teams', newest first, with what a list shows of each.

    Constant queries at any length.
    """
    submissions = (
        Submission.objects.filter(of_person(participant))
        .select_related("phase__competition", "participant", "team")
        .prefetch_related(Prefetch("evaluations", Evaluation.objects.filter(_NEWEST).order_by("task__index")))
        .order_by("-created_at")
    )
    return submissions.filter(phase__competition__slug=competition) if competition else submissions
