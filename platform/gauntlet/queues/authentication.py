"""How the platform knows a worker that comes over HTTPS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from gauntlet.queues.errors import NoSuchQueueToken
from gauntlet.queues.models import QueueToken
from gauntlet.queues.services import authenticate_worker

if TYPE_CHECKING:  # the framework's views import what settings name
    from rest_framework.views import APIView


class WorkerAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token of a queue>``. A worker is no person: ``request.auth`` is the token."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, QueueToken]:
        """Nobody, and the token.

        Raises:
            NoSuchQueueToken
        """
        words = get_authorization_header(request).split()
        if len(words) != 2 or words[0].lower() != b"bearer":
            raise NoSuchQueueToken("Send the token of your queue as: Authorization: Bearer <token>")
        token = authenticate_worker(words[1].decode("latin-1"))
        if token is None:
            raise NoSuchQueueToken(
                "This token was never issued or is revoked. Make a new one on the page of your queue, and start the "
                "worker with it."
            )
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        """Make a refusal a 401 and not a 403."""
        return "Bearer"


class IsWorker(BasePermission):
    """The request came with the token of a queue."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether it did."""
        return isinstance(request.auth, QueueToken)
