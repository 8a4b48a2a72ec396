"""Sentences that pages share: whose fault a failure is, and what to do about it."""

from __future__ import annotations

from typing import Final

FAULT: Final = {"participant": "agent’s fault", "organizer": "competition’s fault", "platform": "platform’s fault"}

FAULT_SENTENCE: Final = {
    "participant": "The cause lies in the agent.",
    "organizer": "The cause lies in the competition, not in your agent. The organizer can see it; "
    "this submission does not use up an attempt.",
    "platform": "The cause lies in the platform, not in your agent. This submission does not use up an attempt.",
}

#: The same for an organizer who reads about a participant's submission.
FAULT_FOR_ORGANIZER: Final = {
    "participant": "The cause lies in the participant’s agent; its owner is told what to do.",
    "organizer": "The cause lies in the competition: read what its programs printed, below, and mend them. "
    "The participant’s attempt was given back.",
    "platform": "The cause lies in the platform, not in the competition. The participant’s attempt was given back.",
}

_AGAIN: Final = "Nothing to change on your side: submit the same bundle again. It is not run again by itself."
_ORGANIZER: Final = "Nothing to change on your side. Tell the organizer if it stays like this."

#: Where the phase does not show the agent's log.
NEXT_STEP_WITHOUT_LOG: Final = {
    "agent_error": "Run `gauntlet test` on your machine, where you see what the agent prints, and submit again.",
}

#: Where a file is not taken for a while, because the platform failed at it several times in a row.
NEXT_STEP_PARKED: Final = "There is nothing else to do on your side: its operators were told."

#: Where nothing can be submitted to the phase any more, by whose fault it was.
NEXT_STEP_CLOSED: Final = {
    "participant": "This phase is closed: nothing can be submitted to it any more.",
    "organizer": "This phase is closed. Write to the organizer.",
    "platform": "This phase is closed. Write to the organizer, who can see what happened.",
}

#: Where the failure's own sentence says everything that the check found.
NEXT_STEP_WITHOUT_FINDINGS: Final = "Correct that and submit again. `gauntlet test` finds it before an upload does."

#: Where results were submitted: whose fault it is, and what to do.
OF_RESULTS: Final = {
    "invalid_bundle": "Correct that and submit again.",
    "scoring_error": "The scoring program failed at your files. Compare them with what the competition's pages ask "
    "for, and submit again if they differ; tell the organizer if they do not.",
}

NEXT_STEP: Final = {
    "invalid_bundle": "Correct the points below and submit again. `gauntlet test` finds them before an upload does.",
    "agent_error": "Read the last lines of the log, run `gauntlet test` on your machine, and submit again.",
    "protocol_error": "Compare your calls with the agent's API: `gauntlet test` shows the first one that was refused.",
    "time_limit": "Make the agent answer sooner, or give up on a scenario before its time is over.",
    "memory_limit": "Make the agent use less memory: load less at once, or free what it has finished with.",
    "process_limit": "Make the agent start fewer processes and threads.",
    "disk_limit": "Make the agent write fewer files, and remove what it no longer needs.",
    "output_limit": "Make the agent print less, or answer more briefly.",
    "budget_exceeded": "Make the agent use fewer model calls or shorter prompts.",
    "environment_error": _ORGANIZER,
    "ingestion_error": _ORGANIZER,
    "scoring_error": _ORGANIZER,
    "infrastructure": _AGAIN,
    "image_unavailable": _AGAIN,
}
