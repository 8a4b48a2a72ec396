"""Writes the whole competition: a bundle folder that the platform imports, and the starting kit in it."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from gauntlet_scoring.validation.vocabulary import VOCABULARY_FILE
from quickstart_generator.domain import plant_vocabulary
from quickstart_generator.manifest import Calendar, TaskEntry, competition_manifest, single_task_manifest
from quickstart_generator.oracle import PlantOracle
from quickstart_generator.plant import make_plant
from quickstart_generator.question import ground_truth_of, scenario_of
from quickstart_generator.scenario_set import HIDDEN, PUBLIC, Asked, draw_set

COMPETITION: Final = Path(__file__).resolve().parents[2]
SECRET_BYTES: Final = 16


@dataclass(frozen=True)
class TaskFolders:
    """Where a task's parts lie below the bundle."""

    name: str

    @property
    def data(self) -> str:
        """The environment's tables."""
        return f"data/{self.name}"

    @property
    def scenarios(self) -> str:
        """The questions."""
        return f"scenarios/{self.name}.jsonl"

    @property
    def reference(self) -> str:
        """The folder with the ground truth."""
        return f"reference/{self.name}"


def make_competition(out: Path, *, secret: bytes, seed: int = 1, calendar: Calendar | None = None) -> None:
    """Write the competition's bundle into the new or empty folder ``out``.

    The public plant and questions depend on the seed alone. The plant and the questions of the test phase come from
    the secret: without it neither can be computed from this repository.

    Raises:
        ValueError: the secret is shorter than 16 bytes, or the folder is not empty.
    """
    if len(secret) < SECRET_BYTES:
        raise ValueError(f"the secret must have at least {SECRET_BYTES} bytes; it has {len(secret)}")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty")
    out.mkdir(parents=True, exist_ok=True)
    public, hidden = TaskFolders("development"), TaskFolders("test")
    open_key = hashlib.sha256(b"gauntlet quickstart, public").digest()
    _write_task(out, public, key=_derive(open_key, "development", seed), wanted=PUBLIC, public=True)
    _write_task(out, hidden, key=_derive(secret, "test", seed), wanted=HIDDEN, public=False)
    copy_program(out)
    shutil.copytree(COMPETITION / "pages", out / "pages")
    shutil.copyfile(COMPETITION / "terms.md", out / "terms.md")
    _write_kit(out, public)
    tasks = [
        TaskEntry(0, "Public plant", public.data, public.scenarios, public.reference),
        TaskEntry(1, "Hidden plant", hidden.data, hidden.scenarios, hidden.reference),
    ]
    write_yaml(out / "competition.yaml", competition_manifest(tasks, calendar or Calendar()))


def copy_program(out: Path) -> None:
    """Copy the environment, without what running it left behind."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    shutil.copytree(COMPETITION / "environment", out / "environment", ignore=ignore)


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_yaml(path: Path, content: dict[str, Any]) -> None:
    """Write YAML in the order of the keys."""
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8", newline="\n")


def _derive(key: bytes, purpose: str, seed: int) -> str:
    return hmac.new(key, f"gauntlet quickstart 1 {purpose} {seed}".encode(), hashlib.sha256).hexdigest()


def _write_task(out: Path, folders: TaskFolders, *, key: str, wanted: dict[str, int], public: bool) -> None:
    plant = make_plant(out / folders.data, random.Random(f"{key} plant"))  # noqa: S311 - seeded, not for secrecy
    oracle = PlantOracle(out / folders.data)
    rng = random.Random(f"{key} questions")  # noqa: S311 - the secret is in the key, not in the generator
    asked = draw_set(plant, oracle, rng=rng, wanted=wanted, prefix="dev" if public else "test")
    write_questions(out, folders, asked, public=public)


def write_questions(out: Path, folders: TaskFolders, asked: Sequence[Asked], *, public: bool) -> None:
    """Write the questions and, apart from them, their ground truth with what it may name."""
    write_lines(out / folders.scenarios, [scenario_of(one.question, one.key, public=public) for one in asked])
    truths = [ground_truth_of(one.question, one.key, twin=one.twin) for one in asked]
    rows = [truth.model_dump(mode="json", exclude_none=True) for truth in truths]
    write_lines(out / folders.reference / "ground_truth.jsonl", rows)
    vocabulary = plant_vocabulary().model_dump_json(indent=1, exclude_defaults=True)
    (out / folders.reference / VOCABULARY_FILE).write_text(vocabulary + "\n", encoding="utf-8")


def _write_kit(out: Path, folders: TaskFolders) -> None:
    """Write what a participant needs to run the public task at home: `gauntlet test` reads its competition.yaml."""
    kit = out / "starting_kit"
    kit.mkdir()
    copy_program(kit)
    shutil.copytree(out / folders.data, kit / "data")
    shutil.copytree(out / folders.reference, kit / "reference")
    shutil.copyfile(out / folders.scenarios, kit / "scenarios.jsonl")
    shutil.copytree(COMPETITION / "pages", kit / "pages")
    shutil.copyfile(COMPETITION / "terms.md", kit / "terms.md")
    shutil.copyfile(COMPETITION / "starting_kit.md", kit / "README.md")
    task = TaskEntry(0, "Public plant", "data", "scenarios.jsonl", "reference")
    manifest = single_task_manifest(task, title="A plant asks: starting kit", description="Twenty public questions.")
    write_yaml(kit / "competition.yaml", manifest)
