#: attacks: agent
#: why: Sends a hundred requests a byte at a time, and works beside them.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: ["42", "42", "42", "42", "42"]
from door import *

episode = next_episode()
held = [connect() for _ in range(100)]
head = b"POST /episodes HTTP/1.1\r\nHost: gauntlet\r\nX-Slow: "
for count, byte in enumerate(head[:20]):
    for client in held:
        client.send(bytes([byte]))
    if count % 4 == 0:
        say(text_of(tool(episode, "multiply", a=6, b=7)))
answer(episode)
