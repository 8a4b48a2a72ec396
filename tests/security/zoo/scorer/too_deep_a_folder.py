#: attacks: scorer
#: why: Buries its output in a thousand folders, each in the other.
#: expect:
#:   state: finished
#:   scores: {right: 0.5}
#:   collected: [scores.json]
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))

os.chdir(OUTPUT)
for _ in range(1000):
    os.mkdir("d")
    os.chdir("d")
Path("deep").write_text("x")
