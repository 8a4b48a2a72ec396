"""Agreement of raters, and how reliable a scale is: what a judge or a survey among people is worth.

Every function returns a :class:`Coefficient`. Where the formula divides nothing by nothing the value is None and the
note says why, in a sentence for the page: no coefficient is ever NaN. Missing cells are None. The arithmetic is a few
sums and is written here, so that a web process does not load pandas and SciPy for it; the tests marked ``oracle`` hold
it against scikit-learn, statsmodels and pingouin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Coefficient:
    """A coefficient, and what it was computed from."""

    value: float | None  # at most 1; below 0 where there is less agreement than chance gives; None: undefined
    items: int  # rows that were used
    raters: int  # columns; for Fleiss' kappa the largest number of ratings of one item
    note: str = ""  # why there is no value, or what was left out; empty where there is nothing to say


def observed_agreement(a: Sequence[Hashable | None], b: Sequence[Hashable | None]) -> Coefficient:
    """Share of the items that both raters put into one category, in [0, 1]: p_o, the accuracy of one by the other."""
    pairs, note = _pairs(a, b)
    if not pairs:
        return Coefficient(None, items=0, raters=2, note=note)
    return Coefficient(sum(x == y for x, y in pairs) / len(pairs), items=len(pairs), raters=2, note=note)


def cohen_kappa(a: Sequence[Hashable | None], b: Sequence[Hashable | None]) -> Coefficient:
    """Cohen's kappa of two raters over the same items, unweighted: (p_o - p_e) / (1 - p_e).

    p_o is the share of items with equal ratings, p_e = sum over categories of the product of both raters' shares.
    Cohen, A coefficient of agreement for nominal scales, 1960. An item that either left out (None) does not count.

    Args:
        a, b: a category an item, in the same order of items.

    Raises:
        ValueError: the lengths differ.
    """
    pairs, note = _pairs(a, b)
    if not pairs:
        return Coefficient(None, items=0, raters=2, note=note)
    count = len(pairs)
    left, right = Counter(x for x, _ in pairs), Counter(y for _, y in pairs)
    by_chance = sum(left[each] * right[each] for each in left)  # times count squared: whole numbers, so exactly
    if by_chance == count * count:
        said = "Both raters put every item into the same one category, so chance alone explains all agreement"
        return Coefficient(None, items=count, raters=2, note=_joined(f"{said}: kappa is undefined.", note))
    agreed = sum(x == y for x, y in pairs)
    value = (agreed * count - by_chance) / (count * count - by_chance)
    return Coefficient(value, items=count, raters=2, note=note)


def fleiss_kappa(table: Sequence[Sequence[int]]) -> Coefficient:
    """Fleiss' kappa of several raters: (P - P_e) / (1 - P_e).

    With n_ij ratings of item i in category j and n_i ratings of the item: P is the mean over items of
    sum_j n_ij (n_ij - 1) / (n_i (n_i - 1)), P_e the sum over categories of the squared mean over items of n_ij / n_i.
    Fleiss, Measuring nominal scale agreement among many raters, 1971; with an unequal number of ratings as Gwet,
    Handbook of inter-rater reliability, 2014, chapter 2. An item with fewer than two ratings is left out.

    Args:
        table: a row an item, in it the number of ratings of each category (:func:`rating_table` makes it).

    Raises:
        ValueError: rows of unequal length, or a count below 0.
    """
    _same_lengths(table)
    if any(count < 0 for row in table for count in row):
        raise ValueError("a number of ratings cannot be below 0")
    rows = [row for row in table if sum(row) >= 2]
    note = _left_out(len(table) - len(rows), "item", "with fewer than two ratings")
    if not rows:
        said = "No item has two ratings, so there is nothing to compare."
        return Coefficient(None, items=0, raters=max((sum(row) for row in table), default=0), note=said)
    raters = max(sum(row) for row in rows)
    agreed = math.fsum(sum(n * (n - 1) for n in row) / (sum(row) * (sum(row) - 1)) for row in rows) / len(rows)
    shares = [math.fsum(row[at] / sum(row) for row in rows) / len(rows) for at in range(len(rows[0]))]
    if sum(share > 0 for share in shares) == 1:
        said = "Every rating is of the same one category, so chance alone explains all agreement: kappa is undefined."
        return Coefficient(None, items=len(rows), raters=raters, note=_joined(said, note))
    by_chance = math.fsum(share * share for share in shares)
    return Coefficient((agreed - by_chance) / (1 - by_chance), items=len(rows), raters=raters, note=note)


def rating_table(ratings: Sequence[Sequence[Hashable | None]]) -> list[list[int]]:
    """Ratings, a row an item and a column a rater (None: not rated), as the table of :func:`fleiss_kappa`.

    Categories stand in the order in which they first occur.
    """
    categories = list(dict.fromkeys(each for row in ratings for each in row if each is not None))
    counts = [Counter(each for each in row if each is not None) for row in ratings]
    return [[row[category] for category in categories] for row in counts]


def cronbach_alpha(matrix: Sequence[Sequence[float | None]]) -> Coefficient:
    """Cronbach's alpha: k / (k - 1) * (1 - sum of the columns' variances / variance of the rows' sums).

    Cronbach, Coefficient alpha and the internal structure of tests, 1951. Sample variances (n - 1).

    Args:
        matrix: a row a respondent, a column an item of the scale. In the realism survey (A48) the scenarios are the
            items. A row with a missing cell is left out.

    Raises:
        ValueError: rows of unequal length, or a value that is not finite.
    """
    rows, note = _complete(matrix)
    items = len(rows[0]) if rows else 0
    if undefined := _too_small(rows, note):
        return undefined
    total = _variance([math.fsum(row) for row in rows])
    if total == 0:
        said = "All respondents have the same sum, so there is no variance to explain: alpha is undefined."
        return Coefficient(None, items=len(rows), raters=items, note=_joined(said, note))
    apart = math.fsum(_variance(column) for column in zip(*rows, strict=True))
    return Coefficient(items / (items - 1) * (1 - apart / total), items=len(rows), raters=items, note=note)


def icc1(matrix: Sequence[Sequence[float | None]]) -> Coefficient:
    """ICC(1), the reliability of one rating: (MSB - MSW) / (MSB + (k - 1) MSW), one-way random effects.

    MSB and MSW are the mean squares between and within rows, k the number of columns. Shrout and Fleiss, Intraclass
    correlations, 1979, form ICC(1,1).

    Args:
        matrix: a row a target, a column a rating of it; the order of a row's ratings does not count. In the realism
            survey (A48) the respondents are the rows and the scenarios the columns. A row with a missing cell is left
            out.

    Raises:
        ValueError: rows of unequal length, or a value that is not finite.
    """
    rows, note = _complete(matrix)
    if undefined := _too_small(rows, note):
        return undefined
    between, within = _mean_squares(rows)
    size = len(rows[0])
    if between == 0 and within == 0:
        said = "Every rating is the same, so there is no variance to explain: ICC(1) is undefined."
        return Coefficient(None, items=len(rows), raters=size, note=_joined(said, note))
    value = (between - within) / (between + (size - 1) * within)
    return Coefficient(value, items=len(rows), raters=size, note=note)


def icc2(matrix: Sequence[Sequence[float | None]]) -> Coefficient:
    """ICC(2), the reliability of the mean of a row's k ratings: ICC(1) stepped up, which is (MSB - MSW) / MSB.

    This is the averaged form that the realism study reports beside ICC(1) (A48; Bliese 2000), ICC(1,k) of Shrout and
    Fleiss, and not their ICC(2,1). Arguments and errors as :func:`icc1`.
    """
    single = icc1(matrix)
    if single.value is None:
        return Coefficient(None, single.items, single.raters, single.note.replace("ICC(1)", "ICC(2)"))
    rows, note = _complete(matrix)
    between, within = _mean_squares(rows)
    if between == 0:
        said = "All rows have the same mean, so a mean tells them apart in nothing: ICC(2) is undefined."
        return Coefficient(None, items=len(rows), raters=len(rows[0]), note=_joined(said, note))
    return Coefficient((between - within) / between, items=len(rows), raters=len(rows[0]), note=note)


def step_up(reliability: float, *, count: int) -> float:
    """The reliability of a mean of `count` ratings of which one has `reliability`: k r / (1 + (k - 1) r).

    Spearman 1910, Brown 1910. 25 ratings of 0.233 give 0.884 (A48).

    Raises:
        ValueError: the formula divides by 0 there.
    """
    divisor = 1 + (count - 1) * reliability
    if divisor == 0:
        raise ValueError(f"a reliability of {reliability} cannot be stepped up to {count} ratings")
    return count * reliability / divisor


def _pairs(a: Sequence[Hashable | None], b: Sequence[Hashable | None]) -> tuple[list[tuple[Hashable, Hashable]], str]:
    """The items that both rated, and a note about the others."""
    if len(a) != len(b):
        raise ValueError(f"two raters of the same items are needed, not of {len(a)} and {len(b)}")
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not pairs:
        return pairs, "No item was rated by both, so there is nothing to compare."
    return pairs, _left_out(len(a) - len(pairs), "item", "that only one of them rated")


def _complete(matrix: Sequence[Sequence[float | None]]) -> tuple[list[list[float]], str]:
    """The rows without a missing cell, and a note about the others."""
    _same_lengths(matrix)
    rows = [[float(each) for each in row if each is not None] for row in matrix]
    if any(not math.isfinite(each) for row in rows for each in row):
        raise ValueError("ratings must be finite numbers")
    kept = [row for row in rows if len(row) == len(matrix[0])]
    return kept, _left_out(len(rows) - len(kept), "row", "with a missing rating")


def _too_small(rows: Sequence[Sequence[float]], note: str) -> Coefficient | None:
    columns = len(rows[0]) if rows else 0
    if len(rows) >= 2 and columns >= 2:
        return None
    said = f"At least two complete rows of at least two ratings are needed; there are {len(rows)} of {columns}."
    return Coefficient(None, items=len(rows), raters=columns, note=_joined(said, note))


def _mean_squares(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean squares between and within rows of one-way analysis of variance."""
    count, size = len(rows), len(rows[0])
    means = [math.fsum(row) / size for row in rows]
    between = size * _variance(means)
    within = math.fsum((each - middle) ** 2 for row, middle in zip(rows, means, strict=True) for each in row)
    return between, within / (count * (size - 1))


def _variance(values: Sequence[float]) -> float:
    if min(values) == max(values):
        return 0.0  # exactly: a mean of equal values may differ from them in the last place
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _same_lengths(rows: Sequence[Sequence[object]]) -> None:
    if len({len(row) for row in rows}) > 1:
        raise ValueError("every row needs as many cells; a missing one is None")


def _left_out(count: int, noun: str, which: str) -> str:
    return f"Left out: {count} {noun}{'s' if count > 1 else ''} {which}." if count else ""


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
