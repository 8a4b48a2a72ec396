"""Which queue a phase's jobs wait in: the phase's, else the competition's, else "default"; of those that exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from gauntlet import settings as installation
from gauntlet.competitions.services import import_bundle


@pytest.fixture(autouse=True)
def queues(settings: Any) -> None:
    """What the operator allows."""
    settings.QUEUES = ["default", "cpu", "gpu"]


@pytest.mark.parametrize(
    ("of_competition", "of_phase", "expected"),
    [
        ("", "", ["default", "default"]),
        ("queue: cpu\n", "", ["cpu", "cpu"]),
        ("queue: cpu\n", "    queue: gpu\n", ["gpu", "cpu"]),
        ("queue: another\n", "    queue: gpu\n", ["gpu", "default"]),
        ("queue: cpu\n", "    queue: another\n", ["cpu", "cpu"]),
    ],
)
def test_the_nearest_one_that_exists_counts(
    bundle: Any, make_user: Callable[..., Any], of_competition: str, of_phase: str, expected: list[str]
) -> None:
    bundle.replace("description: For tests\n", f"description: For tests\n{of_competition}")
    bundle.replace("    name: Development\n", f"    name: Development\n{of_phase}")
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True)
    assert list(competition.phases.values_list("queue", flat=True)) == expected


def test_one_that_does_not_exist_is_told_with_those_that_do(bundle: Any, findings_of: Any) -> None:
    bundle.replace("description: For tests\n", "description: For tests\nqueue: gpus\n")
    (found,) = [finding for finding in findings_of(bundle) if finding.field == "queue"]
    assert (found.level, found.line) == ("warning", bundle.line_of("queue: gpus"))
    assert "has no queue 'gpus'; submissions wait in the queue 'default'" in found.message
    assert list(found.allowed) == ["default", "cpu", "gpu"]


@pytest.mark.parametrize("names", ["", "a b", "Über", "x" * 65])
def test_the_operators_names_are_checked_at_the_start(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    monkeypatch.setenv("QUEUES", names)
    with pytest.raises(ImproperlyConfigured, match="QUEUES must be names"):
        installation._queues("QUEUES", ["default"])


def test_each_name_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUES", "gpu,cpu,gpu")
    assert installation._queues("QUEUES", ["default"]) == ["gpu", "cpu"]


def test_a_phase_takes_agents_or_results_and_not_both(bundle: Any, findings_of: Any) -> None:
    bundle.replace(
        "phases:\n", "  - {index: 1, name: Other, reference_data: reference, scoring_program: scoring}\nphases:\n"
    )
    bundle.replace("    tasks: [0]\n", "    tasks: [0, 1]\n")
    (found,) = [finding for finding in findings_of(bundle) if finding.level == "error"]
    assert found.field == "phases[0].tasks"
    assert "Make two phases" in found.message
