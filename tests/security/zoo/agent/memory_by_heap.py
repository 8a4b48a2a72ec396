#: attacks: agent
#: why: Takes memory from the heap until the kernel ends it.
#: limits: {memory: 67108864}
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
blocks = []
while True:
    blocks.append(bytearray(MIB))
