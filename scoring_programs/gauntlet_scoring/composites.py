"""Means of several scores: only of scores on one declared scale and in one direction.

In the published competition a part in [0, 1] was added to parts in [0, 100] and decided nothing: a composite of mixed
scales is refused, by the name of the part that does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.program_metadata import ProgramMetadata, ScoreKey
from gauntlet_scoring.statistics import mean


def check_parts(composite: str, parts: Sequence[str], metadata: ProgramMetadata) -> None:
    """Check that a program's composite score and all of its parts are declared with one scale and one direction.

    Raises:
        ScoringInputError: there is no part, one is not declared or named twice, or one has another scale or direction.
    """
    whole = _declared(composite, metadata)
    if not parts:
        raise ScoringInputError(f"the composite `{composite}` needs at least one part")
    for at, name in enumerate(parts):
        part = _declared(name, metadata)
        if name == composite or name in parts[:at]:
            raise ScoringInputError(f"the composite `{composite}` names `{name}` twice or is a part of itself")
        if part != whole:
            message = f"the part `{name}` is {_told(part)}, and the composite `{composite}` {_told(whole)}"
            raise ScoringInputError(f"{message}: all parts of a composite need one scale and one direction")


def mean_of_parts(parts: Sequence[str], scores: Mapping[str, float]) -> float:
    """The mean of the named scores."""
    return mean([scores[name] for name in parts])


def weighted(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The sum of the parts times their weights, which add up to 1.

    Raises:
        ValueError: the names differ, or the weights do not add up to 1.
    """
    if parts.keys() != weights.keys() or abs(sum(weights.values()) - 1) > 1e-12:
        raise ValueError("a composite needs a weight for each of its parts, and weights that add up to 1")
    return sum(weights[name] * value for name, value in parts.items())


def _declared(name: str, metadata: ProgramMetadata) -> ScoreKey:
    if name not in metadata.scores:
        known = ", ".join(metadata.scores)
        raise ScoringInputError(f"the program declares no score `{name[:60]}`; it has {known}")
    return metadata.scores[name]


def _told(key: ScoreKey) -> str:
    return f"in [{key.low:g}, {key.high:g}] with {'more' if key.sorting == 'desc' else 'less'} being better"
