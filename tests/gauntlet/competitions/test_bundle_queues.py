"""Which queue a phase's jobs wait in: the phase's, else the competition's, else "default"; of those it may name."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from pydantic import SecretStr

from gauntlet.competitions import services
from gauntlet.competitions.models import Competition
from gauntlet.competitions.services import check_bundle, import_bundle, import_with_warnings
from gauntlet.environment import names_of_queues
from gauntlet.metering.configuration import Provider
from gauntlet.queues.errors import QueueNotUsable
from gauntlet.queues.models import Queue


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


@pytest.mark.django_db
def test_one_that_does_not_exist_is_told_with_those_that_do(bundle: Any, findings_of: Any) -> None:
    bundle.replace("description: For tests\n", "description: For tests\nqueue: gpus\n")
    (found,) = [finding for finding in findings_of(bundle) if finding.field == "queue"]
    assert (found.level, found.line) == ("warning", bundle.line_of("queue: gpus"))
    assert "has no queue 'gpus'; submissions wait in the queue 'default'" in found.message
    assert list(found.allowed) == ["default", "cpu", "gpu"]


@pytest.fixture
def lab(make_user: Callable[..., Any]) -> Any:
    """A queue of somebody's own."""
    return Queue.objects.create(name="lab", owner=make_user("kim"))


def wants_lab(bundle: Any) -> None:
    """The whole competition is to wait in it."""
    bundle.replace("description: For tests\n", "description: For tests\nqueue: lab\n")


def test_an_own_queue_may_be_named_by_its_owner_and_with_whom_it_is_shared(
    bundle: Any, lab: Any, make_user: Callable[..., Any]
) -> None:
    wants_lab(bundle)
    bundle.replace("    name: Final\n", "    name: Final\n    queue: cpu\n")
    friend = make_user()
    lab.organizers.add(friend)
    for organizer in (lab.owner, friend):
        competition, findings = import_with_warnings(
            bundle.root, organizer=organizer, publish=True, slug=str(organizer)
        )
        assert list(competition.phases.values_list("queue", flat=True)) == ["lab", "cpu"]
        assert findings == []


@pytest.mark.parametrize("imports", [True, False])
def test_anothers_queue_is_told_with_who_may_allow_it(
    bundle: Any, lab: Any, make_user: Callable[..., Any], imports: bool
) -> None:
    wants_lab(bundle)
    organizer = make_user()
    own = Queue.objects.create(name="own", owner=organizer)
    found = check_bundle(bundle.root, organizer=organizer if imports else None)
    (found,) = [finding for finding in found if finding.field == "queue"]
    assert (found.level, found.line) == ("warning", bundle.line_of("queue: lab"))
    assert "the queue 'lab' is kim's own, who has to share it" in found.message
    assert "submissions wait in the queue 'default'" in found.message
    assert list(found.allowed) == ["default", "cpu", "gpu", *([own.name] if imports else [])]
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert set(competition.phases.values_list("queue", flat=True)) == {"default"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ['"a\\0b"', "[lab]", "''", "LAB", "läb", "x" * 300])
def test_what_can_be_no_queue_is_told(bundle: Any, findings_of: Any, name: str) -> None:
    bundle.replace("description: For tests\n", f"description: For tests\nqueue: {name}\n")
    (found,) = [finding for finding in findings_of(bundle) if finding.field == "queue"]
    assert found.level == "warning"


def test_a_queue_that_is_taken_back_while_its_bundle_is_stored_is_not_used(
    bundle: Any, lab: Any, make_user: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wants_lab(bundle)
    friend = make_user()
    lab.organizers.add(friend)
    store_folder = services.store_folder

    def store_and_take_back(folder: Any) -> Any:
        lab.organizers.remove(friend)
        return store_folder(folder)

    monkeypatch.setattr(services, "store_folder", store_and_take_back)
    with pytest.raises(QueueNotUsable):
        import_bundle(bundle.root, organizer=friend, publish=True)
    assert not Competition.objects.exists()


def test_the_command_checks_for_the_organizer_that_it_is_given(bundle: Any, lab: Any) -> None:
    wants_lab(bundle)
    told = StringIO()
    call_command("import_competition", bundle.root, organizer="kim", stdout=StringIO(), stderr=told)
    assert told.getvalue() == ""
    assert set(Competition.objects.get().phases.values_list("queue", flat=True)) == {"lab"}


LLM = """\
    llm: {models: [small], provider: ours, per_episode: {tokens: 10}}
"""


def test_keys_that_own_workers_will_lack_are_told(bundle: Any, lab: Any, settings: Any) -> None:
    settings.MODEL_PROVIDERS = {"ours": Provider(url="https://example.org/v1", key=SecretStr("k"))}
    bundle.replace("    visibility: scores\n", f"    visibility: scores\n{LLM}")
    bundle.replace("    limits:\n", "    judge: {model: large, token_budget: 9}\n    limits:\n")

    def told() -> list[tuple[str, str, int | None]]:
        found = check_bundle(bundle.root, organizer=lab.owner)
        return [(one.level, one.field, one.line) for one in found if "none of the operator's keys" in one.message]

    assert told() == []
    wants_lab(bundle)
    assert told() == [
        ("warning", "phases[0].llm", bundle.line_of("llm: {")),
        ("warning", "phases[1].tasks", bundle.line_of("tasks: [0]") + 7 + 1),
    ]
    bundle.replace("    name: Development\n", "    name: Development\n    queue: gpu\n")
    assert [field for _, field, _ in told()] == ["phases[1].tasks"]


@pytest.mark.parametrize("names", ["", "a b", "Über", "x" * 65])
def test_the_operators_names_are_checked_at_the_start(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    monkeypatch.setenv("QUEUES", names)
    with pytest.raises(ImproperlyConfigured, match="QUEUES must be names"):
        names_of_queues("QUEUES", ["default"])


def test_each_name_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUES", "gpu,cpu,gpu")
    assert names_of_queues("QUEUES", ["default"]) == ["gpu", "cpu"]


def test_a_phase_takes_agents_or_results_and_not_both(bundle: Any, findings_of: Any) -> None:
    bundle.replace(
        "phases:\n", "  - {index: 1, name: Other, reference_data: reference, scoring_program: scoring}\nphases:\n"
    )
    bundle.replace("    tasks: [0]\n", "    tasks: [0, 1]\n")
    (found,) = [finding for finding in findings_of(bundle) if finding.level == "error"]
    assert found.field == "phases[0].tasks"
    assert "Make two phases" in found.message
