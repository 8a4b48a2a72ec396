#: attacks: scorer
#: why: Changes the reference and the records that it scores, for those who come after it.
#: expect:
#:   state: finished
#:   scores: {right: 0.5}
#:   said: [4]
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

refused = []
for place in ("/app/input/ref/ground_truth.jsonl", "/app/input/ref/new", "/app/input/res/episodes.jsonl", "/app/new"):
    try:
        Path(place).write_text("changed")
    except OSError:
        refused.append(place)
print("said", json.dumps(len(refused)))
Path("/app/program/score.py").write_text("its own copy")
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))
