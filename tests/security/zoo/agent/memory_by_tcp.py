#: attacks: agent
#: why: Fills the buffers of TCP connections to itself, which a memory limit may not count; it gets no more than that.
#: limits: {memory: 67108864}
#: needs: [memory]
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [true]
import contextlib

from door import *

episode = next_episode()
server = socket.create_server(("127.0.0.1", 0), backlog=1000)
held = []
total = 0
while len(held) < 400:
    client = socket.create_connection(server.getsockname())
    held.append((client, server.accept()))
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            total += client.send(bytes(MIB))
say(total < 2 * 64 * MIB or total // MIB)
answer(episode)
