#: attacks: scorer
#: why: Gives scores in YAML that looks like dates which there are not.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: "scores.txt is not made of `key: value` lines."
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.txt").write_text("right: 2024-13-45\n")
