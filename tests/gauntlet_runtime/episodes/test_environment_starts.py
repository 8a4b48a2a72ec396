"""The environments of a job start a few at a time, and each takes its episodes as soon as it is there."""

from __future__ import annotations

import pytest

from gauntlet_scoring.failures import FailureCode

OPENS_THREE = "open_ones = [next_episode() for _ in range(3)]\nfor e in open_ones: answer(e)"


@pytest.fixture
def started(room, monkeypatch):
    """The places whose programs were started, in order, one at a time."""
    monkeypatch.setattr("gauntlet_runtime.environments.STARTING_AT_ONCE", 1)
    prepare, places = room.sandbox.prepare, []

    def note(spec):
        if "-environment-" in spec.label:
            places.append(int(spec.label.rpartition("-")[2]))
        return prepare(spec)

    monkeypatch.setattr(room.sandbox, "prepare", note)
    return places


def test_all_places_have_theirs_in_the_end(room, started):
    outcome = room.agent(OPENS_THREE, keys=["A", "B", "C"], max_parallel_episodes=3)
    assert [e.failure for e in outcome.episodes] == [None] * 3
    assert started == [0, 1, 2]


def test_one_that_does_not_start_keeps_the_others_waiting_no_longer_than_it_is_tried(room, started):
    outcome = room.agent("next_episode()", keys=["A", "B"], max_parallel_episodes=2, arguments=("--dead",))
    assert [e.failure for e in outcome.episodes] == [FailureCode.ENVIRONMENT_ERROR] * 2
    assert started == [0, 0, 0, 1, 1, 1]
