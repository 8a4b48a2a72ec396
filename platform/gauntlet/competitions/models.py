"""Competition, phase, task and scenario; pages; participation; leaderboards' definitions."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from gauntlet.storage.models import Artifact


class Competition(models.Model):
    """What an organizer publishes."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=256)
    description = models.TextField(blank=True)
    organizer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="organized")
    collaborators = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="collaborates_on")
    terms = models.TextField(help_text="Markdown; accepted on joining")
    registration_auto_approve = models.BooleanField(default=False)
    time_zone = models.CharField(max_length=64, default="UTC", help_text="in which a day of the quota begins")
    contact_email = models.EmailField(blank=True)
    reward = models.CharField(max_length=256, blank=True)
    max_team_size = models.PositiveSmallIntegerField(default=1, help_text="1: everybody takes part alone")
    published = models.BooleanField(default=False)
    bundle = models.ForeignKey(Artifact, null=True, on_delete=models.PROTECT, related_name="+")
    extras = models.JSONField(default=dict, help_text="keys of the bundle that are kept but not used")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return self.title


class Page(models.Model):
    """A page of text, in Markdown."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="pages")
    index = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=100)
    source = models.TextField(help_text="Markdown, as the organizer wrote it")
    html = models.TextField(help_text="rendered and sanitised from it")

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["competition", "index"], name="page_index")]


class ParticipationState(models.TextChoices):
    """Where a person stands with a competition."""

    PENDING = "pending", "Waiting for approval"
    APPROVED = "approved", "Participates"
    DENIED = "denied", "Denied"


class Team(models.Model):
    """People who take part as one: with one quota and one row on the board.

    What a team submits belongs to its captain, whoever of it sent it; so whatever counts by participant counts by team.
    """

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=64)
    captain = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="captained_teams")
    code = models.CharField(max_length=32, unique=True, help_text="whoever has it may join")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint("competition", Lower("name"), name="team_name"),
            models.UniqueConstraint(fields=["competition", "captain"], name="team_of_captain"),
        ]

    def __str__(self) -> str:
        return self.name


class Participation(models.Model):
    """A person in a competition; the terms were accepted on joining."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="participations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="participations")
    state = models.CharField(max_length=16, choices=ParticipationState.choices)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="members")
    carried = models.ManyToManyField(
        "submissions.Submission",
        related_name="+",
        help_text="of teams that the person has left: they go on counting in the person's own quota",
    )
    terms_accepted_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["competition", "user"], name="participation_once"),
            models.CheckConstraint(condition=Q(state__in=ParticipationState.values), name="participation_state"),
        ]


class Takes(models.TextChoices):
    """What participants submit."""

    AGENTS = "agents", "Agents, which are run against the scenarios"
    RESULTS = "results", "Results, a zip of files that is scored as it is"


class Task(models.Model):
    """What is run and how it is scored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="tasks")
    index = models.PositiveSmallIntegerField(help_text="as in the bundle")
    name = models.CharField(max_length=256)
    description = models.TextField(blank=True)
    environment = models.ForeignKey(
        Artifact, null=True, on_delete=models.PROTECT, related_name="+", help_text="null: the task takes results"
    )
    environment_command = models.JSONField(default=list, help_text="argument list, from the program's metadata")
    code_tool = models.JSONField(null=True, blank=True, help_text="the environment's tool that takes code, from there")
    input_data = models.ForeignKey(Artifact, null=True, on_delete=models.PROTECT, related_name="+")
    reference_data = models.ForeignKey(Artifact, null=True, on_delete=models.PROTECT, related_name="+")
    hidden = models.BooleanField(default=True, help_text="some scenario is, or what is right about results")
    sandbox_image = models.CharField(max_length=128, default="gauntlet/agent")
    scorer_image = models.CharField(max_length=128, default="gauntlet/scorer")
    limits = models.JSONField(default=dict, help_text="as in the bundle, within the operator's caps")
    judge = models.JSONField(null=True, blank=True, help_text="the language model that judges; null: none")

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["competition", "index"], name="task_index")]

    @property
    def takes(self) -> Takes:
        """What participants submit to it."""
        return Takes.RESULTS if self.environment_id is None else Takes.AGENTS


class TaskScoringProgram(models.Model):
    """A scoring program of a task, in the order in which they run."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="scoring_programs")
    index = models.PositiveSmallIntegerField()
    key = models.SlugField(max_length=36, help_text="names its scores: <key>.<name in scores.json>")
    version = models.CharField(max_length=32, blank=True)
    program = models.ForeignKey(Artifact, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["task", "key"], name="task_program_key")]


class Scenario(models.Model):
    """One problem put to an agent. The ground truth is in the task's reference data and never here."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="scenarios")
    index = models.PositiveIntegerField()
    key = models.CharField(max_length=64, help_text="the organizer's id")
    opaque_id = models.CharField(max_length=32, unique=True, help_text="what participants and agents see")
    text = models.TextField()
    show = models.JSONField(default=dict, help_text="what the agent sees beside the text")
    category = models.CharField(max_length=64, blank=True)
    tags = models.JSONField(default=dict, help_text="category, type and stage: what a column's `where` looks at")
    public = models.BooleanField(default=False)

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["task", "key"], name="scenario_key")]


class Visibility(models.TextChoices):
    """What a participant sees of a submission's results; the table is in visibility.py."""

    FULL = "full", "Everything"
    SCORES = "scores", "Scores, per scenario under opaque ids"
    NONE = "none", "State only, until the reveal"


class Phase(models.Model):
    """A window in time with limits, a visibility, and tasks."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="phases")
    index = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=256)
    description = models.TextField(blank=True)
    start = models.DateTimeField()
    end = models.DateTimeField(null=True, blank=True)
    tasks = models.ManyToManyField(Task, related_name="phases")
    takes = models.CharField(max_length=8, choices=Takes.choices, default=Takes.AGENTS, help_text="all its tasks do")
    queue = models.CharField(max_length=64, default="default", help_text="in which its jobs wait for a worker")
    max_submissions_per_day = models.PositiveIntegerField(null=True, default=5, help_text="null: no limit")
    max_submissions = models.PositiveIntegerField(null=True, default=100, help_text="null: no limit")
    max_failed_starts_per_day = models.PositiveIntegerField(
        null=True, default=10, help_text="debugging quota: submissions whose agent could not start"
    )
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.SCORES)
    reveal_at = models.DateTimeField(null=True, blank=True)
    trials = models.PositiveSmallIntegerField(default=1)
    isolation = models.CharField(
        max_length=16,
        default="submission",
        choices=[
            ("submission", "The episodes of a run job share a sandbox"),
            ("scenario", "A sandbox for each episode"),
        ],
    )
    max_parallel_episodes = models.PositiveSmallIntegerField(default=1)
    llm = models.JSONField(null=True, blank=True, help_text="its language models, as in the bundle; null: none")
    execution_time_limit = models.PositiveIntegerField(default=600, help_text="seconds, one program")
    kit = models.ForeignKey(
        Artifact, null=True, on_delete=models.PROTECT, related_name="+", help_text="starting kit, for everybody"
    )
    public_data = models.ForeignKey(
        Artifact, null=True, on_delete=models.PROTECT, related_name="+", help_text="for everybody"
    )

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["competition", "index"], name="phase_index"),
            models.CheckConstraint(
                condition=Q(end__isnull=True) | Q(end__gt=models.F("start")), name="phase_ends_after_start"
            ),
            models.CheckConstraint(condition=Q(visibility__in=Visibility.values), name="phase_visibility"),
            models.CheckConstraint(condition=Q(trials__gte=1), name="phase_trials"),
            models.CheckConstraint(condition=Q(takes__in=Takes.values), name="phase_takes"),
        ]

    def __str__(self) -> str:
        return self.name


class SubmissionRule(models.TextChoices):
    """Which of a participant's submissions stands on the board."""

    BEST = "best", "The best by the primary column"
    LATEST = "latest", "The latest that finished"


class Leaderboard(models.Model):
    """A board of the competition; every phase has its own ranking on it."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="leaderboards")
    index = models.PositiveSmallIntegerField(default=0)
    key = models.SlugField(max_length=36)
    title = models.CharField(max_length=64)
    submission_rule = models.CharField(max_length=16, choices=SubmissionRule.choices, default=SubmissionRule.BEST)
    hidden = models.BooleanField(default=False)

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["competition", "key"], name="leaderboard_key")]


class Baseline(models.Model):
    """A published result beside a board: shown for comparison, marked, without a rank."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="baselines")
    index = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    source = models.CharField(max_length=300, help_text="where the numbers were published")
    scores = models.JSONField(default=dict, help_text="by column key")

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["leaderboard", "name"], name="baseline_name")]


class Sorting(models.TextChoices):
    """In which direction better lies."""

    DESC = "desc", "Higher is better"
    ASC = "asc", "Lower is better"


class Unverified(models.TextChoices):
    """What a trial counts that ran and that no program could score, such as one with an unreadable verdict.

    The empty value: a trial may be without the score, and then stands in no mean of it.
    """

    FAIL = "fail", "Counts as failed, with the worst value"
    EXCLUDE = "exclude", "Left out"


class Column(models.Model):
    """A column of a board."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="columns")
    index = models.PositiveSmallIntegerField()
    key = models.SlugField(max_length=36)
    title = models.CharField(max_length=36)
    sorting = models.CharField(max_length=4, choices=Sorting.choices, default=Sorting.DESC)
    precision = models.PositiveSmallIntegerField(default=2, help_text="digits shown; ranks compare unrounded values")
    primary = models.BooleanField(default=False)
    hidden = models.BooleanField(default=False)
    source = models.CharField(max_length=80, help_text="`from` of the bundle: <program key>.<score>")
    over = models.CharField(
        max_length=8,
        default="mean",
        help_text="mean, std, sum, min, max or pass^k: combines scenarios, trials and tasks",
    )
    where = models.JSONField(default=dict, help_text="tag to the values that count; empty: all scenarios")
    pass_at = models.FloatField(null=True, help_text="from which value on a trial passes, for pass^k")
    unverified = models.CharField(max_length=8, blank=True, choices=Unverified.choices, default=Unverified.FAIL)
    worst = models.FloatField(null=True, help_text="the worse end of the score's scale; null: it has none")
    min_verified = models.FloatField(
        default=0.0, help_text="where what is not verified is left out: the share below which there is no value"
    )
    interval = models.CharField(max_length=16, blank=True, help_text="bootstrap, or nothing")
    low = models.FloatField(null=True, help_text="scale")
    high = models.FloatField(null=True, help_text="scale")
    computation = models.CharField(max_length=8, blank=True, help_text="avg, sum, min, max of other columns")
    computation_indexes = models.JSONField(default=list)

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["leaderboard", "key"], name="column_key"),
            models.UniqueConstraint(fields=["leaderboard"], condition=Q(primary=True), name="column_one_primary"),
        ]
