#: attacks: agent
#: why: Keeps its memory in pipes, which are the kernel's.
#: limits: {memory: 67108864}
#: needs: [memory]
#: expect:
#:   state: failed
#:   code: memory_limit
#:   says: >-
#:     The agent needed more than the 64 MiB of memory allowed (peak {mebibytes} MiB). Keep less in memory at once, or
#:     work in smaller pieces.
#:   kernel: {cause: memory_limit, out_of_memory: true}
import contextlib
import fcntl

from door import *

next_episode()
held = []
while len(held) < 4000:
    _, end = os.pipe()
    held.append(end)
    os.set_blocking(end, False)
    with contextlib.suppress(OSError):
        fcntl.fcntl(end, 1031, MIB)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(end, bytes(65536))
time.sleep(5)
raise SystemExit(3)
