"""Tasks: environment, scenarios, reference data, scoring programs, limits."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils.text import slugify

from gauntlet.competitions.bundle.document import Section, Value, storable
from gauntlet.competitions.bundle.files import BundleFiles
from gauntlet.competitions.bundle.findings import Place, suggestion
from gauntlet.competitions.bundle.judge import read_judge
from gauntlet.competitions.bundle.plan import ProgramPlan, ScenarioPlan, TaskPlan
from gauntlet.competitions.bundle.scenarios import GROUND_TRUTH, check_ground_truth, read_scenarios
from gauntlet.competitions.bundle.settings_of_programs import with_settings
from gauntlet.competitions.bundle.tags import with_tags
from gauntlet.competitions.models import Sorting
from gauntlet_scoring.program_metadata import METADATA_FILES, CodeTool, ProgramMetadataError, read_program_metadata

_UNIT: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_SIZES: Final = frozenset({"answer_bytes", "record_bytes", "memory", "scratch", "output", "log"})
_LEAST: Final = {"memory": 16 << 20, "cpus": 0.01}  # with less no sandbox starts, and that would be nobody's fault
_WHOLE: Final = frozenset({"turns", "tool_calls", "parallel_tool_calls", "processes"})
_VERSIONED: Final = re.compile(r"([\w.-]+?)\s*(?:==|@|\s)\s*(\d[\w.]*)", re.ASCII)
# Keys of Codabench whose effect this version does not have; that they are kept is told.
_KEPT: Final = {
    "ingestion_program": "is kept and not run: this task has an environment.",
    "ingestion_only_during_scoring": "is kept and has no effect: no ingestion program is run.",
}
# Of a task that takes agents only: with one of these, the environment was forgotten.
_OF_AGENTS: Final = ("scenarios", "sandbox_image")


def read_tasks(root: Section, files: BundleFiles) -> tuple[list[TaskPlan], set[int], dict[str, object]]:
    """The tasks that are right, the indexes of all (also of the wrong ones), and what is kept of them."""
    tasks: list[TaskPlan] = []
    kept: dict[str, object] = {}
    indexes: set[int] = set()
    open_reports = root.flag("enable_detailed_results", default=False)
    sections = root.sections("tasks")
    if not sections:
        root.findings.error(root.where("tasks"), "must list at least one task.")
    for section in sections:
        index = value.integer(most=32767) if (value := section.needed("index")) else None
        if index in indexes:
            section.findings.error(section.where("index"), f"the index {index} is taken by another task.")
        if index is not None:
            indexes.add(index)
        task, extras = _task(section, files, index=index or 0, open_reports=open_reports)
        if extras:
            kept[str(index)] = extras
        if task:
            tasks.append(task)
        section.close()
    return sorted(tasks, key=lambda task: task.index), indexes, kept


def _task(
    section: Section, files: BundleFiles, *, index: int, open_reports: bool
) -> tuple[TaskPlan | None, dict[str, object]]:
    findings = section.findings
    before = len(findings.errors)
    if key := section.get("key"):
        findings.error(key.place, "tasks of other competitions cannot be used; put the task's files into the bundle.")
    name = section.text("name", required=True, longest=256)
    description = section.text("description")
    sandbox_image = section.text("sandbox_image", default="gauntlet/agent", longest=128)
    scorer_image = section.text("scorer_image", default="gauntlet/scorer", longest=128)
    limits = _limits(section)
    judge = read_judge(section)
    takes_results = _takes_results(section)
    environment = None if takes_results else _environment(section, files)
    input_data = files.folder(section, "input_data")
    scenarios = [] if takes_results else _scenarios(section, files)
    reference = files.folder(section, "reference_data", required=not takes_results)
    if reference and scenarios and len(findings.errors) == before:
        file = files.relative(reference / GROUND_TRUTH)
        shown = _scenarios_path(section, files)
        scenarios_file = files.relative(shown) if shown else ""
        check_ground_truth(reference, scenarios, file=file, scenarios_file=scenarios_file, findings=findings)
    programs = _programs(section, files)
    _check_judge(section, programs, judge)
    extras = section.kept(_KEPT)
    if len(findings.errors) > before:
        return None, extras
    task = TaskPlan(
        index=index,
        name=name,
        description=description,
        environment=environment.folder if environment else None,
        environment_command=environment.command if environment else [],
        code_tool=environment.code_tool if environment else None,
        input_data=input_data,
        reference_data=reference,
        scenarios=with_tags(scenarios, reference / GROUND_TRUTH) if reference and scenarios else scenarios,
        programs=programs,
        sandbox_image=sandbox_image,
        scorer_image=scorer_image,
        limits=limits,
        judge=judge,
        open_reports=open_reports,
    )
    return task, extras


def _takes_results(section: Section) -> bool:
    """Whether participants submit results, which are scored as they are: Codabench's task without ingestion."""
    return all(section.get(key) is None for key in ("environment", "ingestion_program", *_OF_AGENTS))


def _scenarios(section: Section, files: BundleFiles) -> list[ScenarioPlan]:
    section.needed("scenarios")
    path = _scenarios_path(section, files)
    return read_scenarios(path, file=files.relative(path), findings=section.findings) if path else []


def _scenarios_path(section: Section, files: BundleFiles) -> Path | None:
    value = section.get("scenarios")
    return files.file(value) if value else None


@dataclass(frozen=True)
class _Environment:
    """The environment's folder, and what its metadata says."""

    folder: Path
    command: list[str]
    code_tool: CodeTool | None = None


def _environment(section: Section, files: BundleFiles) -> _Environment | None:
    value = section.get("environment")
    if value is None:
        message = (
            "is missing: this version runs agents against an environment (a folder of an MCP program), and scores "
            "results as they are where a task has neither scenarios nor an ingestion program; it runs no ingestion."
        )
        section.findings.error(section.where("environment"), message)
        return None
    folder = files.folder_of(value)
    if folder is None:
        return None
    if not any((folder / name).is_file() for name in METADATA_FILES):
        if not (folder / "server.py").is_file():
            allowed = ["metadata.yaml with `command: …`", "server.py"]
            section.findings.error(value.place, "the folder does not say how it is started.", allowed=allowed)
        return _Environment(folder, ["python", "server.py"])
    try:
        metadata = read_program_metadata(folder)
        command = shlex.split(metadata.command)
        if all(storable(word) for word in command):
            return _Environment(folder, command, metadata.code_tool)
        raise ValueError("the command holds characters that cannot be stored")
    except (ProgramMetadataError, ValueError) as error:
        section.findings.error(_metadata_place(folder, files), str(error))
        return None


def _metadata_place(folder: Path, files: BundleFiles) -> Place:
    name = next((name for name in METADATA_FILES if (folder / name).is_file()), METADATA_FILES[0])
    return Place(files.relative(folder / name), 1, "command")


def _programs(section: Section, files: BundleFiles) -> list[ProgramPlan]:
    """Gauntlet's list of scoring programs, or Codabench's one."""
    single = section.get("scoring_program")
    values = section.values("scoring_programs") + ([single] if single else [])
    if not values:
        section.findings.error(section.where("scoring_programs"), "must name at least one.", allowed=_built_in())
    programs: dict[str, ProgramPlan] = {}
    for value in values:
        program = _program(value, files)
        if program is None:
            continue
        if program.key in programs:
            section.findings.error(value.place, f"the key '{program.key}' is taken; give another with `key: …`.")
        programs[program.key] = program
    return list(programs.values())


def _check_judge(section: Section, programs: list[ProgramPlan], judge: dict[str, Any] | None) -> None:
    """A program that is nothing without a language model needs the task to name one."""
    for program in programs:
        if judge is None and read_program_metadata(program.folder).settings.get("judge") == "llm":
            message = f"is missing: the scoring program '{program.key}' asks a language model. Name it, with a budget."
            section.findings.error(section.where("judge"), message, allowed=["judge: {model: …, cost_budget: …}"])


def _built_in() -> list[str]:
    return sorted(p.name for p in Path(settings.SCORING_PROGRAMS).iterdir() if (p / METADATA_FILES[0]).is_file())


def _program(value: Value, files: BundleFiles) -> ProgramPlan | None:
    """A path in the bundle, a built-in name (``rubric``, ``rubric 1``), or a mapping of these."""
    if value.scalar is not None:
        text = value.scalar.strip()
        if files.has(text) or "/" in text or text.endswith(".zip"):
            return _own_program(value, files, key="")
        match = _VERSIONED.fullmatch(text)
        name, version = (match[1], match[2]) if match else (text, "")
        return _built_in_program(value, name=name, version=version, key="")
    section = Section(value)
    key = section.text("key", longest=36)
    if path := section.get("path") or section.get("folder"):
        program = _own_program(path, files, key=key)
    else:
        name = section.text("name", required=True)
        where = section.get("name") or value
        version = section.get("version")
        program = _built_in_program(where, name=name, version=(version.scalar or "") if version else "", key=key)
        given = section.get("settings")
        if program is not None and given is not None:
            program = with_settings(given, program, files)
    section.close()
    return program


def _own_program(value: Value, files: BundleFiles, *, key: str) -> ProgramPlan | None:
    folder = files.folder_of(value)
    if folder is None:
        return None
    name = Path((value.scalar or "").rstrip("/")).stem
    return _described(value, folder, key=key or slugify(name)[:36] or "scoring", place=_metadata_place(folder, files))


def _built_in_program(value: Value, *, name: str, version: str, key: str) -> ProgramPlan | None:
    if not name:
        return None
    known = _built_in()
    if name not in known:
        message = f"'{name[:60]}' is neither a path in the bundle nor a built-in program.{suggestion(name, known)}"
        value.findings.error(value.place, message, allowed=known)
        return None
    program = _described(value, Path(settings.SCORING_PROGRAMS) / name, key=key or name, place=value.place)
    if program and version and program.version.split(".")[: version.count(".") + 1] != version.split("."):
        message = f"version {version} of '{name}' is not installed."
        value.findings.error(value.place, message, allowed=[program.version])
        return None
    return program


def _described(value: Value, folder: Path, *, key: str, place: Place) -> ProgramPlan | None:
    try:
        metadata = read_program_metadata(folder)
        if not storable(metadata.version):
            raise ProgramMetadataError("the version holds characters that cannot be stored")
    except ProgramMetadataError as error:
        value.findings.error(place, str(error))
        return None
    scores = {name: (score.low, score.high, Sorting(score.sorting)) for name, score in metadata.scores.items()}
    return ProgramPlan(
        key=key,
        version=metadata.version[:32],
        folder=folder,
        scores=scores,
        overall=frozenset(name for name, score in metadata.scores.items() if score.overall),
        optional=frozenset(name for name, score in metadata.scores.items() if score.optional),
    )


def _limits(section: Section) -> dict[str, float]:
    """What the task asks of its sandboxes; more than the operator allows is refused with the number."""
    limits: dict[str, float] = {}
    inner = section.section("limits")
    if inner is None:
        return limits
    for name, cap in settings.OPERATOR_CAPS.items():
        value = inner.get(name)
        number = _amount(value, name) if value else None
        if value is None or number is None:
            continue
        if number > cap:
            value.findings.error(
                value.place, f"{number:,} is more than this installation allows.", allowed=[f"at most {cap:,}"]
            )
        elif number < (least := _LEAST.get(name, 0)):
            value.findings.error(
                value.place, f"{number:,} is too little for any program to start.", allowed=[f"at least {least:,}"]
            )
        limits[name] = number
    inner.close()
    return limits


def _amount(value: Value, name: str) -> float | None:
    """A positive number; sizes may have a unit."""
    text = (value.scalar or "").strip()
    number: float | None = None
    if name in _SIZES and (match := _SIZE.fullmatch(text)):
        number = int(float(match[1]) * _UNIT[match[2].casefold()])
    elif name in _WHOLE:
        return value.integer(least=1)
    elif name not in _SIZES:
        number = value.number()
        if number is None:
            return None
    if number is None or number <= 0:
        allowed = ["bytes, or a size such as 512M or 2G"] if name in _SIZES else ["a number above 0"]
        value.findings.error(value.place, f"is {text[:40]!r}.", allowed=allowed)
        return None
    return number
