"""A kit's settings: `settings.yaml` beside its code, each overridden by an environment variable of its name.

Environment variables serve at home and in tests; in the platform's sandbox an agent has only its own files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from gauntlet_agent.errors import GauntletError

NO_MODEL: Final = "none"
PREFIX: Final = "KIT_"


class BadSetting(GauntletError):
    """A setting has no meaning; the message names it."""


@dataclass(frozen=True)
class Settings:
    """What can be set without touching code.

    Attributes:
        model: "none" works by rules; "any" takes the first model that the phase offers; else a model's name
        examples: whether prompts carry in-context examples (A47 of the requirements)
        agent_ask: whether a sub-agent may ask its parent (A24)
        max_steps: T_max, the most steps of a supervisor or of a sub-agent (A23)
        reflections: how often an answer is made; 1 is once, without reflection
        parallel: whether independent steps run at once, as far as the phase allows parallel tool calls
        plan_retries: how often a planner is told what its reviewer found
        max_tokens: the longest answer of a model; it is reserved with every call
        context: characters of a conversation beyond which old observations are shortened
    """

    model: str = NO_MODEL
    examples: bool = True
    agent_ask: bool = True
    max_steps: int = 8
    reflections: int = 1
    parallel: bool = True
    plan_retries: int = 3
    max_tokens: int = 1000
    context: int = 24000

    @property
    def uses_model(self) -> bool:
        """Whether a model drives the kit."""
        return self.model.casefold() not in (NO_MODEL, "")

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """Read ``settings.yaml`` in a folder (all defaults where there is none) and the environment.

        Raises:
            BadSetting: a name is unknown, or a value is of another kind.
        """
        path = folder / "settings.yaml"
        given: dict[str, Any] = {}
        if path.is_file():
            import yaml

            content = yaml.safe_load(path.read_text(encoding="utf-8-sig")) or {}
            if not isinstance(content, dict):
                raise BadSetting(f"{path.name} must hold lines such as `model: any`.")
            given = {str(name): value for name, value in content.items()}
        kinds = {field.name: type(field.default) for field in fields(cls)}
        given |= {name: text for name in kinds if (text := os.environ.get(f"{PREFIX}{name.upper()}"))}
        unknown = sorted(set(given) - set(kinds))
        if unknown:
            raise BadSetting(f"Unknown setting {unknown[0]!r}; known are {', '.join(kinds)}.")
        return cls(**{name: _as(kinds[name], name, value) for name, value in given.items()})


def _as(kind: type[Any], name: str, value: Any) -> Any:
    if kind is bool:
        if isinstance(value, bool):
            return value
        known = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        if str(value).casefold() in known:
            return known[str(value).casefold()]
        raise BadSetting(f"{name} is on or off, not {value!r}.")
    if kind is int:
        try:
            number = int(value)
        except (TypeError, ValueError) as error:
            raise BadSetting(f"{name} is a number, not {value!r}.") from error
        if number < 1:
            raise BadSetting(f"{name} must be at least 1, not {value!r}.")
        return number
    return NO_MODEL if value is None or value is False else str(value)
