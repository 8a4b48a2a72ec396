"""How the minimal agent reads a question."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def reading() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "starter_kits" / "minimal"))
        yield importlib.import_module("reading")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("the work order of equipment CWC04013 for year 2017.", "2017-01-01", "2017-12-31"),
        ("for the June of 2020 and provide", "2020-06-01", "2020-06-30"),
        ("for the May 2020 for equipment", "2020-05-01", "2020-05-31"),
        ("the first week of June of 2020", "2020-06-01", "2020-06-07"),
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("in the second quarter of 2018", "2018-04-01", "2018-06-30"),
        ("the time from 17 November 2022 to 7 January 2023", "2022-11-17", "2023-01-07"),
        ("on 3 March 2021?", "2021-03-03", "2021-03-03"),
    ],
)
def test_periods(reading: ModuleType, text: str, start: str, end: str) -> None:
    assert reading.days(text).arguments == {"start": start, "end": end}


@pytest.mark.parametrize(
    ("text", "today", "start", "end"),
    [
        ("completed last month", date(2024, 1, 5), "2023-12-01", "2023-12-31"),
        ("in the month before last", date(2024, 1, 31), "2023-11-01", "2023-11-30"),
        ("Last month", date(2024, 3, 31), "2024-02-01", "2024-02-29"),
    ],
)
def test_periods_that_depend_on_the_day(reading: ModuleType, text: str, today: date, start: str, end: str) -> None:
    assert reading.needs_today(text)
    assert reading.days(text, today).arguments == {"start": start, "end": end}


def test_no_period_is_no_guess(reading: ModuleType) -> None:
    assert reading.days("When did Chiller 6 break?") is None


@given(day=st.dates(min_value=date(1990, 1, 1), max_value=date(2099, 12, 31)))
def test_every_day_as_people_write_it_is_read_back(reading: ModuleType, day: date) -> None:
    said = f"on {day.day} {day:%B} {day.year}?"
    found = reading.days(said)
    assert (found.start, found.end) == (day, day)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Compare CHILLER6, AHU 1 and CWC04006.", ["CHILLER6", "AHU 1", "CWC04006"]),
        ("chiller-6 and again chiller-6", ["chiller-6"]),
        ("Which chiller is best in 2020?", []),
    ],
)
def test_machines(reading: ModuleType, text: str, found: list[str]) -> None:
    assert reading.machines(text) == found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("preventive work orders", "preventive"),
        ("the corrective jobs", "corrective"),
        ("planned upkeep or repair", "any"),
        ("all jobs", "any"),
    ],
)
def test_kinds(reading: ModuleType, text: str, kind: str) -> None:
    assert reading.kind(text) == kind


def test_groups(reading: ModuleType) -> None:
    assert reading.groups("events of alert, anomaly for 2021") == ["ALERT", "ANOMALY"]
    assert reading.groups("on how many days did something happen") == ["WORK_ORDER", "ALERT", "ANOMALY"]


def test_the_longest_sensor_name_wins(reading: ModuleType) -> None:
    recorded = ["Water Flow", "Condenser Water Flow"]
    assert reading.sensor("the mean condenser water flow of Chiller 6", recorded) == "Condenser Water Flow"
    assert reading.sensor("the oil pressure", recorded) is None
