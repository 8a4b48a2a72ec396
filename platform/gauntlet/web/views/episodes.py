"""The record of one episode, where the phase allows it."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from gauntlet.competitions.visibility import Part, may_see
from gauntlet.evaluation.models import Episode
from gauntlet.storage.services import open_artifact
from gauntlet.storage.streaming import download
from gauntlet.submissions.access import access_submission_as_reader
from gauntlet.trajectories.reading import events
from gauntlet.web import reasons_page, story_page, trajectory_page


@require_GET
def episode(request: HttpRequest, episode_id: UUID) -> HttpResponseBase:
    """What happened in an episode, event by event; ``?download=1`` for the stored record itself."""
    found = Episode.objects.filter(pk=episode_id).select_related("scenario", "trajectory", "evaluation").first()
    if found is None or found.trajectory is None:
        raise Http404
    submission, audience = access_submission_as_reader(request.user, found.evaluation.submission_id)
    phase, now, public = submission.phase, timezone.now(), found.scenario.public
    if not may_see(Part.TRAJECTORY, phase=phase, audience=audience, now=now, scenario_public=public):
        raise Http404
    if request.GET.get("download"):
        name = f"trajectory-{found.scenario.opaque_id}-{found.trial}.zip"
        return download(found.trajectory, name=name)
    with open_artifact(found.trajectory) as archive:
        shown, cut = trajectory_page.lines(events(archive))
    sees_scores = may_see(Part.SCENARIO_SCORE, phase=phase, audience=audience, now=now, scenario_public=public)
    context = {
        "competition_title": phase.competition.title,
        "slug": phase.competition.slug,
        "submission": submission,
        "scenario": found.scenario.opaque_id,
        "text": found.scenario.text,
        "trial": found.trial,
        "outcome": found.outcome,
        "failure": found.failure_code,
        "seconds": found.seconds,
        "tool_calls": found.tool_calls,
        "models": story_page.models_used(calls=found.model_calls, tokens=found.tokens, cost=found.cost),
        "events": shown,
        "cut": cut,
        "scores": [(story_page.score_title(one.key), f"{one.value:.2f}") for one in found.scores.order_by("key")]
        if sees_scores
        else [],
        "reasons": reasons_page.reasons(dict(found.details.order_by("program").values_list("program", "detail")))
        if may_see(Part.SCORER_OUTPUT, phase=phase, audience=audience, now=now, scenario_public=public)
        else [],
    }
    return render(request, "submissions/episode.html", context)
