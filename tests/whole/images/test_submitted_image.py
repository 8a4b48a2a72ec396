"""A participant's container image, from `gauntlet submit` to the score: in both sandboxes, over the real platform."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import docker
from image_archives import agent_image, compressed

AGENT = """
while (e := next_episode()):
    status, reply = tool(e, "look_up")
    value = reply["result"]["structuredContent"]["value"]
    answer(e, f"It is {value}.", data={"value": value})
"""


def take_part(platform: Any, competition: Any, name: str) -> Any:
    """Somebody who takes part."""
    person = platform.person(name)
    address = f"/api/v1/competitions/{competition.slug}/join"
    person.api.post(address, json={"terms_accepted": True}).raise_for_status()
    return person


def submitted(said: str) -> str:
    """The id in the address that `gauntlet submit` prints."""
    return next(line for line in said.splitlines() if "/submissions/" in line).rstrip("/").rpartition("/")[2]


def test_an_image_is_checked_run_in_bubblewrap_and_scored(
    platform: Any, small_competition: Any, gauntlet: Any, own_images: Path, tmp_path: Path
) -> None:
    platform.configure(GAUNTLET_IMAGES=str(own_images))
    platform.start()
    competition = small_competition()
    ada = take_part(platform, competition, "ada")
    archive = tmp_path / "planner.tar.zst"
    archive.write_bytes(compressed(agent_image(AGENT), "zstd"))

    said = gauntlet(ada, "submit", "--image-archive", str(archive), "-c", competition.slug)
    evaluation = platform.wait_for_end(submitted(said))
    assert evaluation.state == "finished", (evaluation.failure_message, evaluation.log)
    assert evaluation.scores.get(key="own.score").value == 1.0
    submission = evaluation.submission
    assert (submission.name, submission.source) == ("planner", "command")

    # The page says what was found, to its owner.
    page = ada.api.get(f"/api/v1/submissions/{submission.pk}").raise_for_status().json()
    assert page["container"]["id"] == submission.agent["container"]["id"]
    assert page["container"]["layers"] == 2


def test_an_image_that_docker_has_is_saved_sent_run_in_docker_and_scored(
    platform: Any, small_competition: Any, gauntlet: Any, engine: None
) -> None:
    with contextlib.closing(docker.from_env()) as client:
        (image,) = client.images.load(agent_image(AGENT))
        image.tag("planner", tag="three")
        identity = image.id
        assert identity is not None
    platform.configure(SANDBOX="docker")
    platform.start()
    competition = small_competition()
    ada = take_part(platform, competition, "ada")

    said = gauntlet(ada, "submit", "--image", "planner:three", "-c", competition.slug, "--name", "From Docker")
    evaluation = platform.wait_for_end(submitted(said))
    assert evaluation.state == "finished", (evaluation.failure_message, evaluation.log)
    assert evaluation.scores.get(key="own.score").value == 1.0
    assert evaluation.submission.agent["container"]["id"] == identity
