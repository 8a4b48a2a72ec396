#: attacks: scorer
#: why: Leaves more files than are collected, in front of its scores.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: The program wrote neither scores.json nor scores.txt into /app/output.
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

for number in range(10_050):
    (OUTPUT / f"a{number:06}").touch()
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))
