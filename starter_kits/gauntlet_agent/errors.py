"""What can go wrong between an agent and the gateway, one class a kind.

Everything derives from :class:`GauntletError`, so ``except GauntletError`` catches what this library raises and
nothing else. A message is a whole sentence that can be printed as it is.
"""

from __future__ import annotations

from typing import Any


class GauntletError(Exception):
    """Base of everything that this library raises on purpose."""


class NoGateway(GauntletError):
    """The program does not run inside a Gauntlet sandbox: there is no gateway to talk to."""


class GatewayUnreachable(GauntletError):
    """The gateway does not answer at its address, or hung up in the middle of an answer."""


class ToolError(GauntletError):
    """A tool call came back as an error: unknown tool, wrong argument, or the tool's own complaint."""


class GatewayError(GauntletError):
    """The gateway refused a request.

    Attributes:
        status: the HTTP status
        code: the gateway's word for the reason, such as ``budget_exceeded``
        message: a sentence that says what to do
        retry_after: seconds after which the same request may work, or None
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.retry_after = retry_after


class EpisodeClosed(GatewayError):
    """The episode is over: answered already, out of time, or ended by the platform."""


class BudgetExceeded(GatewayError):
    """A limit of the episode is used up: turns, tool calls, tokens or cost. The episode can still be answered."""


class Conflict(GatewayError):
    """The request does not fit the state of the episode, or contradicts an earlier one with the same key."""


class TooLarge(GatewayError):
    """What was sent is larger than the episode's limits allow."""


class InvalidRequest(GatewayError):
    """The gateway does not understand what was sent."""


class Unavailable(GatewayError):
    """The platform cannot do this at the moment; ``retry_after`` says when to ask again."""


_BY_CODE: dict[str, type[GatewayError]] = {
    "budget_exceeded": BudgetExceeded,
    "episode_closed": EpisodeClosed,
    "already_answered": EpisodeClosed,
}
_BY_STATUS: dict[int, type[GatewayError]] = {
    400: InvalidRequest,
    404: EpisodeClosed,  # an episode that the gateway no longer knows is as over as one it remembers
    409: Conflict,
    410: EpisodeClosed,
    413: TooLarge,
    422: InvalidRequest,
    429: BudgetExceeded,
    503: Unavailable,
}


def refusal(status: int, body: Any) -> GatewayError:
    """Turn an answer ``{code, message, retry_after?}`` into the exception of its kind."""
    fields = body if isinstance(body, dict) else {}
    code = str(fields.get("code") or "")
    message = str(fields.get("message") or f"The gateway refused the request with HTTP status {status}.")
    retry_after = fields.get("retry_after")
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, GatewayError)
    seconds = float(retry_after) if isinstance(retry_after, int | float) else None
    return kind(message, status=status, code=code, retry_after=seconds)
