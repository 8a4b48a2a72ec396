#: attacks: scorer
#: why: Gives scores that are nested a hundred thousand times.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: scores.json is not valid JSON.
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.json").write_text("[" * 100_000)
