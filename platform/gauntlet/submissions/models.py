"""What participants upload."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from gauntlet.competitions.models import Phase, Team
from gauntlet.storage.models import Artifact
from gauntlet.submissions.states import SubmissionState
from gauntlet_scoring.failures import FailureCode, Owner

FAILURE_CODES = [(code.value, code.value) for code in FailureCode]


class Source(models.TextChoices):
    """Through which door a submission came."""

    WEB = "web", "Web page"
    API = "api", "API"
    COMMAND = "command", "Command"
    PLATFORM = "platform", "The platform"


class ContainerImage(models.Model):
    """A container image that was checked, stored once however often and in whichever form it is sent."""

    id = models.CharField(
        primary_key=True, max_length=71, help_text="sha256: of its config, as Docker shows it to the participant"
    )
    archive = models.ForeignKey(Artifact, on_delete=models.PROTECT, related_name="+", help_text="what is run")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.id


class Upload(models.Model):
    """A file that is sent in parts. How much of it is there, the parts themselves say."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads")
    length = models.PositiveBigIntegerField(help_text="bytes, when it is complete")
    file_name = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    submission = models.ForeignKey(
        "Submission",
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="what it became; then its parts are gone, and the row stays for who asks again",
    )

    def __str__(self) -> str:
        return self.file_name or str(self.id)


class UploadPart(models.Model):
    """A part of an upload, as an object of a storage that is no file system."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="parts")
    offset = models.PositiveBigIntegerField(help_text="where in the upload it begins")
    size = models.PositiveBigIntegerField(help_text="bytes")
    name = models.CharField(max_length=255, help_text="of its object")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["upload", "offset"], name="upload_part_place"),
        ]

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """What was submitted with a key, by which its sender asks again for an answer that was lost."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", help_text="the person who sent it"
    )
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=71, help_text="of what was sent")
    submission = models.ForeignKey("Submission", on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "phase", "key", "digest"], name="idempotency_key_once"),
        ]

    def __str__(self) -> str:
        return self.key


class FileFaults(models.Model):
    """A file at which the platform itself failed: how often in a row, and until when it is not tried."""

    digest = models.CharField(max_length=71, unique=True)
    in_a_row = models.PositiveSmallIntegerField(default=0, help_text="submissions of it")
    last_at = models.DateTimeField()
    submission = models.ForeignKey("Submission", null=True, on_delete=models.SET_NULL, related_name="+")
    parked_until = models.DateTimeField(null=True, blank=True, help_text="it is not taken before; null: it is")

    class Meta:
        ordering: ClassVar = ["-last_at"]
        verbose_name = "file that the platform failed at"
        verbose_name_plural = "files that the platform failed at"

    def __str__(self) -> str:
        return self.digest


class Submission(models.Model):
    """An agent bundle, a container image, or the results, that a participant uploaded to a phase."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="submissions")
    participant = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.PROTECT, related_name="submissions", help_text="null: none"
    )
    sent_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="the person, where it is not the participant: of a team's, that is its captain",
    )
    name = models.CharField(max_length=200)
    file_name = models.CharField(max_length=255)
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.WEB)
    bundle = models.ForeignKey(
        Artifact,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="as it was sent; null where nothing needs it any more",
    )
    dropped_digest = models.CharField(max_length=71, blank=True, help_text="of what was sent and is not kept")
    dropped_size = models.PositiveBigIntegerField(null=True, help_text="its bytes")
    agent = models.JSONField(
        default=dict,
        help_text="agent.yaml, checked: name, command, image, description, model, paradigm; "
        "or an image: name, command, container",
    )
    agent_bundle = models.ForeignKey(
        Artifact,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="the bundle without a nested top folder, the image to be run, or the results",
    )
    packages = models.ForeignKey(
        Artifact, null=True, on_delete=models.PROTECT, related_name="+", help_text="its requirements, installed"
    )
    state = models.CharField(max_length=16, choices=SubmissionState.choices, default=SubmissionState.RECEIVED)
    failure_code = models.CharField(max_length=32, blank=True, choices=FAILURE_CODES)
    failure_message = models.TextField(blank=True)
    findings = models.JSONField(default=list, help_text="of the check: [{file, line, message, level}]")
    check_log = models.TextField(blank=True, help_text="the installer's own words")
    baseline = models.BooleanField(default=False, help_text="marked and unranked on the board")
    counts_as = models.CharField(
        max_length=16,
        default="attempt",
        choices=[("attempt", "An attempt"), ("failed_start", "A failed start"), ("nothing", "Nothing: refunded")],
        help_text="which quota it uses",
    )
    given_back_for = models.CharField(
        max_length=16,
        blank=True,
        choices=[(Owner.ORGANIZER.value, "The competition's programs"), (Owner.PLATFORM.value, "The platform")],
        help_text="whose fault made it count as nothing",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    check_attempts = models.PositiveSmallIntegerField(default=0, help_text="how often a check was begun; its fence")
    check_started_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [
            models.Index(fields=["phase", "participant", "-created_at"], name="submission_of_participant"),
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=["received", "checking"]),
                name="submission_unchecked",
            ),
            models.Index(
                fields=["participant", "-check_started_at"],
                condition=Q(check_started_at__isnull=False),
                name="submission_last_check",
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=SubmissionState.values), name="submission_state"),
            models.CheckConstraint(
                condition=Q(state="rejected", failure_code__gt="") | (~Q(state="rejected") & Q(failure_code="")),
                name="submission_rejected_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(bundle__isnull=False, dropped_digest="", dropped_size__isnull=True)
                | Q(bundle__isnull=True, dropped_digest__gt="", dropped_size__isnull=False),
                name="submission_sent_is_kept_or_known",
            ),
        ]

    @property
    def entrant(self) -> str:
        """Whose it is, as everybody sees it: the team, or the participant."""
        return self.team.name if self.team else self.participant.username

    @property
    def shown_state(self) -> str:
        """The state for those who look, for whom nothing goes backwards: a check whose checker died is begun anew."""
        begun = self.state == SubmissionState.RECEIVED and self.check_attempts > 0
        return SubmissionState.CHECKING.value if begun else self.state

    @property
    def sent_digest(self) -> str:
        """The digest of what was sent, kept or not."""
        return self.bundle_id or self.dropped_digest

    @property
    def sent_size(self) -> int:
        """Its bytes."""
        return self.bundle.size if self.bundle else self.dropped_size or 0

    def __str__(self) -> str:
        return self.name
