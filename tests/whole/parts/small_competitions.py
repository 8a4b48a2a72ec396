"""Small competitions and agents, as bundles: questions whose answers are numbers, and an environment that knows."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Competition

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = Path(__file__).parents[1] / "fixtures"

MANIFEST = """\
version: 2
title: {title}
terms: terms.md
registration_auto_approve: true
pages:
  - {{title: Overview, file: overview.md}}
tasks:
{tasks}
phases:
{phases}
leaderboards:
  - title: Results
    key: results
    submission_rule: Force_Best
    columns:
      - {{index: 0, key: score, title: Score, from: rubric.score, interval: bootstrap}}
"""
TASK = """\
  - index: {index}
    name: Task {index}
    environment: environment
    input_data: data-{index}
    scenarios: scenarios-{index}.jsonl
    reference_data: reference-{index}
    scoring_programs: [{programs}]
    limits: {{episode_seconds: 60}}{scorer}
"""
PHASE = """\
  - index: {index}
    name: Phase {index}
    start: "2024-01-01"
    tasks: [{task}]
    max_submissions_per_day: 100
    max_submissions: 1000
    visibility: {visibility}
"""


@dataclass
class SmallTask:
    """Scenarios by key with their texts, and what a test changes of their ground truth."""

    texts: dict[str, str]
    public: bool = True
    truth: Callable[[str], dict[str, Any]] = lambda key: {}
    programs: str = "rubric"
    scorer_image: str = ""


def write_competition(
    folder: Path, tasks: list[SmallTask], phases: list[tuple[int, str]], *, title: str = "Small"
) -> Path:
    """Write a bundle with these tasks, and phases given as (task, visibility). The answer is always a number."""
    shutil.copytree(FIXTURES / "environment", folder / "environment")
    (folder / "terms.md").write_text("Be fair.\n")
    (folder / "overview.md").write_text("A few questions.\n")
    for index, task in enumerate(tasks):
        _write_task(folder, index, task)
    manifest = MANIFEST.format(
        title=title,
        tasks="".join(
            TASK.format(index=index, programs=task.programs, scorer=_scorer(task)) for index, task in enumerate(tasks)
        ),
        phases="".join(
            PHASE.format(index=index, task=task, visibility=visibility)
            for index, (task, visibility) in enumerate(phases)
        ),
    )
    (folder / "competition.yaml").write_text(manifest)
    return folder


def _scorer(task: SmallTask) -> str:
    return f"\n    scorer_image: {task.scorer_image}" if task.scorer_image else ""


def value_of(key: str) -> int:
    """The right answer to a scenario."""
    return sum(key.encode())


def _write_task(folder: Path, index: int, task: SmallTask) -> None:
    (folder / f"data-{index}").mkdir()
    (folder / f"reference-{index}").mkdir()
    (folder / f"data-{index}/values.json").write_text(json.dumps({key: value_of(key) for key in task.texts}))
    scenarios = [{"id": key, "text": text, "public": task.public} for key, text in task.texts.items()]
    truths = [{**_truth(key, text), **task.truth(key)} for key, text in task.texts.items()]
    for path, rows in ((f"scenarios-{index}.jsonl", scenarios), (f"reference-{index}/ground_truth.jsonl", truths)):
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _truth(key: str, text: str) -> dict[str, Any]:
    return {
        "id": key,
        "text": text,
        "type": "IoT",
        "category": "Data Query",
        "deterministic": True,
        "characteristic_form": "A number.",
        "planning_steps": [{"agent": "IoTAgent", "instruction": "Look."}],
        "execution_steps": [{"name": "end", "action": "Finish", "agent": "IoTAgent", "arguments": {}}],
        "execution_links": [],
        "checks": {
            "task_completion": [{"kind": "contains_fields", "paths": ["value"]}],
            "data_retrieval_accuracy": [{"kind": "called", "tool": "look_up"}],
            "result_verification": [{"kind": "number", "path": "value", "value": value_of(key)}],
        },
    }


@dataclass
class Workshop:
    """Makes competitions and agent bundles for tests."""

    folder: Path
    count: int = 0

    def competition(
        self,
        organizer: User,
        tasks: list[SmallTask],
        phases: list[tuple[int, str]],
        *,
        programs: dict[str, dict[str, str]] | None = None,
    ) -> Any:
        """Write a bundle, with scoring programs of its own by their folders, and import it, published."""
        folder = self.written(tasks, phases)
        for name, files in (programs or {}).items():
            for file, text in files.items():
                (folder / name).mkdir(exist_ok=True)
                (folder / name / file).write_text(text)
        return self.imported(folder, organizer)

    def written(self, tasks: list[SmallTask], phases: list[tuple[int, str]]) -> Path:
        """Write a bundle, to be changed before it is imported."""
        return write_competition(self.next_folder(), tasks, phases)

    def imported(self, bundle: Path, organizer: User) -> Competition:
        """Import a bundle under a name of its own."""
        from gauntlet.competitions.services import import_bundle

        return import_bundle(bundle, organizer=organizer, publish=True, slug=bundle.name)

    def next_folder(self) -> Path:
        """An empty folder."""
        self.count += 1
        folder = self.folder / f"competition-{self.folder.name}-{self.count}".lower()
        folder.mkdir()
        return folder

    def agent(self, solve: str) -> bytes:
        """A bundle around the body of ``solve(episode)``."""
        body = "".join(f"    {line}\n" for line in solve.splitlines())
        program = f"import time\nfrom gauntlet_agent import run\n\n\ndef solve(episode):\n{body}\n\nrun(solve)\n"
        return self.zip({"agent.yaml": "name: Agent\ncommand: [python, agent.py]\n", "agent.py": program})

    def zip(self, files: Mapping[str, str | bytes]) -> bytes:
        """A zip of these files."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return content.getvalue()

    def zip_folder(self, folder: Path) -> bytes:
        """A zip of a folder, as a participant makes it."""
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".yaml", ".md")]
        return self.zip({str(path.relative_to(folder)): path.read_text() for path in paths})

    def generated(self, script: str, *arguments: str) -> Path:
        """A bundle by one of the quickstart's generators."""
        out = self.next_folder()
        command = [sys.executable, str(ROOT / "competitions/quickstart/generator" / script), "--out", str(out)]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
        return out
