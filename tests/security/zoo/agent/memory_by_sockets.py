#: attacks: agent
#: why: Keeps its memory in the buffers of unix sockets, which are the kernel's.
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

from door import *

next_episode()
held = []
while len(held) < 4000:
    pair = socket.socketpair()
    held.append(pair)
    for end in pair:
        end.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                end.send(bytes(65536))
time.sleep(5)
raise SystemExit(3)
