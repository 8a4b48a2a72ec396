"""Kappa, alpha and intraclass correlation against the libraries that have them, and what they say of little input."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gauntlet_scoring.agreement import (
    cohen_kappa,
    cronbach_alpha,
    fleiss_kappa,
    icc1,
    icc2,
    observed_agreement,
    rating_table,
    step_up,
)

# Shrout and Fleiss 1979, table 2: six targets, four judges; their table 4 gives ICC(1,1) = 0.17 and ICC(1,4) = 0.44.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
# Fleiss 1971 as the textbooks print it: ten items, fourteen raters, five categories; kappa = 0.210.
FLEISS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
CATEGORIES = st.sampled_from("abc")


def tables(rows, columns):
    cell = st.integers(1, 5)
    return st.integers(*columns).flatmap(
        lambda wide: st.lists(
            st.lists(cell, min_size=wide, max_size=wide).map(list), min_size=rows[0], max_size=rows[1]
        )
    )


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CATEGORIES, CATEGORIES), min_size=1, max_size=30))
def test_cohens_kappa_equals_scikit_learns(pairs):
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    a, b = zip(*pairs, strict=True)
    assume(len({*a, *b}) > 1)
    assert cohen_kappa(a, b).value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    assert observed_agreement(a, b).value == pytest.approx(accuracy_score(a, b), abs=1e-12)


@pytest.mark.oracle
@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.data())
def test_fleiss_kappa_equals_statsmodels(raters, data):
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    row = st.lists(st.integers(0, 3), min_size=raters, max_size=raters)
    ratings = data.draw(st.lists(row, min_size=1, max_size=12))
    assume(len({each for row in ratings for each in row}) > 1)
    table, _ = aggregate_raters(ratings)
    assert fleiss_kappa(rating_table(ratings)).value == pytest.approx(theirs(table), abs=1e-12)


@pytest.mark.oracle
@settings(max_examples=25, deadline=None)
@given(tables((2, 8), (2, 6)))
def test_cronbachs_alpha_equals_pingouins(matrix):
    import pandas
    import pingouin

    assume(len({sum(row) for row in matrix}) > 1)
    assert cronbach_alpha(matrix).value == pytest.approx(pingouin.cronbach_alpha(pandas.DataFrame(matrix))[0], abs=1e-9)


@pytest.mark.oracle
@settings(max_examples=10, deadline=None)
@given(tables((6, 9), (2, 5)))
def test_intraclass_correlations_equal_pingouins(matrix):
    import pandas
    import pingouin

    assume(len({sum(row) for row in matrix}) > 1)
    assume(any(len(set(row)) > 1 for row in matrix))
    long = pandas.DataFrame(
        [(target, rater, float(value)) for target, row in enumerate(matrix) for rater, value in enumerate(row)],
        columns=["target", "rater", "value"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its intervals, which are not compared
        table = pingouin.intraclass_corr(long, targets="target", raters="rater", ratings="value")
    single, averaged = table["ICC"][0], table["ICC"][3]
    assert icc1(matrix).value == pytest.approx(single, abs=1e-9)
    assert icc2(matrix).value == pytest.approx(averaged, abs=1e-9)


@pytest.mark.oracle
def test_the_tables_of_the_papers():
    assert icc1(SHROUT_FLEISS).value == pytest.approx(0.17, abs=0.005)
    assert icc2(SHROUT_FLEISS).value == pytest.approx(0.44, abs=0.005)
    assert fleiss_kappa(FLEISS).value == pytest.approx(0.210, abs=0.0005)


@pytest.mark.oracle
def test_the_realism_study_steps_up():
    """A48: 25 scenarios, ICC(1) = 0.233, ICC(2) = 0.882 in print, 0.884 by the formula."""
    assert step_up(0.233, count=25) == pytest.approx(0.884, abs=0.0005)
    assert icc2(SHROUT_FLEISS).value == pytest.approx(step_up(icc1(SHROUT_FLEISS).value, count=4), abs=1e-12)


def test_kappa_by_hand():
    """Of 50 items 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5."""
    a = [True] * 25 + [False] * 25
    b = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(a, b).value == pytest.approx(0.4, abs=1e-12)
    assert observed_agreement(a, b).value == pytest.approx(0.7, abs=1e-12)


def test_fleiss_with_an_unequal_number_of_ratings_by_hand():
    """Items aab, bb, and a alone, which has no pair: P = (1/3 + 1) / 2, shares a 1/3 and b 2/3."""
    found = fleiss_kappa([[2, 1], [0, 2], [1, 0]])
    assert found.value == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9), abs=1e-12)
    assert (found.items, found.raters) == (2, 3)
    assert found.note == "Left out: 1 item with fewer than two ratings."


def test_what_one_rater_left_out_does_not_count():
    found = cohen_kappa([1, 0, 1, None], [1, 0, 0, 1])
    assert (found.value, found.items) == (cohen_kappa([1, 0, 1], [1, 0, 0]).value, 3)
    assert found.note == "Left out: 1 item that only one of them rated."


def test_a_row_with_a_missing_cell_is_left_out_and_said():
    holes = [*SHROUT_FLEISS, [9, None, 9, 9]]
    for coefficient in (cronbach_alpha, icc1, icc2):
        found, whole = coefficient(holes), coefficient(SHROUT_FLEISS)
        assert (found.value, found.items) == (whole.value, 6)
        assert found.note == "Left out: 1 row with a missing rating."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (cohen_kappa(["a", "a"], ["a", "a"]), "same one category"),
        (cohen_kappa([], []), "nothing to compare"),
        (cohen_kappa(["a", None], [None, "a"]), "nothing to compare"),
        (observed_agreement([None], [1]), "nothing to compare"),
        (fleiss_kappa([[3, 0], [3, 0]]), "same one category"),
        (fleiss_kappa([[1, 0], [0, 1]]), "no item has two"),
        (fleiss_kappa([]), "no item has two"),
        (cronbach_alpha([]), "there are 0 of 0"),
        (cronbach_alpha([[1, 2]]), "there are 1 of 2"),
        (cronbach_alpha([[1, 2], [2, 1]]), "same sum"),
        (icc1([[1], [2]]), "there are 2 of 1"),
        (icc1([[1, None], [2, 3]]), "there are 1 of 2"),
        (icc1([[2, 2], [2, 2]]), "every rating is the same"),
        (icc2([[0.1, 0.1], [0.1, 0.1]]), "icc(2) is undefined"),
        (icc2([[1, 2], [2, 1]]), "same mean"),
    ],
)
def test_what_has_no_value_says_why(found, said):
    assert found.value is None
    assert said in found.note.casefold()
    assert found.note.endswith(".")


def test_perfect_agreement_is_one():
    assert cohen_kappa("abca", "abca").value == 1.0
    assert fleiss_kappa([[4, 0], [0, 4]]).value == 1.0
    assert icc1([[1, 1], [2, 2]]).value == 1.0
    assert cronbach_alpha([[1, 1], [2, 2]]).value == 1.0


def test_raters_who_always_differ_are_below_zero():
    assert cohen_kappa([0, 1], [1, 0]).value == -1.0
    assert icc1([[1, 2], [2, 1]]).value == -1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: cohen_kappa([1], [1, 2]),
        lambda: fleiss_kappa([[1, 2], [3]]),
        lambda: fleiss_kappa([[-1, 2]]),
        lambda: icc1([[1, 2], [3]]),
        lambda: cronbach_alpha([[1, math.nan], [1, 2]]),
        lambda: step_up(-1.0, count=2),
    ],
)
def test_malformed_input_is_refused(call):
    with pytest.raises(ValueError, match=r"needed|needs|cannot|must"):
        call()
