"""The routes under /api/v1. Each app keeps its own in its ``api.py``."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("gauntlet.accounts.api")),
    path("", include("gauntlet.queues.api")),
    path("", include("gauntlet.competitions.api")),
    path("", include("gauntlet.submissions.api")),
    path("", include("gauntlet.leaderboards.api")),
    path("", include("gauntlet.evaluation.api")),
    path("", include("gauntlet.reviews.api")),
]
