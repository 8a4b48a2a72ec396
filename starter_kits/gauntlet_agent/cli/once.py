"""Sends a small file at once, with a key by which the platform knows the request again when its answer was lost."""

from __future__ import annotations

import uuid
from typing import IO, Any, Final, cast

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import console
from gauntlet_agent.cli.platform_api import PlatformApi
from gauntlet_agent.cli.progress import Counted, progress
from gauntlet_agent.cli.unfinished import Sent, noted

_AGAIN: Final = "The same command makes no second submission of it, and tells what became of the first."


def submit_once(api: PlatformApi, file: IO[bytes], *, sent: Sent, name: str | None, resume: bool) -> dict[str, Any]:
    """Send a whole file and submit it; return what the platform made of it, or of an earlier run without an answer.

    Args:
        file: stands at its beginning.
        resume: False submits it once more, though the answer to an earlier run may only have been lost.

    Raises:
        CommandFailed: the platform refuses it, or no answer came; or Ctrl-C was pressed.
    """
    with noted(sent) as note:
        if note.key is None or not resume:
            note.write(key=str(uuid.uuid4()))
        try:
            with progress(sent.file_name, sent.length) as advance:
                made, earlier = api.submit(
                    sent.competition,
                    sent.phase,
                    bundle=cast(IO[bytes], Counted(file, advance)),
                    file_name=sent.file_name,
                    name=name,
                    key=str(note.key),
                )
        except KeyboardInterrupt:
            raise CommandFailed(f"Interrupted. {_AGAIN}", code=Exit.INTERRUPTED) from None
        except CommandFailed as failed:
            if failed.code is Exit.UNREACHABLE:
                failed.hints += (_AGAIN,)
            else:
                note.remove()
            raise
        note.remove()
    if earlier:
        console(stderr=True).print(
            "An earlier request submitted it already, and its answer was lost; this is what it made. "
            "To submit the same file once more, type the command again."
        )
    return made
