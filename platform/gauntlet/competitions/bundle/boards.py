"""Leaderboards and their columns, checked against what the scoring programs give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from gauntlet.competitions.bundle.baselines import read_baselines
from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.competitions.bundle.findings import suggestion
from gauntlet.competitions.bundle.plan import BoardPlan, ColumnPlan, TaskPlan
from gauntlet.competitions.bundle.tags import read_where, tags_of
from gauntlet.competitions.bundle.unverified import UnverifiedRule, read_unverified, worst_of
from gauntlet.competitions.models import Sorting, SubmissionRule, Takes

# What the platform measures of every episode; as <program key>.<score>. Of all but the first, less is better.
EPISODE_SCORES: Final = (
    *("episodes.answered", "episodes.seconds", "episodes.steps", "episodes.tool_calls"),
    *("episodes.model_calls", "episodes.tokens", "episodes.cost"),
    *("episodes.total_tokens", "episodes.total_cost"),
)
_RULES: Final = {
    "best": SubmissionRule.BEST,
    "latest": SubmissionRule.LATEST,
    "Force_Best": SubmissionRule.BEST,
    "Force_Last": SubmissionRule.LATEST,
    "Force_Latest_Multiple": SubmissionRule.LATEST,
}
_BY_HAND: Final = ("Add", "Add_And_Delete", "Add_And_Delete_Multiple")
_OVER: Final = ("mean", "std", "sum", "min", "max")
_PASS: Final = re.compile(r"pass\^([1-9][0-9]?)")
_OURS: Final = ("from", "scale", "over")  # keys of a column that Codabench does not have
_NO_SCALE: Final = "has none"
_TOTAL: Final = "episodes.total_"
_OFF_SCALE: Final = ("sum", "std")  # a sum grows with the scenarios, and a spread is no value of the score
_COMPUTATIONS: Final = ("avg", "sum", "min", "max")


def read_boards(root: Section, tasks: Sequence[TaskPlan], *, trials: int) -> list[BoardPlan]:
    """The boards of a bundle whose phases run no scenario more than `trials` times."""
    sections = root.sections("leaderboards")
    if not sections:
        root.findings.error(root.where("leaderboards"), "must list at least one leaderboard.")
    boards: dict[str, BoardPlan] = {}
    for section in sections:
        board = _board(section, tasks, trials=trials)
        if board.key in boards:
            section.findings.error(section.where("key"), f"the key '{board.key}' is taken by another leaderboard.")
        boards[board.key] = board
    return list(boards.values())


def _board(section: Section, tasks: Sequence[TaskPlan], *, trials: int) -> BoardPlan:
    section.get("index")  # the order of the file is the order of the boards
    reader = _Columns(section, tasks, trials=trials)
    columns = reader.read()
    primary = section.integer("primary_index", default=min((c.index for c in columns), default=0))
    if columns and primary not in {column.index for column in columns}:
        allowed = sorted(column.index for column in columns)
        section.findings.error(section.where("primary_index"), f"no column has the index {primary}.", allowed=allowed)
    if any(column.hidden for column in columns if column.index == primary):
        message = f"the board is ranked by the column with the index {primary}, which is hidden; show it, or another."
        section.findings.error(section.where("primary_index"), message)
    board = BoardPlan(
        key=section.text("key", required=True, longest=36),
        title=section.text("title", required=True, longest=64),
        submission_rule=_rule(section),
        hidden=section.flag("hidden", default=False),
        primary=primary,
        columns=columns,
        baselines=read_baselines(section, {column.key: column for column in columns}),
    )
    section.close()
    return board


def _rule(section: Section) -> SubmissionRule:
    value = section.get("submission_rule")
    if value is None:
        return SubmissionRule.BEST
    word = value.scalar or ""
    if word in _BY_HAND:
        message = f"'{word}' lets participants choose by hand, which this version does not offer: the best one stands."
        section.findings.warning(value.place, message, allowed=list(_RULES))
        return SubmissionRule.BEST
    if word not in _RULES:
        hint = suggestion(word, _RULES)
        section.findings.error(value.place, f"is {word[:40]!r}.{hint}", allowed=[*_RULES, *_BY_HAND])
    return _RULES.get(word, SubmissionRule.BEST)


class _Columns:
    """Reads the columns of one board."""

    def __init__(self, board: Section, tasks: Sequence[TaskPlan], *, trials: int) -> None:
        self._board = board
        self._findings = board.findings
        self._tasks = tasks
        self._trials = trials
        # A program that declares no scores (a plain Codabench one) may give any.
        self._open = {p.key for task in tasks for p in task.programs if not p.scores}
        self._declared = {
            f"{program.key}.{name}": scale
            for task in tasks
            for program in task.programs
            for name, scale in program.scores.items()
        }
        self._tags = tags_of(tasks)
        self._overall = {f"{p.key}.{name}" for task in tasks for p in task.programs for name in p.overall}
        self._optional = {f"{p.key}.{name}" for task in tasks for p in task.programs for name in p.optional}
        runs_agents = any(task.takes is Takes.AGENTS for task in tasks)
        self._measured = EPISODE_SCORES if runs_agents else ()
        self._sections: dict[int, Section] = {}

    def read(self) -> list[ColumnPlan]:
        sections = self._board.sections("columns")
        if not sections:
            self._findings.error(self._board.where("columns"), "must list at least one column.")
        columns: list[ColumnPlan] = []
        keys: set[str] = set()
        for section in sections:
            column = self._column(section)
            if column.key in keys:
                self._findings.error(section.where("key"), f"the key '{column.key}' is taken by another column.")
            if column.index in self._sections:
                self._findings.error(section.where("index"), f"the index {column.index} is taken by another column.")
            keys.add(column.key)
            self._sections[column.index] = section
            columns.append(column)
        for column in columns:
            if column.computation:
                self._check_composite(column, {c.index: c for c in columns})
        return sorted(columns, key=lambda column: column.index)

    def _column(self, section: Section) -> ColumnPlan:
        index = value.integer(most=32767) if (value := section.needed("index")) else None
        key = section.text("key", required=True, longest=36)
        computation = section.choice("computation", _COMPUTATIONS, default="")
        source = "" if computation else self._source(section, key)
        over = self._over(section, source)
        low, high = self._scale(section, source, over)
        pass_at = self._pass_at(section, over, source, high)
        if over.startswith("pass^"):
            low, high = 0.0, 1.0
        sorting = Sorting(section.choice("sorting", Sorting.values, default=self._better(source, over)))
        unverified = self._unverified(section, source, over=over, scale=(low, high), sorting=sorting)
        column = ColumnPlan(
            index=index or 0,
            key=key,
            title=section.text("title", required=True, longest=36),
            sorting=sorting,
            precision=section.integer("precision", default=2, most=10),
            hidden=section.flag("hidden", default=False),
            source=source,
            over=over,
            where=self._where(section, source),
            pass_at=pass_at,
            unverified=unverified.rule,
            worst=unverified.worst,
            min_verified=unverified.min_verified,
            interval=section.choice("interval", ("bootstrap",), default=""),
            low=low,
            high=high,
            computation=computation,
            computation_indexes=[i for v in section.values("computation_indexes") if (i := v.integer()) is not None],
        )
        section.close()
        return column

    def _over(self, section: Section, source: str) -> str:
        """How scenarios, trials and tasks are combined; a total over all episodes is one over all tasks too."""
        value = section.get("over")
        if value is not None and (value.scalar or "").startswith("pass^"):
            return self._pass_hat_k(value)
        return section.choice("over", _OVER, default="sum" if source.startswith(_TOTAL) else "mean")

    def _pass_hat_k(self, value: Value) -> str:
        match = _PASS.fullmatch(value.scalar or "")
        allowed = [f"pass^{k}" for k in range(1, self._trials + 1)]
        if match is None or int(match.group(1)) > self._trials:
            message = f"needs as many trials: no phase runs a scenario more than {self._trials} time(s)."
            self._findings.error(value.place, message, allowed=allowed)
            return "mean"
        return match.group(0)

    def _pass_at(self, section: Section, over: str, source: str, high: float | None) -> float | None:
        """From which value on a trial passes; the upper end of the scale where nothing else is said."""
        value = section.get("pass_at")
        if not over.startswith("pass^"):
            if value is not None:
                self._findings.error(value.place, "belongs to a column with `over: pass^k`.")
            return None
        if source in EPISODE_SCORES or source in self._overall:
            message = f"'{source}' is no score of a trial; pass^k needs one that a scoring program gives."
            self._findings.error(section.where("over"), message)
        if source in self._declared and self._declared[source][2] == Sorting.ASC:
            self._findings.error(section.where("over"), "needs a score of which more is better.")
        if value is not None:
            return value.number()
        if high is None:
            message = "needs `pass_at` (from which value on a trial passes), or a `scale` whose upper end it then is."
            self._findings.error(section.where("over"), message)
        return high

    def _better(self, source: str, over: str) -> Sorting:
        """In which direction better lies where the column does not say: of spread, work and cost, less is."""
        if over == "std" or (source in EPISODE_SCORES and source != EPISODE_SCORES[0]):
            return Sorting.ASC
        return self._declared[source][2] if source in self._declared else Sorting.DESC

    def _unverified(
        self, section: Section, source: str, *, over: str, scale: tuple[float | None, float | None], sorting: Sorting
    ) -> UnverifiedRule:
        """What a trial without the score counts: the end of the score's scale that is worse on the board."""
        declared = self._declared.get(source)
        return read_unverified(
            section,
            over=over,
            worst=worst_of(declared[:2] if declared else scale, sorting),
            of_trials=bool(source) and source not in EPISODE_SCORES and source not in self._overall,
            may_lack=source in self._optional,
        )

    def _where(self, section: Section, source: str) -> dict[str, list[str]]:
        """Which scenarios count in the column, by their tags."""
        part = section.section("where")
        if part is None:
            return {}
        if source.startswith(_TOTAL) or not source or source in self._overall:
            message = "belongs to a column whose score is given for each scenario."
            self._findings.error(section.where("where"), message)
        where = read_where(part, self._tags)
        part.close()
        return where

    def _source(self, section: Section, key: str) -> str:
        """Where the column's numbers come from; a Codabench column is named as its score."""
        value = section.get("from")
        source = (value.scalar or "").strip() if value else ""
        if value is None:
            matches = [name for name in self._declared if name.partition(".")[2] == key]
            first = self._tasks[0].programs[0].key if self._tasks and self._tasks[0].programs else ""
            source = matches[0] if matches else f"{first}.{key}" if first in self._open else ""
        if len(source) > 80:
            self._findings.error(section.where("from"), "is too long.", allowed=["at most 80 characters"])
        elif self._tasks and not self._is_known(source):
            allowed = [*sorted(self._declared), *self._measured]
            named = f"no scoring program gives '{source}'." if value else f"no scoring program gives a score '{key}'."
            where = section.where("from") if value else section.where("key")
            self._findings.error(where, f"{named}{suggestion(source or key, allowed)}", allowed=allowed)
        return source

    def _is_known(self, source: str) -> bool:
        program, _, score = source.partition(".")
        return source in self._declared or source in self._measured or (program in self._open and bool(score))

    def _scale(self, section: Section, source: str, over: str) -> tuple[float | None, float | None]:
        """The declared scale, or the one that the program says: of a score, its mean, least and most, no sum of it."""
        value = section.get("scale")
        known = source in self._declared and over not in _OFF_SCALE
        if value is None:
            return self._declared[source][:2] if known else (None, None)
        ends = [end.number() for end in value.sequence()]
        if len(ends) != 2 or None in ends or not (ends[0] or 0.0) < (ends[1] or 0.0):
            self._findings.error(value.place, "must be two numbers, the lower first.", allowed=["[0, 1]"])
            return None, None
        if known and (ends[0], ends[1]) != self._declared[source][:2]:
            low, high = self._declared[source][
                :2
            ]  # a column that says otherwise would hide a composite of mixed scales
            message = f"is not the scale of '{source}', which its program gives in [{low:g}, {high:g}]."
            self._findings.error(value.place, message, allowed=[f"[{low:g}, {high:g}]"])
        return ends[0], ends[1]

    def _check_composite(self, column: ColumnPlan, columns: dict[int, ColumnPlan]) -> None:
        """A composite combines existing, plain columns on one scale and in one direction."""
        place = self._sections[column.index].where("computation_indexes")
        plain = sorted(c.index for c in columns.values() if not c.computation)
        if not column.computation_indexes:
            self._findings.error(place, "must list the columns that are combined.", allowed=plain)
        for index in column.computation_indexes:
            if index not in plain:
                self._findings.error(place, f"{index} is no column with scores of its own.", allowed=plain)
                return
        parts = [columns[index] for index in column.computation_indexes]
        if message := _mixed(column, parts):
            # On Codabench nobody could declare a scale, so its bundles are only told.
            own = any(
                part.source in self._declared or any(self._sections[part.index].get(key) for key in _OURS)
                for part in parts
            )
            (self._findings.error if own else self._findings.warning)(place, message)


def _mixed(column: ColumnPlan, parts: Sequence[ColumnPlan]) -> str:
    """Why these columns cannot be combined, by their keys; empty where they can."""
    scales = {part.key: _told_scale(part) for part in parts}
    if len(set(scales.values())) > 1 or _NO_SCALE in scales.values():
        told = ", ".join(f"{key} {scale}" for key, scale in scales.items())
        return f"the combined columns must share one scale: {told}."
    against = [part.key for part in parts if part.sorting != column.sorting]
    if against:
        of_parts, of_whole = ("less", "more") if column.sorting == Sorting.DESC else ("more", "less")
        told = f"of {', '.join(against)} {of_parts} is better, of {column.key} {of_whole}."
        return f"the combined columns must be better in one direction: {told}"
    return ""


def _told_scale(part: ColumnPlan) -> str:
    """A column's scale in words."""
    return _NO_SCALE if part.low is None or part.high is None else f"[{part.low:g}, {part.high:g}]"
