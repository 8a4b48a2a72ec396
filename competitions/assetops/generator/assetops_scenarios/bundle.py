"""Writes a track of the competition: a bundle folder that the platform imports, and the starting kit in it."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from assetops_data import Injected, Size, write_site

from assetops_scenarios.manifest import TRACKS, Rules, Task, kit_manifest, track_manifest
from assetops_scenarios.picking import Picker
from assetops_scenarios.question import Question, scenario_of, show_agents, show_answer
from assetops_scenarios.records import Records
from assetops_scenarios.scenario_set import Asked, draw_set
from assetops_scenarios.truth import ground_truth_of
from gauntlet_scoring.validation import ASSETOPS

COMPETITION: Final = Path(__file__).resolve().parents[2]
SECRET_BYTES: Final = 16
PUBLIC_QUESTIONS: Final = 47
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", ".*", "tests")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much a track asks and records: questions of each phase (None: the whole set of 141), and the sites' size."""

    public: int | None = PUBLIC_QUESTIONS
    hidden: int | None = None
    site: Size = field(default_factory=Size)


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A task's questions and where they lie."""

    task: Task
    asked: list[Asked]
    switches: dict[str, bool]


def make_competition(
    out: Path,
    *,
    track: str,
    secret: bytes,
    seed: int = 1,
    distractors: bool = False,
    rules: Rules | None = None,
    scale: Scale | None = None,
) -> None:
    """Write a track's bundle into the new or empty folder ``out``.

    The public site and questions depend on the seed alone. The site and the questions of the test phase come from the
    secret: without it neither can be computed from this repository.

    Args:
        out: the bundle's folder
        track: ``planning`` or ``execution``
        secret: of the installation, at least 16 bytes
        seed: another one gives other sites and questions
        distractors: a second test phase asks the same questions with the ten distractors among the tools
        rules: models, judge, trials and dates
        scale: how many questions, how large sites

    Raises:
        ValueError: no such track, the secret is too short, or the folder is not empty.
    """
    _check(out, track=track, secret=secret)
    rules, scale = rules or Rules(), scale or Scale()
    out.mkdir(parents=True, exist_ok=True)
    open_key = hashlib.sha256(b"gauntlet assetops, public").digest()
    public = _make(
        out, "development", track=track, size=scale.public, site=scale.site, key=_derive(open_key, track, seed)
    )
    hidden = _make(out, "test", track=track, size=scale.hidden, site=scale.site, key=_derive(secret, track, seed))
    made = [public, hidden, *([_with_distractors(out, hidden, track)] if distractors else [])]
    _copy_program(out)
    _copy_texts(out, track)
    _write_kit(out, public, track=track)
    questions = [one.question for each in made for one in each.asked]
    write_yaml(out / "competition.yaml", track_manifest(track, [one.task for one in made], questions, rules))


def _check(out: Path, *, track: str, secret: bytes) -> None:
    if track not in TRACKS:
        raise ValueError(f"there is no track {track!r}; there are {' and '.join(TRACKS)}")
    if len(secret) < SECRET_BYTES:
        raise ValueError(f"the secret must have at least {SECRET_BYTES} bytes; it has {len(secret)}")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty")


def _derive(secret: bytes, track: str, seed: int) -> bytes:
    """What everything of a task comes from. The tracks differ: one gives nothing of the other away."""
    return hmac.new(secret, f"assetops {track} {seed}".encode(), hashlib.sha256).digest()


def _make(out: Path, name: str, *, track: str, size: int | None, site: Size, key: bytes) -> _Made:
    public = name == "development"
    switches = {"tools": track == "execution", "distractors": False}
    data = out / "data" / name
    recorded = write_site(data, seed=key, size=site, switches=switches)
    picker = picker_of(data, key=key, injected=recorded.injected)
    asked = draw_set(picker, size=size, prefix="dev" if public else "test")
    if track == "execution":
        write_datasets(data, asked)
    else:  # without tools nobody reads what sensors recorded, which is nearly all of a site's bytes
        shutil.rmtree(data / "telemetry")
    task = Task(
        index=0 if public else 1,
        name="Development" if public else "Test",
        data=f"data/{name}",
        scenarios=f"scenarios/{name}.jsonl",
        reference=f"reference/{name}",
        questions=len(asked),
        public=public,
    )
    made = _Made(task=task, asked=asked, switches=switches)
    _write_questions(out, made, track=track)
    return made


def picker_of(data: Path, *, key: bytes, injected: Sequence[Injected] = ()) -> Picker:
    """What questions about the records in ``data`` are drawn from."""
    rng = random.Random(hmac.new(key, b"questions", hashlib.sha256).hexdigest())  # noqa: S311 - the key is the secret
    return Picker(Records(data), rng, injected=tuple(injected))


def write_datasets(data: Path, asked: Sequence[Asked]) -> None:
    """Write the files of readings that questions name, as the telemetry has them."""
    for dataset in {dataset for one in asked for dataset in one.question.datasets}:
        with (data / "telemetry" / f"{dataset.machine.id}.csv").open(encoding="utf-8") as source:
            head, *rows = source
        first, last = dataset.days.start.isoformat(), f"{dataset.days.end.isoformat()}~"
        path = data / "datasets" / dataset.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + "".join(row for row in rows if first <= row <= last), encoding="utf-8")


def _with_distractors(out: Path, made: _Made, track: str) -> _Made:
    """The same questions about the same site, with the distractors among the tools."""
    name = "test_distractors"
    shutil.copytree(out / made.task.data, out / "data" / name)
    task = Task(
        index=2,
        name="Test with distractors",
        data=f"data/{name}",
        scenarios=f"scenarios/{name}.jsonl",
        reference=made.task.reference,
        questions=made.task.questions,
        public=False,
    )
    again = _Made(task=task, asked=made.asked, switches={**made.switches, "distractors": True})
    (out / task.data / "environment.json").write_text(
        json.dumps(again.switches, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    _write_scenarios(out, again, track=track)
    return again


def _write_questions(out: Path, made: _Made, *, track: str) -> None:
    """The questions and, apart from them, their ground truth with the domain's vocabulary."""
    _write_scenarios(out, made, track=track)
    reference = out / made.task.reference
    truths = [ground_truth_of(one.question, one.key, twin=one.twin) for one in made.asked]
    write_lines(reference / "ground_truth.jsonl", [one.model_dump(mode="json", exclude_none=True) for one in truths])
    (reference / "vocabulary.json").write_text(ASSETOPS.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _write_scenarios(out: Path, made: _Made, *, track: str) -> None:
    write_lines(
        out / made.task.scenarios,
        [
            scenario_of(one.question, one.key, public=made.task.public, show=_show(one.question, track, made.switches))
            for one in made.asked
        ],
    )


def _show(question: Question, track: str, switches: dict[str, bool]) -> dict[str, Any]:
    return show_answer(question) if track == "execution" else show_agents(distractors=switches["distractors"])


def _copy_program(out: Path) -> None:
    shutil.copytree(COMPETITION / "environment", out / "environment", ignore=_LEFT_OUT)


def _copy_texts(out: Path, track: str) -> None:
    """The pages of the track and those of both."""
    (out / "pages").mkdir()
    for page in sorted((COMPETITION / "pages").glob("*.md")):
        if page.name.partition("_")[0] not in set(TRACKS) - {track}:
            shutil.copyfile(page, out / "pages" / page.name)
    shutil.copyfile(COMPETITION / "terms.md", out / "terms.md")


def _write_kit(out: Path, made: _Made, *, track: str) -> None:
    """What a participant needs to run the public task at home: `gauntlet test` reads its competition.yaml."""
    kit = out / "starting_kit"
    kit.mkdir()
    _copy_program(kit)
    _copy_texts(kit, track)
    shutil.copytree(out / made.task.data, kit / "data")
    shutil.copytree(out / made.task.reference, kit / "reference")
    shutil.copyfile(out / made.task.scenarios, kit / "scenarios.jsonl")
    shutil.copyfile(COMPETITION / "starting_kit.md", kit / "README.md")
    task = Task(
        index=0,
        name="Development",
        data="data",
        scenarios="scenarios.jsonl",
        reference="reference",
        questions=made.task.questions,
        public=True,
    )
    write_yaml(kit / "competition.yaml", kit_manifest(track, task, [one.question for one in made.asked]))


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write JSON Lines, one object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_yaml(path: Path, content: dict[str, Any]) -> None:
    """Write a manifest, its keys in the order in which people read them."""
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
