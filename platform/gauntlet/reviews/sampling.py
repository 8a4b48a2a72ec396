"""A seeded, stratified draw."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Stratum = TypeVar("Stratum", bound=Hashable)


def draw(strata: Mapping[Stratum, Sequence[T]], *, size: int, seed: int) -> list[T]:
    """Draw ``size`` members, from each stratum by its share, in an order that tells nothing about the strata.

    Where ``size`` allows it, every stratum gives one at least: a kind that is rare is not left out by chance. The same
    strata, in the same order, and the same seed draw the same. All there are, where ``size`` is larger.
    """
    rng = random.Random(seed)  # noqa: S311 -- a sample that can be drawn again, nothing secret
    filled = {name: members for name, members in strata.items() if members}
    counts = shares({name: len(members) for name, members in filled.items()}, size=size)
    drawn = [one for name, members in filled.items() for one in rng.sample(list(members), counts[name])]
    rng.shuffle(drawn)
    return drawn


def shares(sizes: Mapping[Stratum, int], *, size: int) -> dict[Stratum, int]:
    """How many to draw from each stratum: in proportion, by largest remainders, never more than it has.

    One from each first, where that is possible; of fewer than there are strata, the largest give theirs.
    """
    total = sum(sizes.values())
    size = min(size, total)
    if size <= len(sizes):
        largest = sorted(sizes, key=lambda name: -sizes[name])[:size]
        return {name: int(name in largest) for name in sizes}
    counts = {name: max(1, size * number // total) for name, number in sizes.items()}
    while (left := size - sum(counts.values())) != 0:
        step = 1 if left > 0 else -1
        # Whoever is furthest from its share, and can give or take one; ties go to the first.
        able = [name for name in sizes if (counts[name] < sizes[name] if step > 0 else counts[name] > 1)]
        furthest = max(able, key=lambda name: step * (size * sizes[name] / total - counts[name]))
        counts[furthest] += step
    return counts
