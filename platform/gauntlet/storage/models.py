"""Artifacts: files named by their SHA-256."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class Form(models.TextChoices):
    """How a worker uses an artifact."""

    ZIP = "zip", "A folder, as a zip"
    FILE = "file", "A file"


class Artifact(models.Model):
    """A stored file; two uploads of the same bytes are one row and one object in the storage."""

    digest = models.CharField(primary_key=True, max_length=71, help_text="sha256: and 64 hexadecimal digits")
    size = models.PositiveBigIntegerField(help_text="bytes")
    form = models.CharField(max_length=8, choices=Form.choices, default=Form.ZIP)
    created_at = models.DateTimeField(auto_now_add=True)
    stored_at = models.DateTimeField(
        db_default=Now(), help_text="last time; what no row uses is kept for a while from then on"
    )

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(digest__regex=r"^sha256:[0-9a-f]{64}$"), name="artifact_digest_form"
            )
        ]

    @property
    def path(self) -> str:
        """Where it lies in the storage."""
        hexadecimal = self.digest.removeprefix("sha256:")
        return f"{hexadecimal[:2]}/{hexadecimal}"
