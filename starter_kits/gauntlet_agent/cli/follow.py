"""Follow a submission to its end: by the server's events where it sends them, else by asking."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import clean, console
from gauntlet_agent.cli.platform_api import PlatformApi
from gauntlet_agent.cli.views import failure_of, headline, is_final, show_submission, status_of

_PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 3.0)  # between questions: quick at first, then patient
_OUTAGE_SECONDS: Final = 60.0  # how long the server may be away before the command gives up


def follow(api: PlatformApi, submission: str) -> dict[str, Any]:
    """Print each change of a submission and return it when it has come to an end."""
    out = console(stderr=True)
    last = ""
    state: dict[str, Any] = {}
    try:
        for state in _states(api, submission):
            line = headline(state)
            if line != last:
                out.print(line)
                last = line
    except KeyboardInterrupt:
        again = f"`gauntlet status {submission} --wait` follows it again."
        raise CommandFailed(f"Stopped waiting; the submission goes on. {again}", code=Exit.INTERRUPTED) from None
    return state


def conclude(state: dict[str, Any]) -> None:
    """Show how a submission ended.

    Raises:
        CommandFailed: it did not finish; the sentence says why.
    """
    status = status_of(state)
    show_submission(state)
    if status == "finished":
        return
    failure = failure_of(state)
    if failure is None:
        raise CommandFailed(f"The submission was {clean(status)}.")
    hint = f"`gauntlet logs {clean(state.get('id', ''))}` shows what your agent printed."
    owned = failure.get("owner") == "participant"
    sentence = clean(failure.get("message") or f"The submission failed: {failure.get('code')}.")
    raise CommandFailed(sentence, code=Exit.FAILED, hints=(hint,) if owned else ())


def _states(api: PlatformApi, submission: str) -> Iterator[dict[str, Any]]:
    import httpx

    state = _asked(api, submission)
    yield state
    if not is_final(state):
        try:
            for state in api.events(submission):
                yield state
                if is_final(state):
                    break
        except (httpx.HTTPError, CommandFailed, ValueError):
            pass  # no such stream, or it broke: asking works everywhere
    turn = 0
    while not is_final(state):
        time.sleep(_PAUSES[min(turn, len(_PAUSES) - 1)])
        turn += 1
        state = _asked(api, submission)
        yield state


def _asked(api: PlatformApi, submission: str) -> dict[str, Any]:
    """Ask for a submission; a server that is away or busy for a moment does not end the wait."""
    since = time.monotonic()
    while True:
        try:
            return api.submission(submission)
        except CommandFailed as failed:
            waits = failed.code is Exit.UNREACHABLE or failed.retry_after is not None
            if not waits or time.monotonic() - since > _OUTAGE_SECONDS:
                raise
            time.sleep(min(1.0 if failed.retry_after is None else failed.retry_after, _OUTAGE_SECONDS))
