"""Writes of the accounts app: API tokens, and the log of events."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth import authenticate
from django.contrib.auth.models import AnonymousUser
from django.db import models, transaction
from django.http import HttpRequest
from django.utils import timezone

from gauntlet.accounts.errors import SecondFactorNeeded, TokenNotFound, WrongCredentials
from gauntlet.accounts.models import ApiToken, Event, TokenScope, User

TOKEN_PREFIX = "gnt_"  # noqa: S105 -- the recognisable beginning of every token, so that leaked ones can be found


def record_event(
    subject: models.Model,
    name: str,
    *,
    actor: User | AnonymousUser | None = None,
    before: str = "",
    after: str = "",
    reason: str = "",
    data: Mapping[str, Any] | None = None,
) -> Event:
    """Write what happened to ``subject``; call it in the transaction of the change itself.

    Args:
        subject: the row that it happened to; of any model.
        name: dotted, readable: ``submission.accepted``.
        actor: who did it; None for the platform itself.
        before, after: the states of a transition.
        reason: a sentence; never a secret, never a hidden answer.
        data: more of it, as JSON.
    """
    return Event.objects.create(
        subject_type=subject._meta.model_name or "",
        subject_id=str(subject.pk),
        name=name,
        actor=actor if isinstance(actor, User) else None,
        before=before,
        after=after,
        reason=reason,
        data=dict(data or {}),
    )


def create_token(
    user: User,
    *,
    name: str,
    scopes: Iterable[TokenScope | str] = (TokenScope.READ, TokenScope.SUBMIT),
    ttl: timedelta | None = None,
) -> tuple[ApiToken, str]:
    """Make a bearer token; return its row and its plain text, which nobody can read again.

    Emits ``token.created``.
    """
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name[:100],
            prefix=plain[:12],
            digest=hashlib.sha256(plain.encode()).hexdigest(),
            scopes=sorted({TokenScope(scope).value for scope in scopes}),
            expires_at=timezone.now() + ttl if ttl is not None else None,
        )
        record_event(token, "token.created", actor=user, data={"name": token.name, "scopes": token.scopes})
    return token, plain


def create_token_by_password(
    request: HttpRequest, *, username: str, password: str, name: str, scopes: Iterable[TokenScope | str]
) -> tuple[ApiToken, str]:
    """Make a token for whoever knows the password (of the user name or the e-mail address).

    Raises:
        WrongCredentials: they do not belong together, or the account is switched off.
        SecondFactorNeeded: a password alone must not open this account.
    """
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User):
        raise WrongCredentials("User name and password do not belong together. Check both and try again.")
    if is_mfa_enabled(user):
        raise SecondFactorNeeded("This account has a second factor: log in on the site and make a token there.")
    return create_token(user, name=name, scopes=scopes)


def revoke_token(token: ApiToken, *, actor: User) -> None:
    """End a token now and for good; ending it again changes nothing. Emits ``token.revoked``."""
    with transaction.atomic():
        changed = ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())
        if changed:
            record_event(token, "token.revoked", actor=actor)


def access_token_as_owner(user: User, token_id: UUID) -> ApiToken:
    """The user's own token, whatever its state.

    Raises:
        TokenNotFound
    """
    token = ApiToken.objects.filter(pk=token_id, user=user).first()
    if token is None:
        raise TokenNotFound("None of your tokens has this id.")
    return token
