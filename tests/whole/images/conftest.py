"""A platform that runs participants' images, in either sandbox; and a Docker engine where they come from."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCORE = """
import json
rows = [json.loads(line) for line in open("/app/input/res/episodes.jsonl")]
events = [[json.loads(line) for line in open("/app/input/res/" + row["trajectory"])] for row in rows]
said = [next(event["data"]["value"] for event in record if event["kind"] == "answer") for record in events]
right = [value == sum(row["scenario"].encode()) for row, value in zip(rows, said)]
json.dump({"score": sum(right) / len(right)}, open("/app/output/scores.json", "w"))
"""


@pytest.fixture(scope="session")
def engine() -> Iterator[None]:
    """A Docker engine with the sandbox images: the host's, or one that is stopped afterwards."""
    place = ROOT / "tests/benchmarks/docker_engine.py"
    spec = importlib.util.spec_from_file_location("engine_of_measurements", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.docker_engine() as missing:
        assert missing is None, missing
        yield


@pytest.fixture
def own_images(tmp_path: Path) -> Path:
    """An images folder with the operator's images, and room for those of participants."""
    folder = tmp_path / "images"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "gauntlet").symlink_to(Path(os.environ["GAUNTLET_IMAGES"]).resolve() / "gauntlet")
    return folder


@pytest.fixture
def small_competition(platform: Any, workshop: Any, small_task: Any) -> Callable[[], Any]:
    """A competition of two questions, whose scoring program needs nothing but a Python."""

    def make() -> Any:
        folder = workshop.written([small_task({"a": "What is a?", "b": "What is b?"}, programs="own")], [(0, "full")])
        manifest = folder / "competition.yaml"
        text = manifest.read_text().replace("from: rubric.score, interval: bootstrap", "from: own.score")
        manifest.write_text(text.replace("    input_data:", "    scorer_image: gauntlet/base\n    input_data:", 1))
        (folder / "own").mkdir()
        (folder / "own/score.py").write_text(SCORE)
        (folder / "own/metadata.yaml").write_text("command: python3 score.py\n")
        return workshop.imported(folder, platform.person("organizer").user)

    return make


@pytest.fixture
def gauntlet(platform: Any, tmp_path: Path) -> Callable[..., str]:
    """Type a command as a participant; what it printed."""

    def typed(person: Any, *words: str) -> str:
        environment = {
            **os.environ,
            "GAUNTLET_SERVER": platform.base,
            "GAUNTLET_TOKEN": person.api.headers["Authorization"].removeprefix("Bearer "),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
        }
        program = Path(sys.executable).with_name("gauntlet")
        done = subprocess.run([program, *words], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return typed
