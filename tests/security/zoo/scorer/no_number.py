#: attacks: scorer
#: why: Gives a score that is no number.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: "scores.json: right is not a finite number."
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.json").write_text('{"right": NaN}')
