"""Sweeps: what fails at one thing is logged and keeps no other waiting; what is away for all is not asked for each."""

from __future__ import annotations

import errno
from functools import partial

import pytest
from django.db import DataError, OperationalError
from structlog.testing import capture_logs

from gauntlet.one_by_one import every, one_by_one


def halve(number: int, *, among: int) -> int:
    if number % 2:
        raise DataError(f"secret of {number}")
    return number // 2 % among


def test_what_fails_at_one_thing_is_logged_by_its_name_and_keeps_no_other() -> None:
    with capture_logs() as logs:
        assert one_by_one(iter([2, 3, 4, 5, 6, 7, 8, 9]), partial(halve, among=100)) == 1 + 2 + 3 + 4
    told = [(one["event"], one["doing"], one["thing"], one["log_level"], one["exc_info"]) for one in logs]
    assert told == [("sweep.failed", "halve", str(number), "error", True) for number in (3, 5, 7, 9)]


@pytest.mark.parametrize("error", [OperationalError("no connection"), OSError(errno.EROFS, "read-only")])
def test_what_is_away_is_not_asked_a_thousand_times(error: Exception) -> None:
    asked = []

    def find_it_away(number: int) -> int:
        asked.append(number)
        raise error

    with capture_logs() as logs, pytest.raises(type(error)):
        one_by_one(range(1000), find_it_away)
    assert (asked, len(logs)) == ([0, 1, 2], 3)


def test_every_step_is_taken() -> None:
    taken = []

    def first() -> None:
        taken.append("first")
        raise OperationalError

    def second() -> None:
        taken.append("second")

    with capture_logs() as logs:
        every(first, second)
    assert (taken, [one["event"] for one in logs]) == (["first", "second"], ["sweep.step_failed"])
