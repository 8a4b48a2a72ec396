"""Dates of a bundle keep their time and their offset, quoted or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.competitions.bundle.dates import BadDate, parse_moment
from gauntlet.competitions.bundle.document import read_document
from gauntlet.competitions.bundle.findings import Findings

ZONE = ZoneInfo("UTC")
ZONES = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
_FIRST, _LAST = datetime(1990, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001 -- hypothesis wants them naive
MOMENTS = st.datetimes(_FIRST, _LAST).map(lambda moment: moment.replace(microsecond=0))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-1-2", datetime(2026, 1, 2, tzinfo=UTC)),
        ("2026/11/29 8:05", datetime(2026, 11, 29, 8, 5, tzinfo=UTC)),
        ("2026-11-29 18:30:15", datetime(2026, 11, 29, 18, 30, 15, tzinfo=UTC)),
        ("2026-11-29T18:30:15Z", datetime(2026, 11, 29, 18, 30, 15, tzinfo=UTC)),
        ("2026-11-29t18:30:15.5z", datetime(2026, 11, 29, 18, 30, 15, 500000, tzinfo=UTC)),
        ("2026-11-29 18:30:15 +02:00", datetime(2026, 11, 29, 16, 30, 15, tzinfo=UTC)),
        ("2026-11-29 18:30:15 -0530", datetime(2026, 11, 30, 0, 0, 15, tzinfo=UTC)),
        ("2026-11-29 18:30:15 -5", datetime(2026, 11, 29, 23, 30, 15, tzinfo=UTC)),
        ("2026-11-29 18:30:15 UTC", datetime(2026, 11, 29, 18, 30, 15, tzinfo=UTC)),
    ],
)
def test_forms_that_people_write(text: str, expected: datetime) -> None:
    assert parse_moment(text, ZONE) == expected
    assert parse_moment(f"  {text} ", ZONE) == expected


@pytest.mark.parametrize(
    "text",
    ["", "soon", "03-04-2026", "2026-13-01", "2026-02-30", "2026-01-01 25:00", "2026-01-01 +02:00", "2026",
     "2026-01-01 10:00 +99:00", "2026-01-01 10:00 +02:75", "0000-01-01", "9999-12-31 23:59:59 -14:00", "٢٠٢٦-01-01"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(BadDate) as caught:
        parse_moment(text, ZONE)
    assert repr(text[:40]) in str(caught.value)


@given(moment=MOMENTS, offset=OFFSETS, quoted=st.booleans(), separator=st.sampled_from([" ", "T"]))
def test_an_offset_is_kept_whether_quoted_or_not(
    moment: datetime, offset: timezone, quoted: bool, separator: str
) -> None:
    """Codabench cuts an unquoted time to midnight and replaces every offset by UTC."""
    aware = moment.replace(tzinfo=offset)
    text = aware.isoformat(sep=separator)
    assert parse_moment(_through_yaml(text, quoted=quoted), ZONE) == aware


@given(moment=MOMENTS, zone=ZONES, quoted=st.booleans())
def test_without_an_offset_the_competitions_zone_is_meant(moment: datetime, zone: ZoneInfo, quoted: bool) -> None:
    parsed = parse_moment(_through_yaml(moment.isoformat(sep=" "), quoted=quoted), zone)
    assert parsed.tzinfo is UTC
    assert parsed == moment.replace(tzinfo=zone).astimezone(UTC)
    shown = parsed.astimezone(zone).replace(tzinfo=None)
    assert shown == moment or abs(shown - moment) <= timedelta(hours=24)  # later by the gap, where clocks skip it
    if moment.replace(tzinfo=zone, fold=1).utcoffset() == moment.replace(tzinfo=zone, fold=0).utcoffset():
        assert shown == moment


@given(text=st.text(max_size=40))
def test_any_text_is_a_date_or_refused(text: str) -> None:
    try:
        parsed = parse_moment(text, ZONE)
    except BadDate:
        return
    assert parsed.tzinfo is UTC


def test_a_time_that_the_clocks_skip_is_moved_and_one_that_comes_twice_is_the_first() -> None:
    belgrade = ZoneInfo("Europe/Belgrade")
    assert parse_moment("2026-03-29 02:30", belgrade) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert parse_moment("2026-10-25 02:30", belgrade) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def _through_yaml(text: str, *, quoted: bool) -> str:
    """What a bundle's reader sees of a date: the text, also where YAML takes it for a timestamp."""
    written = yaml.safe_dump({"start": text}) if quoted else f"start: {text}\n"
    section = read_document(written.encode(), file="x", findings=Findings())
    assert section is not None
    value = section.get("start")
    assert value is not None
    assert value.scalar is not None
    return value.scalar
