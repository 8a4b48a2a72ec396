#: attacks: agent
#: why: Has many children that take a little each; the sum is what counts.
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
for _ in range(32):
    if os.fork() == 0:
        block = bytearray(8 * MIB)
        time.sleep(100_000)
os.wait()
raise SystemExit(1)
