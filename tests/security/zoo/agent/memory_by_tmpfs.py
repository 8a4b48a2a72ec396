#: attacks: agent
#: why: Keeps its memory in files of /tmp and /dev/shm, which are memory too.
#: limits: {memory: 67108864, scratch: 268435456}
#: needs: [memory]
#: expect:
#:   state: failed
#:   code: memory_limit
#:   says: >-
#:     The agent needed more than the 64 MiB of memory allowed (peak {mebibytes} MiB). Keep less in memory at once,
#:     or work in smaller pieces.
#:   kernel: {cause: memory_limit, out_of_memory: true}
from door import *

next_episode()
for folder in ("/dev/shm", "/tmp"):
    with open(f"{folder}/memory", "wb", buffering=0) as file:
        for _ in range(60):
            file.write(bytes(MIB))
