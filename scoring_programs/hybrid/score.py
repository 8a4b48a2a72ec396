"""Hybrid: 0.5 rubric + 0.3 execution + 0.2 planning, with what went wrong and a report over all episodes."""

from __future__ import annotations

import sys

from gauntlet_scoring.hybrid import Hybrid
from gauntlet_scoring.program import run

if __name__ == "__main__":
    sys.exit(run(__file__, lambda metadata: Hybrid.of(metadata).measure()))
