"""A zoo's programs: what each attacks, under which limits, and the verdict that it declares in its head.

A program is one Python file that begins with lines ``#: …``: YAML, read as a :class:`Head`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet_runtime.jobs import EpisodeLimits, Isolation, SandboxLimits
from gauntlet_runtime.sandbox.interface import Cause
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

Limit = Literal["memory", "cpus", "processes", "uid"]  # of `Sandbox.enforcement()`, what a plain user may lack

_MARK: Final = "#:"
_PLACEHOLDER: Final = re.compile(r"\\\{[a-z_]+\\\}")


class ZooFault(Exception):
    """The zoo is not there, or one of its programs has no head that can be read; the message names the file."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ending(_Strict):
    """How one episode must end."""

    outcome: Outcome
    code: FailureCode | None = None
    says: str = Field(default="", description="the participant's sentence; {word} stands for a number")


class Kernel(_Strict):
    """What the supervisor must have read of the program's sandbox before it was removed."""

    cause: Cause = Cause.EXITED
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = Field(default=False, description="the kernel killed for memory, and the peak is the limit")
    refused_forks: bool = False
    disk_full: bool = False


class Expected(_Strict):
    """The verdict."""

    state: Literal["finished", "failed"] = Field(description="of the evaluation that runs the program")
    code: FailureCode | None = Field(default=None, description="of the evaluation, where it failed")
    says: str = Field(default="", description="its sentence; {word} stands for a number")
    episodes: tuple[Ending, ...] = ()
    said: tuple[Any, ...] | None = Field(
        default=None, description="what the program itself found, told with `say`; {word} stands for a number"
    )
    kernel: Kernel | None = None
    starts: int | None = Field(default=None, description="how often the program was started")
    scores: dict[str, float] | None = Field(default=None, description="what scoring the record gives, all the same")
    collected: tuple[str, ...] | None = Field(default=None, description="files that were taken out of the output")
    skipped: tuple[str, ...] | None = Field(default=None, description="what was left there, with the reason")
    log_holds: tuple[str, ...] = Field(default=(), description="texts that the owner's log must hold")
    log_bytes: int | None = Field(default=None, description="how long that log may be at most")


class Head(_Strict):
    """What stands at the top of a program."""

    attacks: Literal["agent", "scorer"] = Field(description="what it is submitted as")
    why: str = Field(description="what it tries, in a sentence")
    limits: dict[str, float] = Field(default_factory=dict, description="fields of SandboxLimits")
    episode_limits: dict[str, float] = Field(default_factory=dict, description="fields of EpisodeLimits")
    environment_limits: dict[str, float] = Field(default_factory=dict)
    scenarios: int = Field(default=1, ge=1)
    parallel: int = Field(default=1, ge=1)
    isolation: Isolation = "submission"
    expect: Expected
    needs: tuple[Limit, ...] = Field(
        default=(), description="what this host must enforce: elsewhere it is not run, and would only use up the host"
    )
    without: dict[Limit, dict[str, Any]] = Field(
        default_factory=dict, description="a limit: keys of `expect` that are others where it is best effort"
    )

    def expected_without(self, weak: Collection[str]) -> Expected:
        """The verdict where these limits are best effort."""
        changes = [self.without[limit] for limit in self.without if limit in weak]
        expected = self.expect.model_dump()
        for change in changes:
            expected |= change
        return Expected.model_validate(expected)

    def sandbox_limits(self) -> SandboxLimits:
        """The program's own limits."""
        return SandboxLimits.model_validate(self.limits)

    def of_an_episode(self) -> EpisodeLimits:
        """The limits of each episode."""
        return EpisodeLimits.model_validate(self.episode_limits)


@dataclass(frozen=True)
class Program:
    """One program of the zoo."""

    name: str  # "agent/fork_bomb"
    source: str
    head: Head


@dataclass(frozen=True)
class Zoo:
    """A folder with programs, and with what they need: `agent/door`, `environment`, `scorer/program`."""

    folder: Path
    programs: tuple[Program, ...]

    def part(self, name: str) -> dict[str, str]:
        """The files of one of its folders that is no program, by name.

        Raises:
            ZooFault: it is missing.
        """
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted((self.folder / name).glob("*.*"))}
        if not files:
            raise ZooFault(f"The zoo lacks {self.folder / name}: take the whole folder from the repository.")
        return files


def load_zoo(folder: Path) -> Zoo:
    """Every program of a zoo, in the order of their names.

    Raises:
        ZooFault
    """
    paths = [path for kind in ("agent", "scorer") for path in sorted((folder / kind).glob("*.py"))]
    if not paths:
        raise ZooFault(f"There is no zoo of hostile programs in {folder}; it is part of the repository.")
    return Zoo(folder=folder, programs=tuple(_load(path, folder) for path in paths))


def _load(path: Path, folder: Path) -> Program:
    source = path.read_text(encoding="utf-8")
    lines = [line.removeprefix(_MARK).removeprefix(" ") for line in _head_lines(source)]
    try:
        head = Head.model_validate(yaml.safe_load("\n".join(lines)))
    except (yaml.YAMLError, ValidationError) as error:
        raise ZooFault(f"{path} does not begin with a head that can be read: {error}") from error
    if head.attacks != path.parent.name:
        raise ZooFault(f"{path} attacks as {head.attacks}, and stands among those of another kind.")
    return Program(name=path.relative_to(folder).with_suffix("").as_posix(), source=source, head=head)


def _head_lines(source: str) -> list[str]:
    lines = []
    for line in source.splitlines():
        if not line.startswith(_MARK):
            break
        lines.append(line)
    return lines


def same_sentence(pattern: str, said: str) -> bool:
    """Whether a sentence is the declared one, with numbers in place of ``{words}``."""
    return re.fullmatch(_PLACEHOLDER.sub(r"\\d[\\d.,]*", re.escape(pattern)), said) is not None


def same_value(pattern: Any, value: Any) -> bool:
    """Whether a value that a program told is the declared one, texts in it compared as sentences."""
    if isinstance(pattern, str) and isinstance(value, str):
        return same_sentence(pattern, value)
    if isinstance(pattern, list | tuple) and isinstance(value, list | tuple):
        return len(pattern) == len(value) and all(map(same_value, pattern, value))
    if isinstance(pattern, dict) and isinstance(value, dict):
        return pattern.keys() == value.keys() and all(same_value(pattern[key], value[key]) for key in pattern)
    return bool(pattern == value) and isinstance(pattern, bool) == isinstance(value, bool)
