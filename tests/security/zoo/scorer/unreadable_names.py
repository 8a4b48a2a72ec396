#: attacks: scorer
#: why: Names its files with bytes that are no text, and makes one of them too large a report.
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: The report is larger than 8 MiB.
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

os.symlink("nowhere", os.fsencode(OUTPUT) + b"/\xff\xfe")
with open(os.fsencode(OUTPUT) + b"/a\xff\n.html", "wb") as file:
    file.write(b"x" * (9 << 20))
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))
