#: attacks: scorer
#: why: Leaves links where its results should be, to the reference, and to the host.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: The program wrote neither scores.json nor scores.txt into /app/output.
#:   collected: []
#:   skipped: ["everything: a link", "scores.json: a link", "scores.txt: a link"]
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

os.symlink("/app/input/ref/ground_truth.jsonl", OUTPUT / "scores.json")
os.symlink("/etc/passwd", OUTPUT / "scores.txt")
os.symlink("/", OUTPUT / "everything")
