"""What came of a hostile program beside what it declares, in words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_runtime.jobs import Failure
from gauntlet_runtime.sandbox.interface import Cause, Verdict
from gauntlet_runtime.zoo.programs import Expected, Kernel, same_sentence, same_value
from gauntlet_runtime.zoo.watched import WatchedRun
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

_SAID: Final = "said "
_NEAR: Final = 0.9  # of the memory limit: what the kernel counts for itself lies between


@dataclass(frozen=True)
class Got:
    """What came of one program."""

    failure: Failure | None  # of the evaluation
    endings: list[tuple[Outcome, FailureCode | None, str]]
    said: list[Any]
    log: str
    run: WatchedRun | None  # the program's first sandbox
    starts: int
    scores: dict[str, float] | None
    leaks: list[str]


def told(log: str) -> list[Any]:
    """What a program said about what it found: a JSON value for each line ``said …`` of its output."""
    return [json.loads(line.removeprefix(_SAID)) for line in log.splitlines() if line.startswith(_SAID)]


def shown(verdict: Expected | Got) -> str:
    """The verdict in a few words, for the table: state, and the codes."""
    if isinstance(verdict, Expected):
        code, endings = verdict.code, [one.code for one in verdict.episodes]
    else:
        code, endings = verdict.failure.code if verdict.failure else None, [ending[1] for ending in verdict.endings]
    if code is not None:
        return f"failed, {code}"
    return ", ".join(["finished", *(str(one or "answered") for one in endings)])


def differences(expected: Expected, got: Got) -> list[str]:
    """Every way in which a program got another verdict than it declares; empty where it got exactly that one."""
    problems = [f"the secret was read: {place}" for place in got.leaks]
    state, code, says = ("failed", *_of(got.failure)) if got.failure else ("finished", None, "")
    if (state, code) != (expected.state, expected.code) or not same_sentence(expected.says, says):
        wanted = _verdict(expected.state, expected.code, expected.says)
        problems.append(f"the evaluation should be {wanted}, and is {_verdict(state, code, says)}")
    problems += _of_episodes(expected, got)
    if expected.said is not None and not same_value(expected.said, got.said):
        problems.append(f"the program should have found {list(expected.said)}, and found {got.said}")
    if expected.starts is not None and expected.starts != got.starts:
        problems.append(f"it should have been started {expected.starts} times, and was {got.starts} times")
    if expected.scores is not None and expected.scores != got.scores:
        problems.append(f"the scores should be {expected.scores}, and are {got.scores}")
    problems += [f"the log lacks {text!r}" for text in expected.log_holds if text not in got.log]
    if expected.log_bytes is not None and len(got.log.encode()) > expected.log_bytes:
        problems.append(f"the log holds {len(got.log.encode())} bytes")
    return problems + _of_the_sandbox(expected, got.run)


def _of(failure: Failure) -> tuple[FailureCode, str]:
    return failure.code, failure.message


def _verdict(state: str, code: FailureCode | None, says: str) -> str:
    return " ".join([state, *([str(code)] if code else []), *([repr(says)] if says else [])])


def _of_episodes(expected: Expected, got: Got) -> list[str]:
    problems = []
    if expected.state == "finished" and len(expected.episodes) != len(got.endings):
        problems.append(f"{len(expected.episodes)} episodes should have ended, and {len(got.endings)} did")
    for number, (wanted, (outcome, code, says)) in enumerate(zip(expected.episodes, got.endings, strict=False)):
        if (wanted.outcome, wanted.code) != (outcome, code) or not same_sentence(wanted.says, says):
            problems.append(
                f"episode {number} should be {_verdict(wanted.outcome, wanted.code, wanted.says)}, "
                f"and is {_verdict(outcome, code, says)}"
            )
    return problems


def _of_the_sandbox(expected: Expected, run: WatchedRun | None) -> list[str]:
    if expected.kernel is None and expected.collected is None and expected.skipped is None:
        return []
    if run is None or run.verdict is None:
        return ["the program's sandbox gave no verdict"]
    problems = [] if expected.kernel is None else _of_the_kernel(expected.kernel, run.verdict)
    collection = run.collections[-1] if run.collections else None
    skipped = sorted(collection.skipped) if collection else []
    if expected.skipped is not None and not same_value(sorted(expected.skipped), skipped):
        problems.append(f"the output should have been left with {list(expected.skipped)}, and was with {skipped}")
    if expected.collected is not None and len(expected.collected) != (collection.files if collection else 0):
        problems.append(f"{len(expected.collected)} files should have been collected")
    return problems


def _of_the_kernel(wanted: Kernel, verdict: Verdict) -> list[str]:
    problems = []
    ended = (verdict.cause, verdict.exit_code, verdict.signal)
    if wanted.cause is Cause.EXITED and ended != (Cause.EXITED, wanted.exit_code, wanted.signal):
        problems.append(f"the program should have ended with {wanted.exit_code}, {wanted.signal}, and did with {ended}")
    elif verdict.cause is not wanted.cause:
        problems.append(f"the sandbox should have ended by {wanted.cause}, and did by {verdict.cause}")
    if (verdict.oom_kills > 0) != wanted.out_of_memory:
        problems.append(f"the kernel counted {verdict.oom_kills} kills for memory")
    if wanted.out_of_memory and (verdict.memory_peak or 0) < _NEAR * verdict.memory_limit:
        problems.append(f"the peak was {verdict.memory_peak} of {verdict.memory_limit} bytes")
    if wanted.refused_forks and not verdict.process_limit_hits:
        problems.append("no fork was refused")
    if wanted.disk_full != verdict.disk_full:
        problems.append(f"the disk was {'full' if verdict.disk_full else 'not full'} at the end")
    return problems
