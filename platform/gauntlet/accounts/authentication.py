"""API authentication by bearer token."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from gauntlet.accounts.models import ApiToken, User


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``; the token is looked up by its SHA-256."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the token's owner, or None where the request carries no token."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2:
            raise AuthenticationFailed("Send the token as: Authorization: Bearer <token>")
        now = timezone.now()
        token = (
            ApiToken.objects.select_related("user")
            .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), revoked_at__isnull=True, user__is_active=True)
            .filter(digest=hashlib.sha256(words[1]).hexdigest())
            .first()
        )
        if token is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked. Make a new one: gauntlet login")
        # Once a minute is enough to tell an owner that a token is in use.
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - timedelta(minutes=1))
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Make a refusal a 401 and not a 403."""
        return "Bearer"
