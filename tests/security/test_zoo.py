"""Hostile programs, each with its exact verdict, on both backends; `./run test -m zoo` prints the table."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.zoo, pytest.mark.security]


def test_a_hostile_program_gets_its_verdict_and_harms_nothing(backend, program, runs, keep_row):
    row = runs.row(backend, program)
    keep_row.append(row)
    assert row.problems == []
    assert row.got == row.expected
