#: attacks: scorer
#: why: Leaves a scores.json of a terabyte that takes no room.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: The program wrote neither scores.json nor scores.txt into /app/output.
#:   skipped: ["scores.json: larger than what is left of the limit"]
#:   collected: []
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

with (OUTPUT / "scores.json").open("wb") as file:
    file.truncate(1 << 40)
