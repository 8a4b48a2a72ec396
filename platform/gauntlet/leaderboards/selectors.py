"""Reading boards: ranks are computed by the database, over unrounded values, in the same few queries at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Rank
from django.db.models.lookups import IsNull

from gauntlet.competitions.models import Column, Leaderboard, Phase, Scenario, Sorting
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.submissions.models import Submission

PAGE_SIZE = 100


class Cell(NamedTuple):
    """A value with its 95 % interval, unrounded; ``text`` is what is shown.

    A tuple: a large board's CSV makes tens of thousands, and a frozen dataclass takes several times as long to make.
    """

    value: float
    low: float | None
    high: float | None
    precision: int

    @property
    def text(self) -> str:
        """The value with the column's digits."""
        return f"{self.value:.{self.precision}f}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A participant on the board. Baselines have no rank."""

    rank: int | None
    participant: str
    participant_id: int
    baseline: bool
    submission: UUID
    submission_name: str
    scenarios: int
    submitted_at: datetime
    cells: dict[str, Cell]  # by column key; a missing score has no cell
    mine: bool


@dataclass(frozen=True, kw_only=True)
class Board:
    """One page of a leaderboard in one phase, or all of it."""

    leaderboard: Leaderboard
    phase: Phase
    columns: Sequence[Column]
    primary: Column
    sorted_by: Column
    ascending: bool
    rows: Sequence[Row]
    own_row: Row | None  # the reader's own, also when it is not among `rows`
    total: int  # rows that match the search
    entries: int  # rows on the board
    page: int
    pages: int
    scenarios: int  # on which the phase measures
    hidden_scenarios: int
    updated_at: datetime | None
    low: float  # ends of the primary column's scale over the whole board, for the interval bars
    high: float


def board(
    *,
    leaderboard: Leaderboard,
    phase: Phase,
    reader_id: int | None = None,
    sort: str = "",
    search: str = "",
    page: int = 1,
    page_size: int | None = PAGE_SIZE,
) -> Board:
    """Read a board: the page of rows in the order asked for, with ranks by the primary column.

    Args:
        sort: a column key, with "-" before it for the worse end first; empty or unknown means the primary column.
        page_size: None for all rows.
    """
    columns = [column for column in leaderboard.columns.all() if not column.hidden]
    primary = next((column for column in columns if column.primary), columns[0])
    sorted_by = next((column for column in columns if column.key == sort.removeprefix("-")), primary)
    ascending = (sorted_by.sorting == Sorting.ASC) != sort.startswith("-")
    everyone = _valued(leaderboard, phase, primary=primary)
    summary = everyone.aggregate(
        entries=Count("pk"), low=Min("primary_value"), high=Max("primary_value"), latest=Max("updated_at")
    )
    matching = everyone.filter(participant__username__icontains=search) if search else everyone
    total = matching.count() if search else summary["entries"]
    pages = 1 if page_size is None else max(1, -(-total // page_size))
    page = min(max(page, 1), pages)
    ordered = _ordered(matching, sorted_by=sorted_by, primary=primary, ascending=ascending)
    entries = _standings(
        ordered if page_size is None else ordered[(page - 1) * page_size : page * page_size], primary=primary
    )
    own = None
    if reader_id is not None:
        own = next((entry for entry in entries if entry.participant_id == reader_id and not entry.baseline), None)
        own = own or next(
            iter(_standings(everyone.filter(participant_id=reader_id, baseline=False), primary=primary)), None
        )
    ranks = {entry.pk: entry.position for entry in entries}
    if search or (own is not None and own.pk not in ranks):
        # A filter is applied before the window counts, so that the rows found were ranked among themselves.
        ranks = dict(everyone.values_list("pk", _rank(primary)))
    wanted = {entry.pk for entry in [*entries, *([own] if own else [])]}
    cells = _cells(columns, everyone if page_size is None else list(wanted))
    rows = [_row(entry, cells, rank=ranks[entry.pk], reader_id=reader_id) for entry in entries]
    scenarios = Scenario.objects.filter(task__phases=phase).aggregate(
        all=Count("pk"), hidden=Count("pk", filter=Q(public=False))
    )
    return Board(
        leaderboard=leaderboard,
        phase=phase,
        columns=columns,
        primary=primary,
        sorted_by=sorted_by,
        ascending=ascending,
        rows=rows,
        own_row=_row(own, cells, rank=ranks[own.pk], reader_id=reader_id) if own else None,
        total=total,
        entries=summary["entries"],
        page=page,
        pages=pages,
        scenarios=scenarios["all"],
        hidden_scenarios=scenarios["hidden"],
        updated_at=summary["latest"],
        low=primary.low if primary.low is not None else summary["low"] or 0.0,
        high=primary.high if primary.high is not None else summary["high"] or 1.0,
    )


def _value_of(column: Column) -> Subquery:
    return Subquery(ColumnValue.objects.filter(submission=OuterRef("submission"), column=column).values("value")[:1])


class _Standing(NamedTuple):
    """What a board shows of an entry beside its values; ``position`` counts among the rows that were read."""

    pk: int
    participant_id: int
    participant: str
    baseline: bool
    submission_id: UUID
    submission_name: str
    scenarios: int
    submitted_at: datetime
    position: int


def _standings(entries: QuerySet[Entry], *, primary: Column) -> list[_Standing]:
    # As tuples: three model instances a row would be most of the time that a large board takes.
    fields = ("pk", "participant_id", "participant__username", "baseline", "submission_id", "submission__name")
    return [
        _Standing(*values)
        for values in entries.values_list(*fields, "scenarios", "submission__created_at", _rank(primary))
    ]


def _valued(leaderboard: Leaderboard, phase: Phase, *, primary: Column) -> QuerySet[Entry]:
    return Entry.objects.filter(leaderboard=leaderboard, phase=phase).annotate(primary_value=_value_of(primary))


def _rank(primary: Column) -> Window:
    """An entry's rank among all that are read with it: equal values share a rank, a missing one ranks last."""
    value = F("primary_value")
    best_first = value.asc(nulls_last=True) if primary.sorting == Sorting.ASC else value.desc(nulls_last=True)
    return Window(Rank(), partition_by=[F("baseline")], order_by=best_first)


def _ordered(entries: QuerySet[Entry], *, sorted_by: Column, primary: Column, ascending: bool) -> QuerySet[Entry]:
    field = "primary_value"
    if sorted_by != primary:
        entries, field = entries.annotate(sort_value=_value_of(sorted_by)), "sort_value"
    value = F(field)
    order = value.asc(nulls_last=True) if ascending else value.desc(nulls_last=True)
    return entries.order_by(order, "baseline", "submission__created_at", "pk")


def _cells(columns: Sequence[Column], entries: QuerySet[Entry] | Sequence[int]) -> dict[int, dict[str, Cell]]:
    """The cells of each entry, by its key and the column's."""
    shown = {column.pk: (column.key, column.precision) for column in columns}
    values = ColumnValue.objects.filter(column__in=list(shown), submission__entries__in=entries)
    cells: dict[int, dict[str, Cell]] = {}
    for entry, column, value, low, high in values.values_list(
        "submission__entries", "column_id", "value", "low", "high"
    ):
        key, precision = shown[column]
        cells.setdefault(entry, {})[key] = Cell(value, low, high, precision)
    return cells


def _row(entry: _Standing, cells: dict[int, dict[str, Cell]], *, rank: int, reader_id: int | None) -> Row:
    return Row(
        rank=None if entry.baseline else rank,
        participant=entry.participant,
        participant_id=entry.participant_id,
        baseline=entry.baseline,
        submission=entry.submission_id,
        submission_name=entry.submission_name,
        scenarios=entry.scenarios,
        submitted_at=entry.submitted_at,
        cells=cells.get(entry.pk, {}),
        mine=entry.participant_id == reader_id and not entry.baseline,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A submission's value in a column beside the participant's best other one and the leader's."""

    column: Column
    value: ColumnValue | None
    own_best: float | None
    leader: float | None


def compare(submission: Submission) -> list[Comparison]:
    """How a submission stands, column by column of the competition's first board; empty where there is none.

    The participant's best is over the other submissions of the same phase; the leader is the first of the phase.
    """
    leaderboard = (
        Leaderboard.objects.filter(competition__phases=submission.phase_id, hidden=False)
        .prefetch_related("columns")
        .first()
    )
    if leaderboard is None:
        return []
    columns = [column for column in leaderboard.columns.all() if not column.hidden]
    own = {value.column_id: value for value in ColumnValue.objects.filter(submission=submission, column__in=columns)}
    best = _own_best(submission, columns)
    leader = _leader(leaderboard, submission.phase, columns)
    return [
        Comparison(column=column, value=own.get(column.pk), own_best=best.get(column.pk), leader=leader.get(column.pk))
        for column in columns
    ]


def _own_best(submission: Submission, columns: Sequence[Column]) -> dict[int, float]:
    others = (
        ColumnValue.objects.filter(
            submission__phase=submission.phase_id, submission__participant=submission.participant_id, column__in=columns
        )
        .exclude(submission=submission)
        .values("column")
        .annotate(least=Min("value"), most=Max("value"))
    )
    ascending = {column.pk for column in columns if column.sorting == Sorting.ASC}
    return {row["column"]: row["least"] if row["column"] in ascending else row["most"] for row in others}


def _leader(leaderboard: Leaderboard, phase: Phase, columns: Sequence[Column]) -> dict[int, float]:
    primary = next((column for column in columns if column.primary), columns[0])
    best_first = F("primary_value").asc() if primary.sorting == Sorting.ASC else F("primary_value").desc()
    first = (
        _valued(leaderboard, phase, primary=primary)
        .filter(IsNull(F("primary_value"), False), baseline=False)
        .order_by(best_first, "submission__created_at")
        .first()
    )
    if first is None:
        return {}
    values = ColumnValue.objects.filter(submission=first.submission_id, column__in=columns)
    return dict(values.values_list("column", "value"))
