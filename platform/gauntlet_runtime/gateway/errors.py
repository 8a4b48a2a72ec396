"""What the episode API answers where it cannot do what was asked."""

from __future__ import annotations


class ApiError(Exception):
    """An answer ``{code, message, retry_after?}`` with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    def body(self) -> dict[str, object]:
        """The JSON of the answer."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        return body


class EnvironmentFailed(Exception):
    """The environment died, hung or broke its contract: the organizer's fault, never the agent's."""


def unknown_episode() -> ApiError:
    """No such episode was ever handed to this agent."""
    return ApiError(404, "unknown_episode", "There is no episode with this id. POST /episodes hands out the next one.")


def closed_episode(reason: str) -> ApiError:
    """The episode is over; ``reason`` is a whole sentence."""
    return ApiError(410, "episode_closed", f"{reason} POST /episodes hands out the next one.")


def answered_episode() -> ApiError:
    """An answer was given already."""
    return ApiError(409, "already_answered", "This episode was answered already; the first answer counts.")
