#: attacks: agent
#: why: Maps memory shared and anonymous, which no heap counts, and touches every page.
#: limits: {memory: 67108864}
#: needs: [memory]
#: expect:
#:   state: failed
#:   code: memory_limit
#:   says: >-
#:     The agent needed more than the 64 MiB of memory allowed (peak {mebibytes} MiB). Keep less in memory at once,
#:     or work in smaller pieces.
#:   kernel: {cause: memory_limit, out_of_memory: true}
import mmap

from door import *

next_episode()
area = mmap.mmap(-1, 1 << 30)
for offset in range(0, len(area), mmap.PAGESIZE):
    area[offset] = 1
