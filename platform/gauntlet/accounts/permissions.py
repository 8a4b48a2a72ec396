"""What a token's scopes allow, and who a request comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from gauntlet.accounts.errors import NotSignedIn, ScopeMissing
from gauntlet.accounts.models import ApiToken, TokenScope, User

if TYPE_CHECKING:  # the framework's views import this module through the settings
    from rest_framework.views import APIView


class TokenScopes(BasePermission):
    """A token reads with scope ``read``; for anything else it needs the view's ``write_scope`` (``submit``).

    A view that any token may use, whatever its scopes, says ``any_scope = True``. Sessions have no scopes.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the request's token, if it came with one, covers the request."""
        token = request.auth
        if not isinstance(token, ApiToken) or getattr(view, "any_scope", False):
            return True
        needed = TokenScope.READ if request.method in SAFE_METHODS else getattr(view, "write_scope", TokenScope.SUBMIT)
        check_scope(token, needed)
        return True


def check_scope(token: ApiToken, needed: str) -> None:
    """Refuse a token that may not be used for this.

    Raises:
        ScopeMissing
    """
    if needed not in token.scopes:
        raise ScopeMissing(f"This token lacks the scope '{needed}'. Make one that has it: gauntlet login")


def signed_in(request: Request) -> User:
    """Who sent this request.

    Raises:
        NotSignedIn
    """
    if not isinstance(request.user, User):
        raise NotSignedIn("Log in, or send a token: Authorization: Bearer <token>")
    return request.user
