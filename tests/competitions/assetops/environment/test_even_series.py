"""From a file of readings to an even series: on and off, the grid, limited imputation."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from assetops_tools.errors import BadArgument
from assetops_tools.scratch import Table
from assetops_tools.tsfm.series import LONGEST_IMPUTED, impute, operating, series_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

START = datetime(2021, 3, 1)  # noqa: DTZ001 - plant time


def table(values: list[Any], *, minutes: list[int] | None = None, **columns: list[Any]) -> Table:
    """A file with a column ``x``; a row every 15 minutes unless ``minutes`` says when."""
    at = minutes or [15 * step for step in range(len(values))]
    times = [(START + timedelta(minutes=one)).isoformat() for one in at]
    names = {"timestamp": times, "x": values, **columns}
    return Table(list(names), [list(row) for row in zip(*names.values(), strict=True)])


def test_readings_go_to_the_nearest_quarter_and_are_averaged() -> None:
    found = series_of(table([1.0, 3.0, 5.0, 9.0], minutes=[1, 3, 16, 46]), "timestamp", "x")
    assert [str(at)[11:16] for at in found.times] == ["00:00", "00:15", "00:30", "00:45"]
    assert found.values.tolist() == [2.0, 5.0, 7.0, 9.0]
    assert (found.observations, found.imputed, found.missing) == (4, 1, 0)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3000), st.floats(-1e3, 1e3)), min_size=1, max_size=60))
def test_the_grid_is_that_of_pandas(rows: list[tuple[int, float]]) -> None:
    found = series_of(table([value for _, value in rows], minutes=[at for at, _ in rows]), "timestamp", "x")
    stamps = pd.to_datetime([START + timedelta(minutes=at) for at, _ in rows])
    # Halves go up, where pandas' round would go to the even one.
    means = pd.Series([value for _, value in rows]).groupby((stamps + pd.Timedelta("7min30s")).floor("15min")).mean()
    grid = means.reindex(pd.date_range(means.index.min(), means.index.max(), freq="15min"))
    expected = grid.interpolate(limit_area="inside").where(grid.notna() | (runs_of_nan(grid) <= LONGEST_IMPUTED))
    assert [pd.Timestamp(at) for at in found.times] == list(grid.index)
    np.testing.assert_allclose(found.values, expected.to_numpy(), rtol=1e-9, atol=1e-9)
    assert found.imputed == int(expected.notna().sum() - grid.notna().sum())
    assert found.missing == int(expected.isna().sum())


def runs_of_nan(series: pd.Series) -> pd.Series:
    """How long the hole is that each value lies in."""
    holes = series.isna()
    return holes.groupby((holes != holes.shift()).cumsum()).transform("sum")


@given(hnp.arrays(np.float64, st.integers(1, 50), elements=st.floats(0, 1) | st.just(np.nan)))
def test_only_short_holes_between_values_are_filled(values: np.ndarray) -> None:
    filled, count = impute(values)
    known = ~np.isnan(values)
    assert (filled[known] == values[known]).all()
    assert count == int((~np.isnan(filled)).sum() - known.sum())
    assert not np.isnan(values).all() or np.isnan(filled).all()
    lengths = runs_of_nan(pd.Series(values)).to_numpy()
    inside = (
        known.any()
        & (np.arange(len(values)) > known.argmax())
        & (np.arange(len(values)) < len(values) - known[::-1].argmax())
    )
    assert (~np.isnan(filled) == (known | (inside & (lengths <= LONGEST_IMPUTED)))).all()


def test_run_status_tells_whether_a_machine_is_on() -> None:
    found = operating(table([5.0] * 5, **{"Run Status": [1.0, 0.0, None, 1.0, None], "Power Input": [0.0] * 5}))
    assert found.tolist() == [True, False, False, True, True]


def test_without_a_run_status_power_tells() -> None:
    power = [0.0, 0.3, 100.0, 120.0, None, 110.0, 0.0]
    found = operating(table([1.0] * 7, **{"Run Status": [None] * 7, "Chiller 6 Power Input": power}))
    assert found.tolist() == [False, False, True, True, True, True, False]


def test_a_machine_that_never_draws_power_is_never_on() -> None:
    assert not operating(table([1.0] * 4, **{"Power Input": [0.0] * 4})).any()


def test_with_nothing_to_tell_a_machine_is_on() -> None:
    assert operating(table([0.0, 1.0])).all()


def test_operation_is_carried_over_gaps() -> None:
    status = [1.0] * 4 + [0.0] * 2
    found = series_of(table([1.0] * 6, minutes=[0, 15, 30, 600, 615, 630], **{"Run Status": status}), "timestamp", "x")
    assert found.operating[:41].all()
    assert not found.operating[41:].any()
    assert found.operating_share == pytest.approx(41 / 43)
    assert found.missing == 37


def test_holes_are_filled_from_the_same_time_of_another_day() -> None:
    day = [float(step) for step in range(96)]
    found = series_of(table([*day, *([None] * 96), *day]), "timestamp", "x")
    assert found.missing == 96
    assert found.filled().tolist() == day * 3
    assert np.isnan(found.values).sum() == 96


@pytest.mark.parametrize(
    ("made", "column", "said"),
    [
        (table([1.0]), "y", "no column 'y'; it has timestamp, x"),
        (table(["a", None]), "x", "holds no number"),
        (Table(["timestamp", "x"], [["soon", 1.0]]), "x", "holds no number at a readable time"),
        (Table(["timestamp", "x"], [["1900-01-01", 1.0], ["2020-01-01", 1.0]]), "x", "too long a time"),
    ],
)
def test_what_cannot_be_a_series_is_told(made: Table, column: str, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        series_of(made, "timestamp", column)


def test_a_column_is_found_under_its_machines_name_and_in_any_spelling() -> None:
    made = table([1.0], **{"Chiller % Loaded": [40.0]})
    for name in ("chiller % loaded", "Chiller 6 Chiller % Loaded", "CHILLER_%_LOADED"):
        assert series_of(made, "TIMESTAMP", name).name == "Chiller % Loaded"
