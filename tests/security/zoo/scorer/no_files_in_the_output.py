#: attacks: scorer
#: why: Leaves FIFOs and sockets in its output, and tries device nodes.
#: expect:
#:   state: finished
#:   scores: {right: 0.5}
#:   said: [refused]
#:   collected: [scores.json]
#:   skipped: ["detailed_results.html: a FIFO", "door: a socket"]
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")
import socket
import stat

os.mkfifo(OUTPUT / "detailed_results.html")
socket.socket(socket.AF_UNIX).bind(str(OUTPUT / "door"))
try:
    os.mknod(OUTPUT / "disk", stat.S_IFBLK | 0o666, os.makedev(254, 0))
except PermissionError:
    print("said", json.dumps("refused"))
(OUTPUT / "scores.json").write_text(json.dumps({"right": 0.5}))
