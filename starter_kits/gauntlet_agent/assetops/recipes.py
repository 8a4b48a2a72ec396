"""The recipes of `recipes.yaml`, which stands beside this file: how kinds of questions are solved, step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from gauntlet_agent.assetops.planning import Phrases, Step
from gauntlet_agent.assetops.reading import Reading
from gauntlet_agent.assetops.roster import FMSR, IOT, TSFM, WO

OWN: Final = Path(__file__).with_name("recipes.yaml")
_AGENTS: Final = {"IoT": IOT, "FMSR": FMSR, "TSFM": TSFM, "WO": WO}


@dataclass(frozen=True)
class RecipeStep:
    """A step as the file has it: ``needs`` is None for the one before, else "none", "all" or numbers from 1."""

    agent: str
    sentence: str
    needs: str | tuple[int, ...] | None = None
    each: bool = False


@dataclass(frozen=True)
class Recipe:
    """A kind of question, and how it is solved."""

    name: str
    when: re.Pattern[str]
    unless: re.Pattern[str] | None
    find: Mapping[str, Sequence[str]]
    steps: tuple[RecipeStep, ...]

    def fits(self, reading: Reading) -> bool:
        """Whether a question is of this kind."""
        if self.unless is not None and self.unless.search(reading.words):
            return False
        return self.when.search(reading.words) is not None


def plan(question: str, path: Path = OWN) -> list[Step]:
    """The steps for a question: by the first recipe that fits, else the question itself for the agent it sounds like.

    Args:
        path: a file of recipes; copy the package's own into your kit to change it
    """
    reading = Reading(question)
    recipe = next((one for one in recipes_in(path) if one.fits(reading)), None)
    if recipe is None:
        return [Step(_sounds_like(reading), reading.text, (), "The answer.")]
    return written(recipe, Phrases(reading))


def written(recipe: Recipe, phrases: Phrases) -> list[Step]:
    """The steps of a recipe with the question's words in them."""
    words = {**phrases.words(), **{name: phrases.found(patterns) for name, patterns in recipe.find.items()}}
    steps: list[Step] = []
    last_of: list[int] = []  # where the recipe's steps ended up: the last one of those that each machine has
    for one in recipe.steps:
        needs = _needs(one, len(steps), last_of)
        for machine in phrases.machines if one.each and phrases.machines else [phrases.machine]:
            sentence = one.sentence.format(**{**words, "machine": machine})
            steps.append(Step(one.agent, sentence, needs, f"What step {len(steps) + 1} asks for."))
        last_of.append(len(steps) - 1)
    return steps


def _needs(step: RecipeStep, position: int, last_of: Sequence[int]) -> tuple[int, ...]:
    if step.needs is None:
        return (position - 1,) if position else ()
    if step.needs == "all":
        return tuple(range(position))
    return tuple(last_of[number - 1] for number in step.needs) if isinstance(step.needs, tuple) else ()


def _sounds_like(reading: Reading) -> str:
    if reading.has(r"\bforecast|\bmodels?\b|\btime series\b|\bpredict"):
        return TSFM
    if reading.has(r"\bfailure|\bfail\b"):
        return FMSR
    return WO if reading.groups or reading.has(r"\bjobs?\b|\bmaintenance\b|\brepair") else IOT


@cache
def recipes_in(path: Path) -> tuple[Recipe, ...]:
    """The recipes of a file, in its order."""
    import yaml

    return tuple(_recipe(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8")))


def _recipe(entry: Mapping[str, Any]) -> Recipe:
    return Recipe(
        name=str(entry["name"]),
        when=re.compile("|".join(entry["when"])),
        unless=re.compile("|".join(entry["unless"])) if entry.get("unless") else None,
        find=entry.get("find") or {},
        steps=tuple(_step(one) for one in entry["steps"]),
    )


def _step(entry: Mapping[str, Any]) -> RecipeStep:
    short = next(name for name in _AGENTS if name in entry)
    needs = entry.get("needs")
    numbers = tuple(int(number) for number in needs) if isinstance(needs, list) else needs
    return RecipeStep(_AGENTS[short], str(entry[short]), numbers, each=entry.get("each") == "machine")
