"""Evaluations, their jobs and episodes, and the scores that came out."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from gauntlet.competitions.models import Scenario, Task
from gauntlet.evaluation.states import EvaluationState, JobState
from gauntlet.queues.models import QueueToken
from gauntlet.storage.models import Artifact
from gauntlet.submissions.models import FAILURE_CODES, Submission


class Evaluation(models.Model):
    """One run of a submission on a task, from queue to scores."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="evaluations")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="evaluations")
    number = models.PositiveSmallIntegerField(default=1, help_text="1 for the first, 2 for the first rerun")
    in_force = models.BooleanField(
        default=False, help_text="its scores count; of a submission and task at most one, the latest that finished"
    )
    state = models.CharField(max_length=16, choices=EvaluationState.choices, default=EvaluationState.QUEUED)
    failure_code = models.CharField(max_length=32, blank=True, choices=FAILURE_CODES)
    failure_message = models.TextField(blank=True)
    seed = models.BigIntegerField(help_text="of the order of episodes and of their own seeds")
    episodes_total = models.PositiveIntegerField(default=0)
    episodes_done = models.PositiveIntegerField(default=0)
    agent_seconds = models.FloatField(default=0.0, help_text="wall time of the agent's sandboxes")
    scorer_seconds = models.FloatField(default=0.0, help_text="wall time of the scorers' sandboxes")
    record = models.JSONField(default=dict, help_text="what made the result: digests, limits, versions")
    queued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    scoring_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-queued_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["submission", "task", "number"], name="evaluation_number"),
            models.UniqueConstraint(
                fields=["submission", "task"], condition=Q(in_force=True), name="evaluation_one_in_force"
            ),
            models.CheckConstraint(condition=Q(state__in=EvaluationState.values), name="evaluation_state"),
            models.CheckConstraint(
                condition=Q(state="failed", failure_code__gt="") | (~Q(state="failed") & Q(failure_code="")),
                name="evaluation_failed_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(in_force=False) | Q(state="finished"), name="evaluation_in_force_is_finished"
            ),
        ]


class JobKind(models.TextChoices):
    """What a worker does with a job."""

    RUN = "run", "Run episodes"
    SCORE = "score", "Score"


class Job(models.Model):
    """The unit that a worker claims."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="jobs")
    participant = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", help_text="whose turn it takes"
    )
    kind = models.CharField(max_length=8, choices=JobKind.choices)
    index = models.PositiveIntegerField(default=0, help_text="slice of the evaluation; 0 is the first episode")
    queue = models.CharField(max_length=64, default="default")
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.READY)
    attempt = models.PositiveSmallIntegerField(default=0, help_text="of the current or last lease; 1 is the first")
    max_attempts = models.PositiveSmallIntegerField(default=3)
    token = models.UUIDField(null=True, blank=True, help_text="fence of the current lease")
    leased_until = models.DateTimeField(null=True, blank=True, help_text="on the database's clock")
    worker = models.CharField(max_length=200, blank=True)
    queue_token = models.ForeignKey(
        QueueToken,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="by which a worker of an own queue took it last; null: the platform's own worker did",
    )
    available_at = models.DateTimeField(help_text="not before; backoff of a retry")
    avoided = models.JSONField(default=list, help_text="hosts at whose fault it was lost: others take it first")
    avoided_until = models.DateTimeField(null=True, blank=True, help_text="for those hosts, instead of available_at")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    failure_code = models.CharField(max_length=32, blank=True, choices=FAILURE_CODES)
    failure_message = models.TextField(blank=True)
    log = models.TextField(blank=True, help_text="the end of the program's own output, for its owner")
    environment_log = models.TextField(blank=True, help_text="the end of what lost environments printed")

    class Meta:
        ordering: ClassVar = ["created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "kind", "index"], name="job_slice"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state"),
            models.CheckConstraint(
                condition=Q(state="leased", token__isnull=False, leased_until__isnull=False) | ~Q(state="leased"),
                name="job_leased_has_token",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["queue", "available_at"], condition=Q(state="ready"), name="job_ready"),
            models.Index(fields=["leased_until"], condition=Q(state="leased"), name="job_leases"),
            models.Index(
                fields=["participant", "-started_at"], condition=Q(started_at__isnull=False), name="job_last_turn"
            ),
            models.Index(fields=["queue", "-ended_at"], condition=Q(state="done"), name="job_pace"),
        ]


class WorkerState(models.TextChoices):
    """What a worker process says of itself."""

    IDLE = "idle", "Waits for work"
    BUSY = "busy", "Works"
    PAUSED = "paused", "Pauses: its last jobs failed by the platform's fault"
    DRAINING = "draining", "Takes no job: too little disk"
    STOPPING = "stopping", "Ends"
    STOPPED = "stopped", "Has ended"


class Worker(models.Model):
    """A worker process as it was last heard of. Nothing is decided by this row: it tells the operator."""

    name = models.CharField(
        primary_key=True, max_length=200, help_text="host:process, and of an own queue's queue/host:process"
    )
    host = models.CharField(max_length=180)
    queues = models.JSONField(default=list, help_text="names of the queues that it serves")
    state = models.CharField(max_length=16, choices=WorkerState.choices, default=WorkerState.IDLE)
    reason = models.TextField(blank=True, help_text="why it takes no job")
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(help_text="its last sign of life, on the database's clock")
    queue_token = models.ForeignKey(
        QueueToken,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="workers",
        help_text="by which it comes to an own queue; null: it is the platform's own",
    )
    sandbox = models.CharField(max_length=200, blank=True, help_text="its backend, and what that cannot enforce there")
    version = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.CheckConstraint(condition=Q(state__in=WorkerState.values), name="worker_state")]

    def __str__(self) -> str:
        return self.name


class Episode(models.Model):
    """One agent on one scenario, once: made with the evaluation, so that the denominator is fixed from the start."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="episodes")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="episodes")
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="episodes")
    trial = models.PositiveSmallIntegerField(default=1)
    position = models.PositiveIntegerField(help_text="in the seeded order")
    seed = models.BigIntegerField()
    outcome = models.CharField(
        max_length=16,
        blank=True,
        choices=[("answered", "Answered"), ("failed", "Failed")],
        help_text="empty: not ended",
    )
    failure_code = models.CharField(max_length=32, blank=True, choices=FAILURE_CODES)
    failure_message = models.TextField(blank=True)
    seconds = models.FloatField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="how often it ended by a fault not the agent's")
    steps = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    model_calls = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0, help_text="of its model calls, in and out")
    cost = models.DecimalField(
        max_digits=24, decimal_places=12, default=Decimal(0), help_text="of them, at the prices of the time"
    )
    trajectory = models.ForeignKey(
        Artifact, null=True, on_delete=models.PROTECT, related_name="+", help_text="zip of trajectory.jsonl and blobs/"
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "scenario", "trial"], name="episode_once"),
            models.CheckConstraint(condition=Q(outcome__in=["", "answered", "failed"]), name="episode_outcome"),
        ]


class SentRecord(models.Model):
    """An episode's record that a worker of an own queue sent, until the result that names it is stored."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="sent_records")
    episode = models.ForeignKey(Episode, on_delete=models.CASCADE, related_name="+")
    lease = models.UUIDField(help_text="the fence under which it was sent")
    artifact = models.ForeignKey(Artifact, on_delete=models.PROTECT, related_name="+")
    times = models.PositiveSmallIntegerField(default=1, help_text="that one was sent for this episode")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["job", "episode"], name="sent_record_once")]


class Score(models.Model):
    """An aggregate that a scoring program gave for an evaluation; a finite number or no row."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="scores")
    key = models.CharField(max_length=80, help_text="<program key>.<name in scores.json>")
    value = models.FloatField()
    low = models.FloatField(null=True, help_text="95 % interval")
    high = models.FloatField(null=True)

    class Meta:
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["evaluation", "key"], name="score_once"),
            models.CheckConstraint(
                condition=Q(value__gte=float("-1.7976931348623157e308"))
                & Q(value__lte=float("1.7976931348623157e308")),
                name="score_finite",
            ),
        ]


class ScenarioScore(models.Model):
    """What a scoring program said about one episode."""

    episode = models.ForeignKey(Episode, on_delete=models.CASCADE, related_name="scores")
    key = models.CharField(max_length=80)
    value = models.FloatField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["episode", "key"], name="scenario_score_once")]


class ScenarioDetail(models.Model):
    """Why: a scoring program's own words about one episode; shown where the phase allows scorer output."""

    episode = models.ForeignKey(Episode, on_delete=models.CASCADE, related_name="details")
    program = models.CharField(max_length=36)
    detail = models.JSONField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["episode", "program"], name="scenario_detail_once")]


class Report(models.Model):
    """A scoring program's own page and log for an evaluation."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="reports")
    program = models.CharField(max_length=36)
    html = models.ForeignKey(Artifact, null=True, on_delete=models.PROTECT, related_name="+")
    log = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["evaluation", "program"], name="report_once")]
