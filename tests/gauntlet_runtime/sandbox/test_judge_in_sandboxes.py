"""A scoring program reaches its judge in both backends, and its key in none."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from judge_room import Bank, JudgeRoom
from model_server import KEY, model_server

from gauntlet_runtime.sandbox import open_sandbox


@pytest.fixture(params=["bubblewrap", "docker"])
def judged_anywhere(
    request: pytest.FixtureRequest, room: Any, images_folder: Path, state_folder: Path
) -> Iterator[JudgeRoom]:
    """Score jobs in one of the two backends."""
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
    room.sandbox = open_sandbox(request.param, state=state_folder, images=images_folder)
    with model_server() as server:
        yield JudgeRoom(room=room, server=server, bank=Bank(url=server.url))


def test_a_program_reaches_its_judge_and_nothing_of_its_key(judged_anywhere):
    script = """
import subprocess
say(ask("/models")[1]["data"][0]["id"], chat("hello"), os.environ["GAUNTLET_JUDGE"], os.environ["OPENAI_API_KEY"])
say(*(os.environ[f"GAUNTLET_JUDGE_{name}"] for name in ("MODEL", "RUNS", "TEMPERATURE", "CONCURRENCY")))
say(json.dumps(dict(os.environ)))
say(Path("/proc/net/tcp").read_text().count(" 0A "))
done()
"""
    result = judged_anywhere.score(script)
    *said, environment, listening = judged_anywhere.said(result)
    assert said == ["wise", [200, "answer 1 to hello"], "llm", "none", "wise", "5", "0.3", "8"]
    assert KEY not in environment
    assert listening == 1  # on its own loopback, and nothing else
    assert result.programs[0].provenance["judge.model"] == "wise"
    assert result.programs[0].provenance["judge.provider"] == "ours"
    assert KEY not in result.model_dump_json()
    (settled,) = judged_anywhere.bank.settled
    assert (settled.paid, settled.tokens, settled.cost) == (True, 5, Decimal(1 * 1 + 2 * 4) / 10**6)
