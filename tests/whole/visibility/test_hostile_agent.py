"""An agent that looks for everything it must not have, in its sandbox and at its door, and says what it found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.visibility, pytest.mark.timeout(600)]
SPY = Path(__file__).parent / "spy"


@pytest.fixture(scope="module")
def findings(world: Any, module_workshop: Any) -> list[dict[str, Any]]:
    """What the spy said of each of its episodes, while another submission ran beside it."""
    from gauntlet.trajectories.reading import events

    bundle = module_workshop.zip_folder(SPY)
    spied = world.rival.submit(world.competition, 1, bundle)
    beside = world.owner.submit(world.competition, 1, module_workshop.agent("time.sleep(2)\nreturn 'beside'"))
    for submission in (spied, beside):
        assert world.platform.wait_for_end(submission, patience=300).state == "finished"
    told = []
    for episode in world.platform.evaluation(spied).episodes.select_related("trajectory", "scenario"):
        from gauntlet.storage.services import open_artifact

        assert episode.outcome == "answered", episode.failure_message
        with open_artifact(episode.trajectory) as archive:
            (answer,) = [event for event in events(archive) if event.kind == "answer"]
        told.append({**answer.data, "scenario": episode.scenario})
    return told


def test_it_looked_everywhere(findings):
    assert len(findings) == 3
    for one in findings:
        assert one["files"] > 1000, "it read next to nothing"
        assert one["requests"] > 40
        assert one["places"] >= 8


def test_it_found_nothing_but_the_texts_it_was_given(findings, world):
    given = set(world.canaries.of("hiddentext"))
    for one in findings:
        assert set(one["canaries"]) <= given, one["canaries"]
    # One job is one sandbox: it has met some of its own scenarios before. The first it met alone.
    first = min(findings, key=lambda one: one["met"])
    assert set(first["canaries"]) == {text for text in given if text in first["scenario"].text}


def test_only_its_own_door_listens_in_its_network(findings):
    for one in findings:
        assert one["ports"] == [8080]


def test_neither_other_processes_nor_secrets_of_the_platform_were_there(findings, world):
    from django.conf import settings

    installation = world.platform.installation
    secrets = (
        *(settings.SECRET_KEY, settings.GAUNTLET_SECRET, str(installation.var), str(settings.BASE_DIR)),
        *(installation.urls.database_url.split("@")[0], installation.urls.broker_url.split("@")[0]),
    )
    for one in findings:
        told = json.dumps({name: value for name, value in one.items() if name != "scenario"})
        assert [secret for secret in secrets if secret in told] == []
        assert not [name for name in one["environment"] if name.startswith(("DATABASE", "BROKER", "SECRET", "DJANGO"))]
        words = json.dumps(one["processes"])
        for foreign in ("postgres", "valkey", "celery", "uvicorn", "server.py", "score.py"):
            assert foreign not in words
        # Process 1 is the sandbox's own: bubblewrap, which root started. Everything else is an unprivileged account's.
        assert [pid for pid, uid in one["uids"] if uid == 0] in ([], [1])
        assert {pid for pid, _ in one["uids"]} - {1}


def test_what_it_said_reaches_the_organizer_and_not_its_owner(findings, world, leaks):
    submission = world.rival.api.get("/api/v1/submissions").json()["results"][0]["id"]
    for address in (f"/api/v1/submissions/{submission}", f"/api/v1/submissions/{submission}/log"):
        content = world.rival.api.get(address).content
        assert leaks(content, world.canaries.of("hiddentext")) == []
    log = world.session(world.organizer).get(f"/api/v1/submissions/{submission}/log").text
    assert "spy found" in log
