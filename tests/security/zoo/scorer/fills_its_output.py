#: attacks: scorer
#: why: Fills its output folder.
#: limits: {output: 4194304}
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: >-
#:     The scoring program filled its disk: {megabytes} MiB in /tmp and 4 MiB of output are allowed. Write less, or
#:     delete what is no longer needed.
#:   kernel: {exit_code: 1, disk_full: true}
import json
import os
from pathlib import Path

OUTPUT = Path("/app/output")

with (OUTPUT / "big").open("wb", buffering=0) as file:
    while True:
        file.write(bytes(1 << 20))
