"""How competitions, submissions and leaderboards look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from gauntlet_agent.cli.output import add_row, clean, console, moment, number, shortened, table

if TYPE_CHECKING:
    from rich.table import Table

Fields = Mapping[str, Any]
FINAL_STATUS: Final = ("finished", "failed", "cancelled", "rejected")


def show_competitions(competitions: Iterable[Fields]) -> None:
    """One line a phase."""
    made = table("Competition", "Title", "Phase", "State", "Starts", "Ends")
    for competition in competitions:
        first = True
        for phase in competition.get("phases") or [{}]:
            shown = (competition.get("slug"), shortened(competition.get("title", ""), 50)) if first else ("", "")
            label = f"{phase['index']}  {phase.get('name', '')}" if "index" in phase else None
            add_row(made, *shown, label, phase.get("state"), moment(phase.get("start")), moment(phase.get("end")))
            first = False
    _print(made, empty="There are no competitions that you may see.")


def show_submissions(submissions: Iterable[Fields]) -> None:
    """One line a submission."""
    made = table("Submission", "Name", "Competition", "Phase", "Status", "Submitted", "Failure")
    for submission in submissions:
        add_row(
            made,
            submission.get("id"),
            shortened(submission.get("name", ""), 40),
            label(submission.get("competition")),
            label(submission.get("phase")),
            status_of(submission),
            moment(submission.get("created_at")),
            submission.get("failure_code") or None,
        )
    _print(made, empty="You have no submissions yet. `gauntlet submit` makes one.")


def show_submission(submission: Fields) -> None:
    """A submission as a whole."""
    out = console()
    out.print(f"{clean(submission.get('name', 'Submission'))}: {headline(submission)}")
    place = f"{label(submission.get('competition'))}, phase {label(submission.get('phase'))}"
    out.print(f"{place}   {clean(submission.get('id', ''))}   {clean(submission.get('digest', ''))}")
    scores = submission.get("scores") or []
    if scores:
        made = table("Score", "Value", "Interval", right=("Value",))
        for score in scores:
            name = score.get("title") or score.get("column")
            precision = int(score.get("precision", 3))
            add_row(made, name, number(score.get("value"), precision), _interval(score, precision))
        out.print(made)
    scenarios = scenarios_of(submission)
    if scenarios:
        given = dict.fromkeys(key for scenario in scenarios for key in scenario.get("scores") or {})
        # The board's own columns; a program may give dozens of scores more, which --json shows.
        titles = {key: clean(score.get("title") or key) for score in scores if (key := score.get("source")) in given}
        keys = list(titles or given)
        heads = [titles.get(key, key) for key in keys]
        made = table("Scenario", "Trial", "Outcome", *heads, right=tuple(heads))
        for row in scenarios:
            values = [number((row.get("scores") or {}).get(key)) for key in keys]
            name = shortened(row.get("text") or row.get("scenario", ""), 60)
            add_row(made, name, row.get("trial"), row.get("outcome"), *values)
        out.print(made)


def show_leaderboard(board: Fields) -> None:
    """A leaderboard with the interval beside each score that has one."""
    columns = board.get("columns") or []
    titles = [f"{column['title']}{' *' if column.get('primary') else ''}" for column in columns]
    made = table("Rank", "Participant", *titles, "Scenarios", "Submitted", right=("Rank", *titles, "Scenarios"))
    for row in board.get("rows") or []:
        _add_board_row(made, row, columns)
    own = board.get("own_row")
    if own and own not in (board.get("rows") or []):
        _add_board_row(made, own, columns)
    updated = f"as of {moment(board.get('updated_at'))}" if board.get("updated_at") else ""
    console().print(f"{clean(board.get('title') or 'Leaderboard')}  {updated}".rstrip())
    _print(made, empty="Nobody is on this board yet.")
    shown, total = len(board.get("rows") or []), board.get("matching")
    if isinstance(total, int) and total > shown:
        console(stderr=True).print(f"{shown} of {total} entries; --csv gives all of them.")


def _add_board_row(made: Table, row: Fields, columns: list[Fields]) -> None:
    scores = row.get("scores") or {}
    cells = [_board_cell(scores.get(column["key"]), column) for column in columns]
    name = f"{row.get('participant', '')}{' (baseline)' if row.get('baseline') else ''}"
    add_row(made, row.get("rank"), name, *cells, row.get("scenarios"), moment(row.get("submitted_at")))


def status_of(submission: Fields) -> str:
    """The one word for where a submission stands."""
    return str(submission.get("status") or submission.get("state") or "unknown")


def failure_of(submission: Fields) -> Fields | None:
    """Why it failed: its own failure, or that of the evaluation that failed."""
    evaluations = submission.get("evaluations") or []
    failures = [submission.get("failure"), *[evaluation.get("failure") for evaluation in evaluations]]
    return next((failure for failure in failures if failure), None)


def headline(submission: Fields) -> str:
    """Where a submission stands, in one line."""
    parts = [clean(status_of(submission))]
    failure = failure_of(submission)
    if failure and parts[0] in ("failed", "rejected"):
        parts.append(f"{clean(failure.get('code', ''))}: {clean(failure.get('message', ''))}")
    elif parts[0] not in FINAL_STATUS:
        parts += _progress(submission)
    return ", ".join(parts)


def scenarios_of(submission: Fields) -> list[Fields]:
    """The scenarios that the phase shows, of all tasks."""
    found: list[Fields] = list(submission.get("scenarios") or [])
    for evaluation in submission.get("evaluations") or []:
        found += evaluation.get("episodes") or []
    return found


def is_final(submission: Fields) -> bool:
    """Whether nothing will change any more."""
    final = submission.get("final")
    return final if isinstance(final, bool) else status_of(submission) in FINAL_STATUS


def _progress(submission: Fields) -> list[str]:
    evaluations = [entry for entry in submission.get("evaluations") or [] if entry.get("state") not in FINAL_STATUS]
    parts: list[str] = []
    for evaluation in evaluations:
        if evaluation.get("position"):
            parts.append(f"position {evaluation['position']} in the queue")
        if evaluation.get("unserved_queue"):
            parts.append(f"no worker serves the queue {clean(evaluation['unserved_queue'])} at the moment")
        elif evaluation.get("estimate_seconds"):
            parts.append(f"begins in about {float(evaluation['estimate_seconds']):.0f} s")
        if evaluation.get("episodes_total"):
            parts.append(f"{evaluation.get('episodes_done', 0)} of {evaluation['episodes_total']} episodes done")
    return parts


def label(thing: Any) -> str:
    """The short name of a competition or phase, which the API gives bare or as an object."""
    if isinstance(thing, Mapping):
        return clean(thing.get("slug") or thing.get("name") or thing.get("index", ""))
    return clean("" if thing is None else thing)


def _interval(score: Fields, precision: int = 3) -> str | None:
    low, high = number(score.get("low"), precision), number(score.get("high"), precision)
    return f"[{low}, {high}]" if low is not None and high is not None else None


def _board_cell(score: Any, column: Fields) -> str | None:
    if not isinstance(score, Mapping):
        return None
    precision = int(column.get("precision", 3))
    shown, interval = number(score.get("value"), precision), _interval(score, precision)
    return f"{shown} {interval}" if shown is not None and interval else shown


def _print(made: Any, *, empty: str) -> None:
    console().print(made if made.row_count else empty)
