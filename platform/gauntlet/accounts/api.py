"""Routes of the accounts app: tokens, and who I am."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from gauntlet.accounts import openapi, services  # noqa: F401 -- openapi registers itself with the schema generator
from gauntlet.accounts.errors import TokenNotFound
from gauntlet.accounts.models import ApiToken, TokenScope
from gauntlet.accounts.permissions import signed_in


class AddressThrottle(SimpleRateThrottle):
    """Log-ins from one address."""

    scope = "tokens"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """One bucket an address."""
        return self.cache_format % {"scope": "tokens.address", "ident": self.get_ident(request)}


class AccountThrottle(SimpleRateThrottle):
    """Log-ins to one account, from wherever."""

    scope = "tokens"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """One bucket an account name."""
        name = request.data.get("username") if isinstance(request.data, dict) else None
        if not isinstance(name, str) or not name:
            return None
        return self.cache_format % {
            "scope": "tokens.account",
            "ident": name.strip().casefold().encode(errors="surrogatepass").hex()[:128],
        }


class TokenRequest(serializers.Serializer[Any]):
    """What a token is made from."""

    username = serializers.CharField(max_length=254)
    password = serializers.CharField(max_length=1024, trim_whitespace=False)
    name = serializers.CharField(max_length=100, default="command line")
    scopes = serializers.MultipleChoiceField(
        choices=TokenScope.choices, default=set(TokenScope.values), allow_empty=False
    )


class TokenAnswer(serializers.Serializer[Any]):
    """A new token; the only time that its text is shown."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    expires_at = serializers.DateTimeField(allow_null=True)


class MeAnswer(serializers.Serializer[Any]):
    """Who the request comes from."""

    username = serializers.CharField()
    email = serializers.EmailField()
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)


class TokensView(APIView):
    """Make tokens."""

    authentication_classes = ()  # a request with a stale token must still be able to get a new one
    permission_classes = (AllowAny,)
    throttle_classes = (AddressThrottle, AccountThrottle)

    @extend_schema(request=TokenRequest, responses={201: TokenAnswer})
    def post(self, request: Request) -> Response:
        """Make a token from a user name (or e-mail address) and password."""
        wanted = TokenRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        token, plain = services.create_token_by_password(request._request, **wanted.validated_data)
        body = {
            "id": token.pk,
            "token": plain,
            "name": token.name,
            "scopes": token.scopes,
            "expires_at": token.expires_at,
        }
        return Response(TokenAnswer(body).data, status=201)


class TokenView(APIView):
    """End tokens."""

    any_scope = True

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, token_id: UUID) -> Response:
        """End one of my tokens."""
        user = signed_in(request)
        services.revoke_token(services.access_token_as_owner(user, token_id), actor=user)
        return Response(status=204)


class CurrentTokenView(APIView):
    """End the token that the request came with."""

    any_scope = True

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """End this token: log out of the command."""
        user = signed_in(request)
        if not isinstance(request.auth, ApiToken):
            raise TokenNotFound("This request did not come with a token.")
        services.revoke_token(request.auth, actor=user)
        return Response(status=204)


class MeView(APIView):
    """Who I am."""

    @extend_schema(responses=MeAnswer)
    def get(self, request: Request) -> Response:
        """Who this request comes from, and what its token may do (null: a session, which has no scopes)."""
        user = signed_in(request)
        scopes = request.auth.scopes if isinstance(request.auth, ApiToken) else None
        return Response(MeAnswer({"username": user.username, "email": user.email, "scopes": scopes}).data)


urlpatterns = [
    path("me", MeView.as_view(), name="api-me"),
    path("tokens", TokensView.as_view(), name="api-tokens"),
    path("tokens/current", CurrentTokenView.as_view(), name="api-token-current"),
    path("tokens/<uuid:token_id>", TokenView.as_view(), name="api-token"),
]
