"""How a command ends that could not do what was asked: an exit code and one sentence."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `gauntlet`, as its help lists them."""

    OK = 0
    FAILED = 1  # it was tried and failed: a bundle with errors, a submission that failed
    USAGE = 2  # the command line does not make sense
    REFUSED = 3  # not logged in, or the platform refused: permission, quota, closed phase
    UNREACHABLE = 4  # the platform does not answer, or answers with a fault of its own
    INTERRUPTED = 130  # Ctrl-C


class CommandFailed(Exception):
    """Ends a command with an exit code and a sentence for the person at the terminal."""

    def __init__(
        self,
        message: str,
        *,
        code: Exit = Exit.FAILED,
        hints: tuple[str, ...] = (),
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hints = hints
        self.retry_after = retry_after  # seconds after which the platform would listen again
        self.status = status  # of the platform's answer, where there was one
