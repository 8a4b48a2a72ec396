#: attacks: scorer
#: why: Gives a score of five thousand digits.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: scores.json is not valid JSON.
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.json").write_text('{"right": ' + "9" * 5000 + "}")
