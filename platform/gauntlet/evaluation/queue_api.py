"""Routes about own queues that need to know what uses them: one queue, its end, and which queue a phase uses."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.competitions.access import access_competition_as_organizer, access_phase
from gauntlet.competitions.errors import PhaseNotFound
from gauntlet.competitions.models import Phase
from gauntlet.evaluation.own_queues import change_phase_queue, delete_queue, send_phase_back
from gauntlet.evaluation.queue_lines import QueueDetail, phase_words, phases_of, queue_detail
from gauntlet.evaluation.stranded import end_stranded
from gauntlet.evaluation.workers import name_at_queue
from gauntlet.queues.access import access_queue_as_owner, access_queue_as_user
from gauntlet.queues.api import QueueAnswer, queue_json
from gauntlet.queues.models import Queue


class QueueWorkerAnswer(serializers.Serializer[Any]):
    """A worker that was heard of within a day."""

    name = serializers.CharField()
    state = serializers.CharField()
    reason = serializers.CharField(help_text="why it takes no job")
    sandbox = serializers.CharField(help_text="its backend, and what that cannot enforce there")
    version = serializers.CharField()
    seen_at = serializers.DateTimeField()


class QueuePhaseAnswer(serializers.Serializer[Any]):
    """A phase that uses the queue."""

    id = serializers.IntegerField()
    name = serializers.CharField()


class QueueDetailAnswer(QueueAnswer):
    """A queue, who serves it, and what waits in it."""

    serving = serializers.IntegerField(help_text="workers that take its jobs now")
    waiting = serializers.IntegerField(help_text="jobs")
    in_work = serializers.IntegerField(help_text="jobs")
    workers = QueueWorkerAnswer(many=True)
    phases = QueuePhaseAnswer(many=True)


class PhaseQueueRequest(serializers.Serializer[Any]):
    """Which queue a phase is to use."""

    queue = serializers.CharField(max_length=64, help_text="one of the platform's, or an own one that you may use")


class PhaseQueueAnswer(serializers.Serializer[Any]):
    """Which queue a phase uses now."""

    queue = serializers.CharField()
    moved = serializers.IntegerField(help_text="jobs that waited, had not begun, and moved along")


class StrandedRequest(serializers.Serializer[Any]):
    """What is to become of what began in somebody's own queue that nobody serves any more."""

    queue = serializers.CharField(max_length=64, help_text="in which it began")
    again = serializers.BooleanField(
        help_text="run it again in the phase's present queue, or else end it and give the attempts back"
    )


class StrandedAnswer(serializers.Serializer[Any]):
    """What became of it."""

    ended = serializers.IntegerField(help_text="evaluations")


def _detail_json(detail: QueueDetail) -> dict[str, Any]:
    line = detail.line
    workers = [
        {
            "name": one.worker.name.removeprefix(name_at_queue(line.queue, "")),
            "state": one.state,
            "reason": one.worker.reason,
            "sandbox": one.worker.sandbox,
            "version": one.worker.version,
            "seen_at": one.worker.seen_at,
        }
        for one in detail.workers
    ]
    return queue_json(line.queue) | {
        "serving": line.workers,
        "waiting": line.waiting,
        "in_work": line.in_work,
        "workers": workers,
        "phases": [{"id": phase.pk, "name": phase_words(phase)} for phase in detail.phases],
    }


class QueueView(APIView):
    """One queue."""

    @extend_schema(responses=QueueDetailAnswer)
    def get(self, request: Request, name: str) -> Response:
        """Who serves it, what waits in it, and which phases use it. For its owner, and with whom it is shared."""
        queue = access_queue_as_user(request.user, name)
        return Response(QueueDetailAnswer(_detail_json(queue_detail(queue))).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a queue with its tokens; refused while a phase or a job uses it. The owner only."""
        delete_queue(access_queue_as_owner(request.user, name), actor=signed_in(request))
        return Response(status=204)


class QueuePhaseView(APIView):
    """A phase that uses a queue."""

    @extend_schema(request=None, responses=PhaseQueueAnswer)
    def delete(self, request: Request, name: str, phase_id: int) -> Response:
        """Serve a phase no longer, whoever organizes it: it waits in the platform's queue then. The owner only."""
        queue = access_queue_as_owner(request.user, name)
        phase = access_phase_of_queue(queue, phase_id)
        moved = send_phase_back(phase, queue=queue, actor=signed_in(request))
        return Response(PhaseQueueAnswer({"queue": phase.queue, "moved": moved}).data)


class PhaseQueueView(APIView):
    """The queue of a phase."""

    @extend_schema(request=PhaseQueueRequest, responses=PhaseQueueAnswer)
    def put(self, request: Request, slug: str, index: int) -> Response:
        """Let what is submitted to a phase wait in another queue; what has begun ends where it is. Organizers only."""
        actor = signed_in(request)
        phase = access_phase(access_competition_as_organizer(actor, slug), index)
        wanted = PhaseQueueRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        moved = change_phase_queue(phase, queue=wanted.validated_data["queue"], actor=actor)
        return Response(PhaseQueueAnswer({"queue": phase.queue, "moved": moved}).data)

    @extend_schema(request=StrandedRequest, responses=StrandedAnswer)
    def post(self, request: Request, slug: str, index: int) -> Response:
        """End what began in an own queue whose workers do not come back, or run it again. Organizers only."""
        actor = signed_in(request)
        phase = access_phase(access_competition_as_organizer(actor, slug), index)
        wanted = StrandedRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        return Response(StrandedAnswer({"ended": end_stranded(phase, actor=actor, **wanted.validated_data)}).data)


def access_phase_of_queue(queue: Queue, phase_id: int) -> Phase:
    """A phase that uses a queue which was already accessed.

    Raises:
        PhaseNotFound
    """
    phase = phases_of(queue).filter(pk=phase_id).first()
    if phase is None:
        raise PhaseNotFound("No such phase uses this queue; it may have been given another one.")
    return phase


urlpatterns = [
    path("queues/<slug:name>", QueueView.as_view(), name="api-queue"),
    path("queues/<slug:name>/phases/<int:phase_id>", QueuePhaseView.as_view(), name="api-queue-phase"),
    path("competitions/<slug:slug>/phases/<int:index>/queue", PhaseQueueView.as_view(), name="api-phase-queue"),
]
