"""Reading boards: ranks are computed by the database, over unrounded values, in the same few queries at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from django.db.models import CharField, Count, F, FilteredRelation, Max, Min, OrderBy, Q, QuerySet, Window
from django.db.models.functions import Coalesce, Rank

from gauntlet.competitions.models import Column, Leaderboard, Phase, Scenario, Sorting
from gauntlet.leaderboards.columns import primary_column, shown_columns
from gauntlet.leaderboards.figures import figure
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.leaderboards.one_moment import one_moment
from gauntlet.submissions.models import Submission

PAGE_SIZE = 100
#: As whom everybody sees an entry: the team, or the participant.
ENTRANT: Final = Coalesce("submission__team__name", "participant__username", output_field=CharField())


class Cell(NamedTuple):
    """A value with its 95 % interval, unrounded; ``text`` is what is shown. None: too little of it was verified.

    A tuple: a page makes hundreds, and a frozen dataclass takes several times as long to make.
    """

    value: float | None
    low: float | None
    high: float | None
    precision: int
    unverified: int = 0  # trials that count in it and that nobody could verify

    @property
    def text(self) -> str:
        """The value with the column's digits."""
        return "–" if self.value is None else figure(self.value, self.precision)


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
class Published:
    """A published result, shown beside the rows for comparison; it has no rank and takes none."""

    name: str
    source: str
    cells: dict[str, Cell]  # by column key


@dataclass(frozen=True, kw_only=True)
class Board:
    """One page of a leaderboard in one phase."""

    leaderboard: Leaderboard
    phase: Phase
    columns: Sequence[Column]
    primary: Column
    sorted_by: Column
    ascending: bool
    rows: Sequence[Row]
    own_row: Row | None  # the reader's own, also when it is not among `rows`
    published: Sequence[Published]  # in the order asked for, on every page
    total: int  # rows that match the search
    entries: int  # rows on the board
    page: int
    pages: int
    scenarios: int  # on which the phase measures
    hidden_scenarios: int
    updated_at: datetime | None
    low: float  # ends of the primary column's scale over the whole board, for the interval bars
    high: float


@one_moment()
def board(
    *,
    leaderboard: Leaderboard,
    phase: Phase,
    reader_id: int | None = None,
    sort: str = "",
    search: str = "",
    page: int = 1,
    page_size: int = PAGE_SIZE,
) -> Board:
    """Read a board: the page of rows in the order asked for, with ranks by the primary column.

    Args:
        sort: a column key, with "-" before it for the worse end first; empty or unknown means the primary column.
    """
    columns = shown_columns(leaderboard)
    primary = primary_column(leaderboard)
    sorted_by = next((column for column in columns if column.key == sort.removeprefix("-")), primary)
    ascending = (sorted_by.sorting == Sorting.ASC) != sort.startswith("-")
    everyone = Entry.objects.filter(leaderboard=leaderboard, phase=phase)
    summary = everyone.aggregate(
        entries=Count("pk"), low=Min("primary_value"), high=Max("primary_value"), latest=Max("updated_at")
    )
    # By the names that the rows show: the user name of a team's captain is not for everybody.
    matching = everyone.alias(entrant=ENTRANT).filter(entrant__icontains=search) if search else everyone
    total = matching.count() if search else summary["entries"]
    pages = max(1, -(-total // page_size))
    page = min(max(page, 1), pages)
    ordered = in_order(matching, sorted_by=sorted_by, primary=primary, ascending=ascending)
    standings = _standings(ordered[(page - 1) * page_size : page * page_size])
    own = _own(standings, everyone, reader_id=reader_id)
    wanted = [*standings, own] if own and own not in standings else standings
    ranks = _ranks(wanted, everyone, primary=primary)
    cells = _cells(columns, [one.submission_id for one in wanted])
    rows = {one.pk: _row(one, cells, rank=ranks.get(one.pk), reader_id=reader_id) for one in wanted}
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
        rows=[rows[one.pk] for one in standings],
        own_row=rows[own.pk] if own else None,
        published=published(leaderboard, sorted_by=sorted_by, ascending=ascending),
        total=total,
        entries=summary["entries"],
        page=page,
        pages=pages,
        scenarios=scenarios["all"],
        hidden_scenarios=scenarios["hidden"],
        updated_at=summary["latest"],
        low=next((end for end in (primary.low, summary["low"]) if end is not None), 0.0),
        high=next((end for end in (primary.high, summary["high"]) if end is not None), 1.0),
    )


def published(leaderboard: Leaderboard, *, sorted_by: Column, ascending: bool) -> list[Published]:
    """The published results of a board by their values in a column, a missing one last."""
    precision = {column.key: column.precision for column in shown_columns(leaderboard)}
    found = [
        Published(
            name=one.name,
            source=one.source,
            cells={key: Cell(one.scores[key], None, None, precision[key]) for key in precision if key in one.scores},
        )
        for one in leaderboard.baselines.all()
    ]
    sign = 1 if ascending else -1

    def place(one: Published) -> tuple[bool, float]:
        cell = one.cells.get(sorted_by.key)
        return (True, 0.0) if cell is None or cell.value is None else (False, sign * cell.value)

    return sorted(found, key=place)


def in_order(entries: QuerySet[Entry], *, sorted_by: Column, primary: Column, ascending: bool) -> QuerySet[Entry]:
    """Entries by their values in a column, a missing one last; of equal ones participants first, then the earlier."""
    value = F("primary_value")
    if sorted_by != primary:
        sorting = FilteredRelation(
            "submission__column_values", condition=Q(submission__column_values__column=sorted_by)
        )
        entries, value = entries.annotate(sorting=sorting), F("sorting__value")
    order = value.asc(nulls_last=True) if ascending else value.desc(nulls_last=True)
    return entries.order_by(order, "baseline", "submission__created_at", "pk")


def best_first(primary: Column) -> OrderBy:
    """The order that ranks: equal values share a rank, a missing one ranks last."""
    value = F("primary_value")
    return value.asc(nulls_last=True) if primary.sorting == Sorting.ASC else value.desc(nulls_last=True)


class _Standing(NamedTuple):
    """What a board shows of an entry beside its rank and its other values."""

    pk: int
    participant_id: int
    participant: str
    baseline: bool
    submission_id: UUID
    submission_name: str
    scenarios: int
    submitted_at: datetime
    primary_value: float | None


def _standings(entries: QuerySet[Entry]) -> list[_Standing]:
    # As tuples: three model instances a row would be most of the time that a page takes.
    fields = ("pk", "participant_id", ENTRANT, "baseline", "submission_id", "submission__name")
    rows = entries.values_list(*fields, "scenarios", "submission__created_at", "primary_value")
    return [_Standing(*values) for values in rows]


def _own(standings: Sequence[_Standing], everyone: QuerySet[Entry], *, reader_id: int | None) -> _Standing | None:
    """The reader's own row: from the page, or where the page does not hold it from the whole board."""
    if reader_id is None:
        return None
    here = (one for one in standings if one.participant_id == reader_id and not one.baseline)
    return next(here, None) or next(iter(_standings(everyone.filter(participant=reader_id, baseline=False))), None)


def _ranks(wanted: Sequence[_Standing], everyone: QuerySet[Entry], *, primary: Column) -> dict[int, int]:
    """Ranks on the whole board, by an entry's key; baselines have none and take none."""
    ranked = {one.pk: one.primary_value for one in wanted if not one.baseline}
    if not ranked:
        return {}
    rivals = everyone.filter(baseline=False)
    values = [value for value in ranked.values() if value is not None]
    if len(values) == len(ranked):
        # Whoever is worse than all that are wanted changes no rank of theirs: the first page counts the first rows.
        least = (
            {"primary_value__lte": max(values)}
            if primary.sorting == Sorting.ASC
            else {"primary_value__gte": min(values)}
        )
        rivals = rivals.filter(**least)
    # A plain filter would come before the window counts, and the rows found be ranked among themselves. One that
    # speaks of the rank too, though no rank is 0, comes after it.
    rivals = rivals.annotate(rank=Window(Rank(), order_by=best_first(primary)))
    return dict(rivals.filter(Q(pk__in=list(ranked)) | Q(rank=0)).values_list("pk", "rank"))


def _cells(columns: Sequence[Column], submissions: Sequence[UUID]) -> dict[UUID, dict[str, Cell]]:
    """The cells of each submission, by the column's key."""
    shown = {column.pk: (column.key, column.precision) for column in columns}
    values = ColumnValue.objects.filter(column__in=list(shown), submission__in=submissions)
    cells: dict[UUID, dict[str, Cell]] = {}
    for submission, column, value, low, high, unverified in values.values_list(
        "submission_id", "column_id", "value", "low", "high", "unverified"
    ):
        key, precision = shown[column]
        cells.setdefault(submission, {})[key] = Cell(value, low, high, precision, unverified)
    return cells


def _row(standing: _Standing, cells: dict[UUID, dict[str, Cell]], *, rank: int | None, reader_id: int | None) -> Row:
    return Row(
        rank=rank,
        participant=standing.participant,
        participant_id=standing.participant_id,
        baseline=standing.baseline,
        submission=standing.submission_id,
        submission_name=standing.submission_name,
        scenarios=standing.scenarios,
        submitted_at=standing.submitted_at,
        cells=cells.get(standing.submission_id, {}),
        mine=standing.participant_id == reader_id and not standing.baseline,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A submission's value in a column beside the participant's best other one and the leader's."""

    column: Column
    value: ColumnValue | None
    own_best: float | None
    leader: float | None


@one_moment()
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
    columns = shown_columns(leaderboard)
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
    best = {row["column"]: row["least"] if row["column"] in ascending else row["most"] for row in others}
    return {column: value for column, value in best.items() if value is not None}


def _leader(leaderboard: Leaderboard, phase: Phase, columns: Sequence[Column]) -> dict[int, float]:
    first = (
        Entry.objects.filter(leaderboard=leaderboard, phase=phase, baseline=False, primary_value__isnull=False)
        .order_by(best_first(primary_column(leaderboard)), "submission__created_at")
        .first()
    )
    if first is None:
        return {}
    values = ColumnValue.objects.filter(submission=first.submission_id, column__in=columns)
    return {column: value for column, value in values.values_list("column", "value") if value is not None}
