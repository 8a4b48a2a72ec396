"""A submission's page: where it stands and what to do, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from gauntlet.evaluation.story import EvaluationStory, SubmissionStory
from gauntlet.web import wording
from gauntlet.web.queue_page import runs_on, stalled
from gauntlet.web.templatetags.gauntlet_ui import duration

_SHOWN_LINES: Final = 12
_SHOWN_OF_A_LINE: Final = 400  # characters
_SHOWN_OF_A_LOG: Final = 8_000  # characters

_COUNTS: Final = {
    "attempt": "uses one attempt",
    "failed_start": "uses one of the failed starts, no attempt",
    "nothing": "uses no attempt",
}

_UNCHECKED: Final = (
    "It waits for the check of its bundle, and no worker of the platform takes work now. It is checked once one does; "
    "if that takes long, the operator of this installation has to see to it."
)


@dataclass(frozen=True, kw_only=True)
class Log:
    """The end of a log, whether something stands before it, and the address of the whole."""

    end: str
    cut: bool
    place: str


def standing(story: SubmissionStory) -> str:
    """The chip: its state, and of one that waits, or has begun and waits again, whether anybody serves its queue."""
    unserved = any(one.unserved_queue for one in story.evaluations if one.state == story.status)
    if unserved and story.status in ("running", "scoring"):
        return "held_up"
    return "unserved" if unserved and story.status == "queued" else story.status


def said(story: SubmissionStory, *, checked: bool = True) -> str:
    """Where the submission stands, in one sentence or two.

    Args:
        checked: whether some worker checks what was sent at the moment; asked of what was received only
    """
    current = next((one for one in story.evaluations if one.state == story.status), None)
    return {
        "received": "It waits for the check of its bundle." if checked else _UNCHECKED,
        "checking": "The bundle is being unpacked and checked, and its packages installed.",
        "rejected": "The bundle was not accepted; nothing was run.",
        "waiting": "The organizer approves each run of this phase.",
        "queued": _queued(current, of=len(story.evaluations)),
        "running": stalled(story.evaluations) or _running(story.evaluations),
        "scoring": stalled(story.evaluations) or _scoring(current),
        "finished": _finished(story),
        "failed": "It failed; the cause stands above.",
        "cancelled": f"It was cancelled; nothing more will happen to it. It {counts(story)}.",
    }.get(story.status, "")


def announced(story: SubmissionStory, *, checked: bool = True) -> str:
    """What a screen reader is told at a change: the state and its place, and not each episode or estimate."""
    current = next((one for one in story.evaluations if one.state == story.status), None)
    if story.failure and story.final:
        return f"It failed: {story.failure.message}"
    if story.status == "queued" and current and not current.unserved_queue and current.position:
        return f"{_place(current, of=len(story.evaluations))}."
    if story.status == "running" and not stalled(story.evaluations):
        return "The agent is running."
    return said(story, checked=checked)


def _queued(evaluation: EvaluationStory | None, *, of: int) -> str:
    if evaluation is None or evaluation.position is None:
        return "It waits for a free worker."
    place = _place(evaluation, of=of)
    if evaluation.unserved_queue and evaluation.queue_owner:
        return (
            f"{place} '{evaluation.unserved_queue}', which only {evaluation.queue_owner}'s own workers serve, and none "
            "of them does now. It starts once one does; if that takes long, write to the organizer."
        )
    if evaluation.unserved_queue:
        return (
            f"{place} '{evaluation.unserved_queue}', which no worker serves at the moment. It starts once one does; if "
            "that takes long, the operator of this installation has to see to it."
        )
    if evaluation.estimate_seconds is None:
        return f"{place}; there is no history yet to estimate from."
    return f"{place} and starts in about {about(evaluation.estimate_seconds)}."


def _place(evaluation: EvaluationStory, *, of: int) -> str:
    what = "It" if of == 1 else f"Its task {evaluation.task}"
    if evaluation.position == 1:
        return f"{what} is next in the queue"
    return f"{what} is number {evaluation.position} in the queue"


def about(seconds: float) -> str:
    """A wait that is only estimated, rounded up: no more digits than it is worth."""
    if seconds < 10:
        return "a few seconds"
    if seconds <= 90:
        return f"{ceil(seconds / 10) * 10} s"
    if seconds <= 90 * 60:
        return f"{ceil(seconds / 60)} min"
    return f"{ceil(seconds / 3600)} h" if seconds <= 48 * 3600 else f"{ceil(seconds / 86400)} d"


def _running(evaluations: Sequence[EvaluationStory]) -> str:
    total = sum(one.episodes_total for one in evaluations)
    done = sum(one.episodes_done for one in evaluations)
    return f"The agent is running: {done} of {total} episodes are done."


def _scoring(evaluation: EvaluationStory | None) -> str:
    if evaluation and evaluation.episodes_total:
        return "All episodes are over; they are being scored."
    return "The results are being scored."


def _finished(story: SubmissionStory) -> str:
    seconds = sum(one.agent_seconds for one in story.evaluations)
    scored = sum(one.scorer_seconds for one in story.evaluations)
    if not any(one.episodes_total for one in story.evaluations):
        return f"It is scored. The scorers ran for {duration(scored)}."
    return f"It is scored. The agent ran for {duration(seconds)}, the scorers for {duration(scored)}."


def run_by(story: SubmissionStory) -> str:
    """Whose workers run it, in a sentence; the tasks of one submission may differ once its phase was moved.

    Empty where it ended before anything ran.
    """
    evaluations = story.evaluations
    if story.final:
        evaluations = [one for one in evaluations if one.started_at or one.scoring_at]
        if not evaluations:
            return ""
    owners = [one.queue_owner for one in evaluations] or [story.queue_owner]
    return " ".join(runs_on(owner, verb="Ran" if story.final else "Runs") for owner in dict.fromkeys(owners))


def counts(story: SubmissionStory) -> str:
    """Which quota a submission used that has ended without a result."""
    return _COUNTS.get(story.counts_as, "") if story.final else ""


def failed_task(story: SubmissionStory) -> str:
    """In which of several tasks it failed."""
    failed = [one.task for one in story.evaluations if one.failure]
    return failed[0] if failed and len(story.evaluations) > 1 else ""


def next_step(story: SubmissionStory, *, parked: bool, of_results: bool, closed: bool) -> str:
    """Whose fault a failure is and what its participant can do; commands stand between backticks.

    Args:
        parked: the file is not taken for a while, which the failure's own sentence says.
        of_results: results were submitted, and nothing of them was run.
        closed: its phase takes no submissions any more.
    """
    failure = story.failure
    if failure is None:
        return ""
    fault = wording.FAULT_SENTENCE[failure.owner] if story.status != "rejected" else ""
    if of_results:
        fault = fault.replace("your agent", "your results")
    blind = "" if story.log_visible else wording.NEXT_STEP_WITHOUT_LOG.get(failure.code, "")
    step = blind or wording.NEXT_STEP[failure.code]
    if closed:
        step = wording.NEXT_STEP_CLOSED[failure.owner]
    elif parked:
        step = wording.NEXT_STEP_PARKED
    elif of_results and failure.code in wording.OF_RESULTS:
        fault, step = "", wording.OF_RESULTS[failure.code]
    elif failure.code == "invalid_bundle" and not story.findings:
        step = wording.NEXT_STEP_WITHOUT_FINDINGS
    return f"{fault} {step}".strip()


def last_lines(story: SubmissionStory) -> str:
    """The end of the log that belongs to a failure."""
    text = story.check_log if story.status == "rejected" else story.log
    lines = (text or "").rstrip().splitlines()[-_SHOWN_LINES:] if story.failure else []
    return "\n".join(line if len(line) <= _SHOWN_OF_A_LINE else f"{line[:_SHOWN_OF_A_LINE]} …" for line in lines)


def log_of(text: str, *, place: str) -> Log:
    """As much of a log's end as a page holds, from the beginning of a line where there is one."""
    if len(text) <= _SHOWN_OF_A_LOG:
        return Log(end=text, cut=False, place=place)
    end = text[-_SHOWN_OF_A_LOG:]
    return Log(end=end.partition("\n")[2].lstrip("\n") or end, cut=True, place=place)
