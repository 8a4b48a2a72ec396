#: attacks: agent
#: why: Makes a million empty files, which take no room of a disk but of the kernel.
#: limits: {memory: 67108864, scratch: 8388608}
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
for number in range(1_000_000):
    os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))
