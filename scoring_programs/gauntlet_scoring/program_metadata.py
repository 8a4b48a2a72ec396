"""A program's ``metadata.yaml``: Codabench's ``command``, and beside it what a board may be built from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gauntlet_scoring.phrases import first_phrase

METADATA_FILES: Final = ("metadata.yaml", "metadata")  # Codabench reads both; the first found counts


class ProgramMetadataError(ValueError):
    """A program folder without usable metadata; the text names the file and what is wrong."""


class ScoreKey(BaseModel):
    """One key of a program's ``scores.json``: its scale, and which end of it is better."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    low: float = 0.0
    high: float = 1.0
    sorting: Literal["asc", "desc"] = "desc"  # Codabench's words: `desc` puts the highest first
    overall: bool = False  # of all episodes together, such as a spread: no single one has it
    optional: bool = False  # an episode may be without it, which is then no result that could not be verified

    @model_validator(mode="after")
    def _low_is_below_high(self) -> ScoreKey:
        if not self.low < self.high:
            raise ValueError(f"low ({self.low}) must be below high ({self.high})")
        return self

    @property
    def worst(self) -> float:
        """What an episode scores that the participant's own fault ended."""
        return self.low if self.sorting == "desc" else self.high


class CodeTool(BaseModel):
    """A tool of an environment that takes code, which the platform runs in a sandbox of its own and not in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=128)
    seconds: float = Field(default=20.0, gt=0, le=300, description="how long one piece of code may run")
    memory: int = Field(default=512 << 20, ge=64 << 20, le=4 << 30, description="bytes")


class ProgramMetadata(BaseModel):
    """What a program says about itself. Keys that are not listed here are left to the program."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str = Field(min_length=1)
    name: str
    version: str = ""
    scores: dict[str, ScoreKey] = Field(default_factory=dict, description="empty where the program declares none")
    settings: dict[str, str] = Field(default_factory=dict, description="the program's own, such as its model")

    code_tool: CodeTool | None = Field(default=None, description="of an environment: its tool that takes code")

    @field_validator("code_tool", mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        """`code_tool: run_code` is short for a mapping with that name."""
        return {"name": value} if isinstance(value, str) else value

    @field_validator("name", "version", mode="before")
    @classmethod
    def _number_is_text(cls, value: Any) -> Any:
        """`version: 1.0` is a number to YAML."""
        return str(value) if isinstance(value, int | float) else value

    @field_validator("settings", mode="before")
    @classmethod
    def _settings_are_free(cls, value: Any) -> dict[str, str]:
        """Another program's metadata may use the word for anything: Codabench reads nothing but `command`."""
        return {str(key): str(each) for key, each in value.items()} if isinstance(value, dict) else {}


def read_program_metadata(folder: Path) -> ProgramMetadata:
    """Read the metadata of a program folder; ``name`` defaults to the folder's.

    Raises:
        ProgramMetadataError: no metadata file, or one that is not YAML, has no ``command`` or a malformed entry.
    """
    path = next((folder / name for name in METADATA_FILES if (folder / name).is_file()), None)
    if path is None:
        raise ProgramMetadataError(f"{folder.name}: holds neither {METADATA_FILES[0]} nor {METADATA_FILES[1]}")
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise ProgramMetadataError(f"{folder.name}/{path.name}: is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # a date that there is not is a ValueError of PyYAML's
        raise ProgramMetadataError(f"{folder.name}/{path.name}: is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ProgramMetadataError(f"{folder.name}/{path.name}: must be a mapping with `command`")
    try:
        return ProgramMetadata.model_validate({"name": folder.name, **content})
    except ValidationError as error:
        raise ProgramMetadataError(f"{folder.name}/{path.name}: {first_phrase(error, quote=True)}") from error
