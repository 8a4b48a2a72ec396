"""An agent that is a container image goes through its episodes as any other: both backends, the same door."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from image_archives import agent_image

from gauntlet_runtime.container_images import ImageLimits, check_image
from gauntlet_runtime.jobs import AgentSpec, ContainerSpec
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_scoring.trajectory import Outcome

AGENT = """
import os, socket
while (e := next_episode()):
    status, reply = tool(e, "echo", text="hello from an image")
    door = socket.socket(socket.AF_UNIX)
    door.connect(os.environ["GAUNTLET_SOCKET"])
    say(status, os.getcwd(), os.environ.get("MINE"), os.environ["HOME"], os.path.exists("/app/program"))
    answer(e, "done " + e["scenario"]["text"])
"""


@pytest.fixture(params=["bubblewrap", "docker"])
def own_room(request: pytest.FixtureRequest, room: Any, images_folder: Path, state_folder: Path, tmp_path: Path) -> Any:
    """Run jobs in one of the two backends, with room for participants' images."""
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
    images = tmp_path / "images"
    images.mkdir()
    images.chmod(0o755)
    (images / "gauntlet").symlink_to(images_folder / "gauntlet")
    room.sandbox = open_sandbox(request.param, state=state_folder, images=images)
    return room


def spec_of(room: Any, archive: bytes, folder: Path, **given: Any) -> Any:
    """A run job whose agent is this image."""
    image = check_image(io.BytesIO(archive), folder / "image", work=folder, limits=ImageLimits())
    agent = AgentSpec(
        bundle=room.artifacts.keep((folder / "image").read_bytes(), form="file"),
        command=image.command,
        container=ContainerSpec(id=image.id, environment=image.environment, working_directory=image.working_directory),
    )
    return room.spec("", **given).model_copy(update={"agent": agent})


def test_an_agent_in_an_image_answers_its_episodes(own_room, tmp_path):
    environment = ["MINE=1", "HOME=/evil", "GAUNTLET_URL=http://127.0.0.1:1/", "GAUNTLET_SOCKET=/evil"]
    spec = spec_of(own_room, agent_image(AGENT, Env=environment), tmp_path, keys=["a", "b"])
    outcome = own_room.run(spec)
    assert [one.outcome for one in outcome.episodes] == [Outcome.ANSWERED] * 2, outcome.result.log
    assert outcome.said == [200, "/app", "1", "/tmp", False] * 2
    assert "tool_result" in outcome.kinds()
    assert outcome.result.provenance["image.agent"] == spec.agent.container.id


def test_an_agent_in_an_image_that_crashes_is_told_so(own_room, tmp_path):
    spec = spec_of(own_room, agent_image("next_episode()\nraise SystemExit(3)"), tmp_path)
    (episode,) = own_room.run(spec).episodes
    assert (episode.outcome, episode.failure.value) == (Outcome.FAILED, "agent_error")
