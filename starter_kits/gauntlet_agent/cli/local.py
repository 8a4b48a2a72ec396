"""`gauntlet test`: the agent on this machine, in the platform's own sandbox and with its gateway.

gauntlet-runtime is imported here and nowhere else in this distribution: whoever only submits does not need it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet_agent.bundle import bundle_files
from gauntlet_agent.cli.failure import CommandFailed
from gauntlet_agent.cli.home_judge import tell_judge
from gauntlet_agent.cli.kits import competition_folder
from gauntlet_agent.cli.output import add_row, clean, console, shortened, table
from gauntlet_agent.loop import GAVE_UP

if TYPE_CHECKING:
    from gauntlet_runtime.jobs import EpisodeResult
    from gauntlet_scoring.ground_truth import GroundTruth
    from gauntlet_scoring.reading import RecordedEpisode
    from gauntlet_scoring.trajectory import AnswerEvent, Event

_INSTALL = "pip install 'gauntlet-agent[test]'"


@dataclass(frozen=True)
class Row:
    """What the table says about one scenario."""

    text: str
    outcome: str
    answer: str
    tool_calls: int
    seconds: float
    verdicts: dict[str, Any] | None  # gauntlet_scoring.checks.Criterion by criterion; None without ground truth
    message: str = ""
    gave_up: str = ""  # what `solve` raised, where the client library closed the episode in its place


def run_and_show(agent: Path, kit: Path, *, limit: int | None, sandbox: str | None, show_log: bool) -> None:
    """Run the agent on a kit's scenarios and print what came of each.

    Raises:
        CommandFailed: it cannot be run here, or it did not answer every scenario.
    """
    run_locally = _runner()
    folder = competition_folder(kit)
    progress = console(stderr=True)
    done = 0

    def on_event(event: Any, *_more: Any) -> None:
        nonlocal done
        if getattr(event, "value", event) == "episode_ended":
            done += 1
            if progress.is_terminal:
                progress.print(f"{done} done", end="\r")

    try:
        with tempfile.TemporaryDirectory(prefix="gauntlet-test-") as temporary:
            staged = _staged(agent, Path(temporary) / "agent")
            result = run_locally(staged, folder.resolve(), limit=limit, sandbox=sandbox, on_event=on_event)
    except Exception as error:
        raise _explained(error) from error
    truths = truths_of(folder)
    rows = [row_of(episode, events, truths) for episode, events in result.episodes]
    show(rows)
    tell_judge(folder, _answered(result.episodes, truths))
    failed = [row for row in rows if row.outcome != "answered"]
    if result.log and (show_log or failed or not all(row.answer for row in rows)):
        console(stderr=True).print(f"What the agent printed:\n{clean(result.log).rstrip()}")
    _conclude(rows, failed)


def show(rows: Sequence[Row]) -> None:
    """The table, below it which checks did not hold, and the means of the criteria."""
    criteria = list(next((row.verdicts for row in rows if row.verdicts), {}))
    titles = [criterion.replace("_", " ") for criterion in criteria]
    columns = ("Scenario", "Outcome", "Answer", "Calls", "Seconds", *titles)
    made = table(*columns, right=("Calls", "Seconds", *titles))
    for row in rows:
        judged = [_share(row.verdicts[criterion]) if row.verdicts else None for criterion in criteria]
        outcome = row.outcome if row.outcome == "answered" else f"{row.outcome}: {row.message}"
        text, answer = shortened(row.text, 50), shortened(row.answer or row.gave_up, 50) or None
        add_row(made, text, outcome, answer, row.tool_calls, f"{row.seconds:.2f}", *judged)
    out = console()
    out.print(made)
    for row in rows:
        missed = _missed(row)
        if missed:
            out.print(shortened(row.text, 100))
            for line in missed:
                out.print(f"  {line}")
    if criteria:
        out.print("")
    for criterion, title in zip(criteria, titles, strict=True):
        values = [row.verdicts[criterion].value if row.verdicts else 0.0 for row in rows]
        out.print(f"{title}: {sum(values) / len(values):.3f}")


def _missed(row: Row) -> list[str]:
    """Why checks did not hold, each reason once: what several checks want is only missing once."""
    lines: list[str] = []
    for criterion, judged in (row.verdicts or {}).items():
        for verdict in judged.verdicts:
            if not verdict.holds:
                lines.append(f"{criterion.replace('_', ' ')}: {clean(str(verdict.reason))}")
    return list(dict.fromkeys(lines))


def _staged(agent: Path, into: Path) -> Path:
    """Copy what would be submitted, and only that: a file that stays out of the bundle must be missed here already."""
    for name, path in bundle_files(agent):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return into


def _conclude(rows: Sequence[Row], failed: Sequence[Row]) -> None:
    if not rows:
        raise CommandFailed("No scenario was run.")
    if failed:
        raise CommandFailed(f"{len(failed)} of {len(rows)} scenarios ended without an answer.")


def _share(criterion: Any) -> str:
    held = sum(verdict.holds for verdict in criterion.verdicts)
    return f"{held}/{len(criterion.verdicts)}"


def _runner() -> Callable[..., Any]:
    if find_spec("gauntlet_runtime") is None:
        raise CommandFailed(f"`gauntlet test` needs gauntlet-runtime. Install it with: {_INSTALL}")
    try:
        from gauntlet_runtime.local import run_locally
    except ImportError as error:
        message = f"gauntlet-runtime is not complete ({error}). Install it again with: {_INSTALL}"
        raise CommandFailed(message) from error
    runner: Callable[..., Any] = run_locally
    return runner


def _explained(error: Exception) -> CommandFailed:
    """The runtime's errors in a sentence; it knows best how a sandbox is had on this machine."""
    if type(error).__name__ == "SandboxUnavailable":
        return CommandFailed(str(error), hints=("On Debian and Ubuntu: sudo apt-get install bubblewrap",))
    return CommandFailed(f"The agent could not be run here: {clean(error) or type(error).__name__}")


def row_of(episode: EpisodeResult, events: Sequence[Event], truths: dict[str, GroundTruth]) -> Row:
    from gauntlet_scoring.trajectory import AnswerEvent, ScenarioEvent

    opening = next((event for event in events if isinstance(event, ScenarioEvent)), None)
    answer = next((event for event in events if isinstance(event, AnswerEvent)), None)
    text = opening.text if opening else episode.episode
    truth = _truth_of(episode, events, truths)
    return Row(
        text=text,
        outcome=str(episode.outcome),
        answer=answer.text if answer else "",
        gave_up=_reason_for_giving_up(answer, events),
        tool_calls=episode.tool_calls,
        seconds=episode.seconds,
        verdicts=_verdicts(truth, episode, events) if truth is not None and answer is not None else None,
        message=episode.message or str(episode.failure or ""),
    )


def _reason_for_giving_up(answer: AnswerEvent | None, events: Sequence[Event]) -> str:
    from gauntlet_scoring.trajectory import NoteEvent

    if answer is None or answer.text:
        return ""
    notes = [event.text for event in events if isinstance(event, NoteEvent)]
    return notes[-1] if notes and notes[-1].startswith(GAVE_UP) else ""


def truths_of(folder: Path) -> dict[str, GroundTruth]:
    """The kit's ground truth by id and by text (a scenario's id on the platform is opaque); empty where it has none."""
    from pydantic import ValidationError

    from gauntlet_scoring.ground_truth import GroundTruth
    from gauntlet_scoring.phrases import first_phrase

    found: dict[str, GroundTruth] = {}
    for path in sorted(folder.rglob("*ground_truth*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), start=1):
            if not line.strip():
                continue
            try:
                truth = GroundTruth.model_validate_json(line)
            except ValidationError as error:
                raise CommandFailed(f"{path}:{number}: {first_phrase(error, quote=True)}") from error
            found[truth.key] = found[truth.text] = truth
    return found


def _truth_of(episode: EpisodeResult, events: Sequence[Event], truths: dict[str, GroundTruth]) -> GroundTruth | None:
    from gauntlet_scoring.trajectory import ScenarioEvent

    opening = next((event for event in events if isinstance(event, ScenarioEvent)), None)
    return truths.get(opening.text if opening else episode.episode) or (
        truths.get(opening.scenario) if opening else None
    )


def _answered(
    episodes: Sequence[tuple[EpisodeResult, Sequence[Event]]], truths: dict[str, GroundTruth]
) -> list[tuple[RecordedEpisode, GroundTruth]]:
    """The episodes with an answer and a ground truth, as a judge reads them."""
    found = [(episode, events, _truth_of(episode, events, truths)) for episode, events in episodes]
    return [
        (_recorded(truth, episode, events), truth)
        for episode, events, truth in found
        if truth is not None and str(episode.outcome) == "answered"
    ]


def _verdicts(truth: GroundTruth, episode: EpisodeResult, events: Sequence[Event]) -> dict[str, Any] | None:
    """Judge as the platform's `checks` judge does."""
    from gauntlet_scoring.checks import judge

    return None if truth.checks is None else dict(judge(truth.checks, _recorded(truth, episode, events)))


def _recorded(truth: GroundTruth, episode: EpisodeResult, events: Sequence[Event]) -> RecordedEpisode:
    """The record as scoring programs read it from files."""
    from gauntlet_scoring.episode_files import EpisodeRow
    from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
    from gauntlet_scoring.trajectory import (
        AnswerEvent,
        MessageEvent,
        ModelCallEvent,
        NoteEvent,
        PlanEvent,
        ToolCallEvent,
        ToolResultEvent,
    )

    results = {event.call: event for event in events if isinstance(event, ToolResultEvent)}
    calls = [event for event in events if isinstance(event, ToolCallEvent)]
    row = EpisodeRow(episode=episode.episode, scenario=truth.key, trial=1, outcome=episode.outcome)
    plans = [event.steps for event in events if isinstance(event, PlanEvent)]
    return RecordedEpisode(
        row=row,
        failure=episode.failure,
        calls=tuple(RecordedCall(call=call, result=results.get(call.call)) for call in calls),
        plan=tuple(plans[-1]) if plans else (),
        answer=next((event for event in events if isinstance(event, AnswerEvent)), None),
        said=tuple(event for event in events if isinstance(event, NoteEvent | MessageEvent)),
        models=frozenset(event.model for event in events if isinstance(event, ModelCallEvent)),
    )
