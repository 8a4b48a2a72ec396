#: attacks: agent
#: why: Writes one file until the disk is full, and fails.
#: limits: {scratch: 8388608}
#: expect:
#:   state: failed
#:   code: disk_limit
#:   says: >-
#:     The agent filled its disk: 8 MiB in /tmp and 64 MiB of output are allowed. Write less, or delete what is no
#:     longer needed.
#:   kernel: {exit_code: 1, disk_full: true}
from door import *

next_episode()
with open("/tmp/big", "wb", buffering=0) as file:
    while True:
        file.write(bytes(MIB))
