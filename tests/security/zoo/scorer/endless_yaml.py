#: attacks: scorer
#: why: Gives scores in YAML that takes an hour to read.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: scores.txt is larger than 256 KiB.
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.txt").write_text("".join(f"a{n}: [1, [2, [3]]]\n" for n in range(2_000_000)))
