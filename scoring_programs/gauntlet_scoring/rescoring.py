"""Scoring an evaluation again from what is stored of it, without the agent, and whether the scores are the same.

An evaluation's folder, which the platform gives organizers as an archive:

    evaluation.json         what it was, its programs in order, and the stored scores by program and key
    input/res/ input/ref/   what a scoring program finds in /app/input
    programs/<key>/         the programs

A folder without ``evaluation.json`` is taken for a program's own /app: ``input/res``, ``input/ref``, ``program`` and,
where there are stored scores, ``output/scores.json``.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.program import ROOT_VARIABLE
from gauntlet_scoring.program_folders import FOLDERS, with_folders
from gauntlet_scoring.program_metadata import ProgramMetadataError, read_program_metadata
from gauntlet_scoring.writing import SCORES_FILE

EVALUATION_FILE: Final = "evaluation.json"
TOLERANCE: Final = 1e-9
"""How far two scores may lie apart and be the same: sums of floats differ in the last digits between machines."""

_SCORES: Final = (SCORES_FILE, "scores.txt")  # as Codabench looks for them
_LOG_CHARACTERS: Final = 2000


class RescoringError(Exception):
    """An evaluation that cannot be scored again; the text says why."""


class StoredEvaluation(BaseModel):
    """What ``evaluation.json`` says. Keys that are not listed here tell what made the evaluation."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    evaluation: str
    programs: list[str] = Field(min_length=1)
    scores: dict[str, dict[str, float]] = Field(default_factory=dict, description="program -> key of scores.json")


@dataclass(frozen=True)
class Comparison:
    """One key of a program's scores, stored and new; null where there is none."""

    program: str
    key: str
    stored: float | None
    new: float | None

    @property
    def equal(self) -> bool:
        """Whether both are there and the same."""
        if self.stored is None or self.new is None:
            return False
        return math.isclose(self.stored, self.new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


@dataclass(frozen=True)
class Rescored:
    """What came out: every key of every program, and the programs that could not be run, each with its reason."""

    evaluation: str
    comparisons: list[Comparison] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether every program ran, and every stored score came out again and no other."""
        return not self.failures and all(one.equal for one in self.comparisons)


def unpack_evaluation(archive: Path, into: Path) -> None:
    """Unpack a downloaded evaluation into an empty folder.

    Raises:
        RescoringError: it is no zip, or a name in it leads out of the folder.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                path = PurePosixPath(name.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts:
                    raise RescoringError(f"{archive.name}: the name {name[:80]!r} leads out of the archive")
            opened.extractall(into)
    except (zipfile.BadZipFile, OSError) as error:
        raise RescoringError(f"{archive.name}: is no archive of an evaluation ({error})") from error


def rescore(folder: Path, *, work: Path, only: str | None = None) -> Rescored:
    """Run the evaluation's scoring programs on what is stored, and compare.

    The programs run as they are, on this machine and outside any sandbox: they are the organizer's own.

    Args:
        folder: the evaluation
        work: an empty folder for the programs' copies and their output
        only: the key of one program

    Raises:
        RescoringError: the folder is no evaluation, or has no such program.
    """
    stored, programs = _evaluation(folder)
    if only is not None and only not in programs:
        raise RescoringError(f"there is no program {only!r}; there are {', '.join(programs)}")
    chosen = {only: programs[only]} if only is not None else programs
    comparisons: list[Comparison] = []
    failures: dict[str, str] = {}
    for key, program in chosen.items():
        try:
            new = _run(program, folder / "input", work / key)
        except RescoringError as error:
            failures[key] = str(error)
            continue
        comparisons.extend(_compared(key, stored.scores.get(key, {}), new))
    return Rescored(evaluation=stored.evaluation, comparisons=comparisons, failures=failures)


def _evaluation(folder: Path) -> tuple[StoredEvaluation, dict[str, Path]]:
    if not (folder / "input" / "res").is_dir():
        raise RescoringError(f"{folder}: holds no input/res, the recorded episodes of an evaluation")
    path = folder / EVALUATION_FILE
    if path.is_file():
        try:
            stored = StoredEvaluation.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise RescoringError(f"{EVALUATION_FILE}: {first_phrase(error)}") from error
        programs = {key: folder / "programs" / key for key in stored.programs if PurePosixPath(key).name == key}
    else:
        found = _scores(folder / "output") if any((folder / "output" / name).is_file() for name in _SCORES) else {}
        stored = StoredEvaluation(evaluation=folder.name, programs=["program"], scores={"program": found})
        programs = {"program": folder / "program"}
    missing = [key for key, program in programs.items() if not program.is_dir()]
    if missing or not programs:
        raise RescoringError(f"{folder}: holds no folder of the program {', '.join(missing) or 'that it names'}")
    return stored, programs


def _run(program: Path, source: Path, root: Path) -> dict[str, float]:
    """Run a program on a copy of what it may write into, as the platform does; returns its scores."""
    shutil.copytree(program, root / "program")
    shutil.copytree(source, root / "input")
    (root / "output").mkdir()
    (root / "shared").mkdir()
    environment = {**os.environ, ROOT_VARIABLE: str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            _arguments(program, root),
            cwd=root / "program",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise RescoringError(f"its command cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-_LOG_CHARACTERS:]
        raise RescoringError(f"it ended with status {done.returncode}: {said or 'it said nothing'}")
    return _scores(root / "output")


def _arguments(program: Path, root: Path) -> list[str]:
    """The command's words, with Codabench's variables and folders below /app led to the folders here."""
    try:
        words = shlex.split(read_program_metadata(program).command)
    except (ProgramMetadataError, ValueError) as error:
        raise RescoringError(f"its metadata cannot be used: {error}") from error
    folders = {variable: str(root / folder) for variable, folder in FOLDERS.items()}
    local = [with_folders(word, folders) for word in words]
    local = [str(root / word.removeprefix("/app/")) if word.startswith("/app/") else word for word in local]
    return [sys.executable, *local[1:]] if local[:1] in (["python"], ["python3"]) else local


def _scores(output: Path) -> dict[str, float]:
    name = next((name for name in _SCORES if (output / name).is_file()), None)
    if name is None:
        raise RescoringError(f"it wrote neither {' nor '.join(_SCORES)}")
    content = (output / name).read_bytes()
    try:
        found = json.loads(content) if name == SCORES_FILE else yaml.safe_load(content)
        return {str(key): float(value) for key, value in found.items()}
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RescoringError(f"{name} is no object of numbers") from error


def _compared(program: str, stored: Mapping[str, float], new: Mapping[str, float]) -> list[Comparison]:
    return [
        Comparison(program=program, key=key, stored=stored.get(key), new=new.get(key))
        for key in dict.fromkeys([*stored, *new])
    ]
