"""Days of the quota are days of the competition's own time zone, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.submissions.quotas import day_of

_FIRST, _LAST = datetime(1990, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001 -- hypothesis wants them naive
MOMENTS = st.datetimes(_FIRST, _LAST, timezones=st.just(UTC))
ZONES = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)


@given(now=MOMENTS, zone=ZONES)
def test_now_is_in_its_day_and_the_next_day_begins_where_it_ends(now: datetime, zone: ZoneInfo) -> None:
    start, end = day_of(now, zone)
    assert start <= now < end
    assert start.tzinfo is end.tzinfo is UTC
    assert timedelta(hours=1) <= end - start <= timedelta(hours=49)
    assert day_of(start, zone)[0] == start
    assert day_of(end - timedelta(microseconds=1), zone)[0] == start
    assert day_of(end, zone)[0] == end


@pytest.mark.parametrize(
    ("zone", "now", "start", "hours"),
    [
        ("UTC", "2026-06-01T12:00:00", "2026-06-01T00:00:00", 24),
        ("Europe/Belgrade", "2026-03-29T12:00:00", "2026-03-28T23:00:00", 23),  # forward in the night
        ("Europe/Belgrade", "2026-10-25T12:00:00", "2026-10-24T22:00:00", 25),  # back in the night
        ("America/Los_Angeles", "2026-06-01T05:00:00", "2026-05-31T07:00:00", 24),
        ("Asia/Kathmandu", "2026-06-01T18:20:00", "2026-06-01T18:15:00", 24),  # a quarter of an hour
        ("Africa/Cairo", "2024-04-26T10:00:00", "2024-04-25T22:00:00", 23),  # midnight itself is skipped
        ("America/Havana", "2026-11-01T12:00:00", "2026-11-01T04:00:00", 25),  # midnight comes twice
        ("Pacific/Apia", "2011-12-30T09:00:00", "2011-12-29T10:00:00", 24),  # the day after it does not exist
    ],
)
def test_known_days(zone: str, now: str, start: str, hours: int) -> None:
    first, last = day_of(datetime.fromisoformat(now).replace(tzinfo=UTC), ZoneInfo(zone))
    assert first == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert last - first == timedelta(hours=hours)
