#: attacks: scorer
#: why: Gives scores in YAML that is nested a hundred thousand times.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: "scores.txt is not made of `key: value` lines."
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.txt").write_text("right: " + "[" * 100_000)
