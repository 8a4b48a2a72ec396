"""How the API's description names the token of a queue."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class QueueTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself
    """A bearer token in the Authorization header."""

    target_class = "gauntlet.queues.authentication.WorkerAuthentication"
    name = "queueToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """In OpenAPI's words."""
        return {"type": "http", "scheme": "bearer"}
