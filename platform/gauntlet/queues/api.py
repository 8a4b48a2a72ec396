"""Routes of the queues app, for those who own queues: make, share, issue and revoke tokens.

What a queue's page shows beside, and its end, are in `gauntlet.evaluation.queue_api`.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.queues import openapi, services  # noqa: F401 -- openapi registers itself with the schema generator
from gauntlet.queues.access import access_queue_as_owner, access_token_as_owner
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.selectors import queues_usable_by, shared_with, tokens_of


class QueueRequest(serializers.Serializer[Any]):
    """How a new queue is called."""

    name = serializers.CharField(max_length=60, help_text="small letters, digits and hyphens")


class QueueAnswer(serializers.Serializer[Any]):
    """A queue that the reader may name in a competition."""

    name = serializers.CharField()
    owner = serializers.CharField()
    created_at = serializers.DateTimeField()


class ShareRequest(serializers.Serializer[Any]):
    """With whom a queue is shared."""

    user = serializers.CharField(max_length=150, help_text="username")


class SharesAnswer(serializers.Serializer[Any]):
    """Who else may use a queue for their competitions."""

    organizers = serializers.ListField(child=serializers.CharField())


class QueueTokenRequest(serializers.Serializer[Any]):
    """What a token of a queue is made from."""

    label = serializers.CharField(  # type: ignore[assignment]  # a field, and not what a serializer is called by
        max_length=100, help_text="which machines use it"
    )


class QueueTokenAnswer(serializers.Serializer[Any]):
    """A token of a queue, without its text."""

    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # as above
    prefix = serializers.CharField(help_text="its first characters")
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class NewQueueTokenAnswer(QueueTokenAnswer):
    """A new token; the only time that its text is shown."""

    token = serializers.CharField()


def queue_json(queue: Queue) -> dict[str, Any]:
    """A queue as `QueueAnswer` has it."""
    return {"name": queue.name, "owner": queue.owner.username, "created_at": queue.created_at}


def _token_json(token: QueueToken) -> dict[str, Any]:
    names = ("label", "prefix", "created_at", "last_used_at")
    return {"id": token.pk, **{name: getattr(token, name) for name in names}}


class QueuesView(APIView):
    """Queues that the reader may name in a competition beside the platform's."""

    @extend_schema(responses=QueueAnswer(many=True))
    def get(self, request: Request) -> Response:
        """The reader's own queues and those shared with them, by name."""
        found = queues_usable_by(signed_in(request))
        return Response(QueueAnswer([queue_json(queue) for queue in found], many=True).data)

    @extend_schema(request=QueueRequest, responses={201: QueueAnswer})
    def post(self, request: Request) -> Response:
        """Make a queue of one's own."""
        wanted = QueueRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        queue = services.create_queue(wanted.validated_data["name"], owner=signed_in(request))
        return Response(QueueAnswer(queue_json(queue)).data, status=201)


class SharesView(APIView):
    """Who else may use a queue."""

    @extend_schema(responses=SharesAnswer)
    def get(self, request: Request, name: str) -> Response:
        """List them, by name. The owner only."""
        return _shares(access_queue_as_owner(request.user, name))

    @extend_schema(request=ShareRequest, responses=SharesAnswer)
    def post(self, request: Request, name: str) -> Response:
        """Share the queue with somebody; again changes nothing."""
        queue = access_queue_as_owner(request.user, name)
        wanted = ShareRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        services.share_queue(queue, username=wanted.validated_data["user"], actor=signed_in(request))
        return _shares(queue)


class ShareView(APIView):
    """Somebody with whom a queue is shared."""

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, name: str, username: str) -> Response:
        """Let somebody name the queue in no further competition; phases that use it go on."""
        queue = access_queue_as_owner(request.user, name)
        services.unshare_queue(queue, username=username, actor=signed_in(request))
        return Response(status=204)


def _shares(queue: Queue) -> Response:
    return Response(SharesAnswer({"organizers": [one.username for one in shared_with(queue)]}).data)


class QueueTokensView(APIView):
    """The tokens of a queue's workers."""

    @extend_schema(responses=QueueTokenAnswer(many=True))
    def get(self, request: Request, name: str) -> Response:
        """Those that are not revoked, newest first. The owner only."""
        found = tokens_of(access_queue_as_owner(request.user, name))
        return Response(QueueTokenAnswer([_token_json(token) for token in found], many=True).data)

    @extend_schema(request=QueueTokenRequest, responses={201: NewQueueTokenAnswer})
    def post(self, request: Request, name: str) -> Response:
        """Make a token; its text is in this answer and nowhere else."""
        queue = access_queue_as_owner(request.user, name)
        wanted = QueueTokenRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        label = wanted.validated_data["label"]
        token, plain = services.issue_token(queue, label=label, actor=signed_in(request))
        return Response(NewQueueTokenAnswer({**_token_json(token), "token": plain}).data, status=201)


class QueueTokenView(APIView):
    """One token."""

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, name: str, token_id: UUID) -> Response:
        """Revoke a token at once and for good; its workers get and finish nothing any more."""
        token = access_token_as_owner(request.user, name, token_id)
        services.revoke_token(token, actor=signed_in(request))
        return Response(status=204)


urlpatterns = [
    path("queues", QueuesView.as_view(), name="api-queues"),
    path("queues/<slug:name>/organizers", SharesView.as_view(), name="api-queue-organizers"),
    path("queues/<slug:name>/organizers/<str:username>", ShareView.as_view(), name="api-queue-organizer"),
    path("queues/<slug:name>/tokens", QueueTokensView.as_view(), name="api-queue-tokens"),
    path("queues/<slug:name>/tokens/<uuid:token_id>", QueueTokenView.as_view(), name="api-queue-token"),
]
