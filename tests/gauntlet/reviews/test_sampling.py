"""The draw: stratified by share, nobody left out by chance, and the same again from the same seed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gauntlet.reviews.sampling import draw, shares

SIZES = st.dictionaries(st.text(max_size=3), st.integers(1, 60), min_size=1, max_size=8)


@given(sizes=SIZES, size=st.integers(1, 100))
def test_as_many_as_asked_for_and_no_stratum_gives_more_than_it_has(sizes, size):
    counts = shares(sizes, size=size)
    assert sum(counts.values()) == min(size, sum(sizes.values()))
    assert all(0 <= counts[name] <= sizes[name] for name in sizes)


@given(sizes=SIZES, size=st.integers(1, 100))
def test_every_stratum_gives_one_where_there_is_room_and_about_its_share(sizes, size):
    counts = shares(sizes, size=size)
    total = sum(sizes.values())
    if len(sizes) <= size <= total:
        assert min(counts.values()) >= 1
        # Those raised to one cost the others at most one each.
        raised = sum(size * number / total < 1 for number in sizes.values())
        assert all(counts[name] <= max(1, size * sizes[name] / total + 1) for name in sizes)
        assert all(counts[name] >= min(size * sizes[name] / total - 1 - raised, sizes[name]) for name in sizes)


def test_shares_by_hand():
    assert shares({"a": 60, "b": 30, "c": 10}, size=10) == {"a": 6, "b": 3, "c": 1}
    assert shares({"a": 98, "b": 1, "c": 1}, size=10) == {"a": 8, "b": 1, "c": 1}
    assert shares({"a": 5, "b": 9, "c": 7}, size=2) == {"a": 0, "b": 1, "c": 1}


@given(seed=st.integers(0, 1 << 31))
def test_the_same_seed_draws_the_same_and_nobody_twice(seed):
    strata = {"x": list(range(30)), "y": list(range(30, 40))}
    first = draw(strata, size=12, seed=seed)
    assert first == draw(strata, size=12, seed=seed)
    assert len(set(first)) == 12
    assert sum(one < 30 for one in first) == 9


def test_the_order_does_not_tell_the_strata():
    strata = {"right": list(range(20)), "wrong": list(range(20, 40))}
    orders = [[one < 20 for one in draw(strata, size=20, seed=seed)] for seed in range(5)]
    assert len({tuple(order) for order in orders}) == 5
    assert all(order != sorted(order, reverse=True) for order in orders)


def test_of_an_empty_stratum_nothing_is_drawn():
    assert draw({"none": [], "one": ["a"]}, size=5, seed=1) == ["a"]
