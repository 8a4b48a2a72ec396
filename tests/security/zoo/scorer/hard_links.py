#: attacks: scorer
#: why: Links files of the image and of its inputs into its output, under another name.
#: expect:
#:   state: finished
#:   scores: {right: 0.5}
#:   said: [4]
#:   collected: [scores.json, again.json]
#:   skipped: []
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

refused = []
for source in ("/app/input/ref/ground_truth.jsonl", "/etc/passwd", "/app/program/score.py", "/proc/self/environ"):
    try:
        os.link(source, OUTPUT / "linked")
    except OSError:
        refused.append(source)
print("said", json.dumps(len(refused)))
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))
os.link(OUTPUT / "scores.json", OUTPUT / "again.json")
