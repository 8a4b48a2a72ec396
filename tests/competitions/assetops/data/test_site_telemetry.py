"""The readings: plausible physics, and what was lost or stuck on the way is where the site says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from assetops_data import Machine, Site

ReadTable = Callable[[str], pd.DataFrame]


@pytest.fixture(scope="module")
def readings(site: Site, table: ReadTable) -> dict[str, pd.DataFrame]:
    return {one.id: table(f"telemetry/{one.id}").set_index("timestamp") for one in site.machines if one.monitored}


@pytest.fixture(scope="module")
def chillers(site: Site) -> list[Machine]:
    return [one for one in site.machines if one.kind.name == "Chiller"]


@pytest.fixture(scope="module")
def handlers(site: Site) -> list[Machine]:
    return [one for one in site.machines if one.kind.name == "Air Handling Unit"]


def outside(frame: pd.DataFrame, site: Site, machine: Machine) -> pd.DataFrame:
    """The rows in which no sensor is stuck."""
    keep = np.ones(len(frame), dtype=bool)
    for one in site.stretches:
        if one.equipment_id == machine.id and one.kind == "flat":
            keep &= ~((frame.index >= one.begin) & (frame.index < one.end))
    return frame[keep]


def test_a_year_of_quarters_of_an_hour(site: Site, readings: dict[str, pd.DataFrame]) -> None:
    for frame in readings.values():
        assert 0.9 * 35040 < len(frame) <= 35040
        assert frame.index.is_monotonic_increasing
        assert frame.index.is_unique
        assert frame.index.min() >= site.telemetry_from
        assert frame.index.max() < site.now


def test_one_clock_is_a_minute_late(readings: dict[str, pd.DataFrame], handlers: list[Machine]) -> None:
    late = [name for name, frame in readings.items() if (frame.index.minute % 15 == 1).all()]
    assert late == [handlers[1].id]
    assert all((frame.index.minute % 15 == 0).all() for name, frame in readings.items() if name not in late)


def test_heat_flows_the_right_way(site: Site, readings: dict[str, pd.DataFrame], chillers: list[Machine]) -> None:
    for machine in chillers:
        frame = outside(readings[machine.id], site, machine)
        both = frame[["Return Temperature", "Supply Temperature"]].dropna()
        assert (both["Return Temperature"] > both["Supply Temperature"]).all()
        on = frame[frame["Run Status"] == 1]
        water = on[["Condenser Water Return To Tower Temperature", "Condenser Water Supply Temperature"]].dropna()
        assert (water.iloc[:, 0] > water.iloc[:, 1]).all()
        assert on["Liquid Refrigerant Evaporator Temperature"].median() < on["Supply Temperature"].median()


def test_efficiency_is_power_over_tonnage(
    site: Site, readings: dict[str, pd.DataFrame], chillers: list[Machine]
) -> None:
    for machine in chillers:
        frame = outside(readings[machine.id], site, machine)
        on = frame[frame["Run Status"] == 1][["Power Input", "Tonnage", "Chiller Efficiency"]].dropna()
        assert len(on) > 1000
        assert np.abs(on["Power Input"] / on["Tonnage"] - on["Chiller Efficiency"]).max() < 0.00051
        assert 0.4 < on["Chiller Efficiency"].median() < 0.9


def test_a_machine_that_is_off_draws_nothing(
    site: Site, readings: dict[str, pd.DataFrame], chillers: list[Machine]
) -> None:
    shares = []
    for machine in chillers:
        frame = outside(readings[machine.id], site, machine)
        off = frame[frame["Run Status"] == 0]
        assert (off["Power Input"].dropna() == 0).all()
        assert (off["Tonnage"].dropna() == 0).all()
        assert off["Chiller Efficiency"].isna().all()
        shares.append((frame["Run Status"] == 1).mean())
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.8
    assert 0.05 < shares[-1] < 0.4


def test_load_follows_season_and_working_hours(readings: dict[str, pd.DataFrame], chillers: list[Machine]) -> None:
    lead = readings[chillers[0].id]
    monthly = lead["Tonnage"].groupby(lead.index.month).mean()
    assert monthly[7] > 1.5 * monthly[1]
    summer = lead[lead.index.month.isin([6, 7, 8]) & (lead["Run Status"] == 1)]
    hourly = summer["Tonnage"].groupby(summer.index.hour).mean()
    assert hourly[14] > 1.2 * hourly[3]
    weekend = summer.index.day_of_week >= 5
    assert summer[~weekend]["Tonnage"].mean() > 1.1 * summer[weekend]["Tonnage"].mean()


def test_a_filter_clogs_until_it_is_changed(readings: dict[str, pd.DataFrame], handlers: list[Machine]) -> None:
    frame = readings[handlers[0].id]
    on = frame[frame["Run Status"] == 1]
    on = on[on["Supply Air Flow"] > 1]  # a sensor may be stuck at what it read at night
    clog = (on["Filter Differential Pressure"] / (on["Supply Air Flow"] ** 2)).resample("D").median().dropna()
    assert clog.quantile(0.95) > 1.8 * clog.quantile(0.05)
    assert (clog.diff() < -0.3 * clog.max()).sum() >= 3


def test_gaps_and_stuck_and_empty_sensors_are_where_the_site_says(
    site: Site, readings: dict[str, pd.DataFrame]
) -> None:
    kinds = {one.kind for one in site.stretches}
    assert kinds == {"gap", "flat", "empty", "standstill"}
    for one in site.stretches:
        delay = (
            pd.Timedelta(minutes=1) if (readings[one.equipment_id].index.minute % 15 == 1).all() else pd.Timedelta(0)
        )
        frame = readings[one.equipment_id]
        rows = frame[(frame.index >= pd.Timestamp(one.begin) + delay) & (frame.index < pd.Timestamp(one.end) + delay)]
        if one.kind == "gap":
            assert rows.empty
        elif one.kind == "flat":
            assert rows[one.sensor].nunique() <= 1
        elif one.kind == "empty":
            assert rows[one.sensor].isna().all()


def test_single_cells_and_rows_are_missing_too(readings: dict[str, pd.DataFrame]) -> None:
    for frame in readings.values():
        empty = frame.drop(columns=["Schedule", "Chiller Efficiency"], errors="ignore").isna().mean()
        assert empty.drop("Run Status").between(0.001, 0.1).all()
        steps = frame.index.to_series().diff()
        assert (steps == pd.Timedelta(minutes=30)).sum() > 20
        assert steps.max() > pd.Timedelta(hours=12)
        if "Schedule" in frame:
            assert frame["Schedule"].isna().mean() > 0.9


def test_the_leading_chiller_stands_still_for_six_days_in_the_warm_season(
    site: Site, readings: dict[str, pd.DataFrame], chillers: list[Machine]
) -> None:
    (still,) = [one for one in site.stretches if one.kind == "standstill"]
    assert still.equipment_id == chillers[0].id
    assert (still.end - still.begin).days == 6
    assert still.begin.weekday() == 0
    frame = readings[still.equipment_id]
    rows = frame[(frame.index >= still.begin) & (frame.index < still.end)]
    assert len(rows) == 6 * 96
    assert (rows["Power Input"] == 0.0).all()
    before = frame[(frame.index >= pd.Timestamp(still.begin) - pd.Timedelta(days=6)) & (frame.index < still.begin)]
    assert (before["Power Input"].dropna() > 0).mean() > 0.9


def test_injected_anomalies_can_be_seen(site: Site, readings: dict[str, pd.DataFrame]) -> None:
    assert len(site.injected) >= 12
    visible = 0
    for one in site.injected:
        frame = readings[one.equipment_id]
        on = frame[frame["Run Status"] == 1]
        during: Any = on[(on.index >= one.begin) & (on.index < one.end)][one.sensor].median()
        day = pd.Timedelta(days=1)
        same_hours = [
            on[(on.index >= pd.Timestamp(one.begin) + n * day) & (on.index < pd.Timestamp(one.end) + n * day)]
            for n in (-2, -1, 1, 2)
        ]
        usual = pd.concat(same_hours)[one.sensor].median()
        if np.isnan(usual) or np.isnan(during):
            continue
        wanted = usual * one.factor + one.shift
        visible += abs(during - wanted) < abs(during - usual)
    assert visible >= 0.8 * len(site.injected)
