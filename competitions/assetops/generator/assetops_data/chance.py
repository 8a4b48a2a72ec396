"""Random draws that depend on a seed and a name alone, and not on a library's version or on the order of drawing."""

from __future__ import annotations

import hashlib
import hmac
import random

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Chance:
    """A source of named streams: equal seeds and names give equal draws, other names give unrelated ones."""

    def __init__(self, seed: bytes, *words: str) -> None:
        self._key = seed
        for word in words:
            self._key = hmac.new(self._key, word.encode(), hashlib.sha256).digest()

    def under(self, *words: str) -> Chance:
        """The source below a name."""
        return Chance(self._key, *words)

    def stream(self, name: str) -> random.Random:
        """A generator of single draws."""
        digest = hmac.new(self._key, name.encode(), hashlib.sha256).digest()
        return random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - records are invented, nothing is kept secret

    def uniform(self, name: str, count: int) -> Numbers:
        """``count`` numbers in [0, 1)."""
        digest = hmac.new(self._key, name.encode(), hashlib.sha256).digest()
        words = np.frombuffer(hashlib.shake_256(digest).digest(8 * count), dtype="<u8")
        drawn: Numbers = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return drawn

    def normal(self, name: str, count: int) -> Numbers:
        """``count`` draws of the standard normal distribution (Box and Muller 1958)."""
        half = (count + 1) // 2
        drawn = self.uniform(name, 2 * half)
        radius = np.sqrt(-2.0 * np.log(1.0 - drawn[:half]))
        angle = 2.0 * np.pi * drawn[half:]
        both: Numbers = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
        return both

    def wander(self, name: str, count: int, *, steps: int) -> Numbers:
        """A smooth random walk around zero with a standard deviation of one, remembering about ``steps`` steps."""
        kernel = np.exp(-np.arange(4 * steps) / steps)
        kernel /= np.sqrt(np.sum(kernel**2))
        noise = self.normal(name, count + len(kernel) - 1)
        walk: Numbers = np.convolve(noise, kernel, mode="valid")
        return walk
