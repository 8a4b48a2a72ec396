"""From a sandbox's verdict to a failure code and a sentence that its reader can act on.

The sentence says what happened, which limit was hit and how much was used. It never quotes the program's output.
"""

from __future__ import annotations

from typing import Final

from gauntlet_runtime.jobs import Failure, SandboxLimits
from gauntlet_runtime.sandbox.interface import Cause, Limits, Verdict
from gauntlet_scoring.failures import FailureCode

_MIB: Final = 1 << 20


def readable(output: bytes) -> str:
    """A program's output as text that can be stored: what is not UTF-8, and NUL, become replacement characters."""
    return output.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def sandbox_limits(limits: SandboxLimits, *, seconds: float | None = None) -> Limits:
    """A job's limits as a sandbox takes them, with another time limit where ``seconds`` is given."""
    return Limits(
        seconds=limits.seconds if seconds is None else seconds,
        memory=limits.memory,
        cpus=limits.cpus,
        processes=limits.processes,
        scratch=limits.scratch,
        output=limits.output,
        log=limits.log,
    )


def limit_hit(verdict: Verdict) -> FailureCode | None:
    """Which limit ended the program, or made it fail; None where no limit was involved.

    Refused forks and a full disk count only where the program then failed: it may well have coped with them.
    """
    match verdict.cause:
        case Cause.TIME_LIMIT:
            return FailureCode.TIME_LIMIT
        case Cause.MEMORY_LIMIT:
            return FailureCode.MEMORY_LIMIT
        case Cause.OUTPUT_LIMIT:
            return FailureCode.OUTPUT_LIMIT
    if verdict.exit_code == 0:
        return None
    if verdict.process_limit_hits:
        return FailureCode.PROCESS_LIMIT
    if verdict.disk_full:
        return FailureCode.DISK_LIMIT
    return None


def limit_sentence(code: FailureCode, verdict: Verdict, *, subject: str, limits: Limits) -> str:
    """What happened and what to do, for a code that `limit_hit` gave. ``subject`` is "The agent" or the like."""
    match code:
        case FailureCode.TIME_LIMIT:
            return (
                f"{subject} ran for {verdict.seconds:.0f} seconds; {limits.seconds:.0f} are allowed. "
                "Make it faster, or end it when its work is done."
            )
        case FailureCode.MEMORY_LIMIT:
            peak = "" if verdict.memory_peak is None else f" (peak {verdict.memory_peak // _MIB} MiB)"
            return (
                f"{subject} needed more than the {verdict.memory_limit // _MIB} MiB of memory allowed{peak}. "
                "Keep less in memory at once, or work in smaller pieces."
            )
        case FailureCode.OUTPUT_LIMIT:
            return f"{subject} printed more than the {limits.log // 1024} KiB allowed. Print less."
        case FailureCode.PROCESS_LIMIT:
            return (
                f"{subject} was refused {verdict.process_limit_hits} new processes or threads; "
                f"{limits.processes} may run at once. Start fewer."
            )
        case _:
            return (
                f"{subject} filled its disk: {limits.scratch // _MIB} MiB in /tmp and {limits.output // _MIB} MiB of "
                "output are allowed. Write less, or delete what is no longer needed."
            )


def how_it_ended(verdict: Verdict) -> str:
    """ "ended with exit code 1", for a sentence."""
    if verdict.exit_code is not None:
        return f"ended with exit code {verdict.exit_code}"
    if verdict.signal is not None:
        return f"was ended by signal {verdict.signal}"
    return "ended without an exit code"


def agent_failure(verdict: Verdict, *, limits: Limits, log_named: str = "Its output is in the log.") -> Failure:
    """Why the agent lost the episodes that were open when its sandbox ended."""
    code = limit_hit(verdict)
    if code is not None:
        return Failure(code=code, message=limit_sentence(code, verdict, subject="The agent", limits=limits))
    return Failure(
        code=FailureCode.AGENT_ERROR,
        message=f"The agent {how_it_ended(verdict)} before it answered. {log_named}",
    )


def never_asked(verdict: Verdict) -> Failure:
    """Why an agent that asked for no episode, although one was waiting, has none."""
    if verdict.exit_code == 0:
        said = "ended without asking for an episode that was waiting"
    else:
        said = f"{how_it_ended(verdict)} before it asked for an episode"
    return Failure(code=FailureCode.AGENT_ERROR, message=f"The agent {said}. Its output is in the log.")
