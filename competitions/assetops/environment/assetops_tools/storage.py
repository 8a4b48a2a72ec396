"""One interface to the records, whatever holds them: conditions, an order, a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Value = str | float | bool | None
Row = dict[str, Value]
ROW_NUMBER: Final = "row_number"  # a row's place in its table, from zero; the last word in every order


@dataclass(frozen=True)
class Condition:
    """``column operator value``; an empty cell meets no condition."""

    column: str
    operator: Literal["=", ">=", "<"]
    value: str | float | bool


class Storage(ABC):
    """The records of one site, for reading only."""

    @abstractmethod
    def tables(self) -> frozenset[str]:
        """The names of the tables that are there; those of readings begin with ``telemetry/``."""

    @abstractmethod
    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table as its file has them; none where the table is not there."""

    @abstractmethod
    def find(
        self,
        table: str,
        where: Sequence[Condition] = (),
        *,
        columns: Sequence[str] | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Row]:
        """The rows that meet all conditions, with these columns (all where None).

        Ordered by the columns of ``order``, empty cells last, and then by their place in the table. A table that is
        not there has no rows.

        Raises:
            StorageFailed: the records cannot be read.
        """

    @abstractmethod
    def count(self, table: str, where: Sequence[Condition] = ()) -> int:
        """How many rows meet all conditions."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""


def in_period(column: str, start: str | None, after: str | None) -> list[Condition]:
    """Conditions that the time in ``column`` is not before ``start`` and before ``after``."""
    found = []
    if start is not None:
        found.append(Condition(column, ">=", start))
    if after is not None:
        found.append(Condition(column, "<", after))
    return found
