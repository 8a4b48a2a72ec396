#: attacks: agent
#: why: Makes a hundred thousand tool calls.
#: limits: {seconds: 600}
#: episode_limits: {episode_seconds: 600}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: protocol_error
#:       says: >-
#:         The agent sent more than 1000 requests beyond its limits in this episode. See the episode API for what it
#:         accepts.
#:   scores: {right: 0.0}
from door import *

episode = next_episode()
for _ in range(100_000):
    tool(episode, "multiply", a=6, b=7)
answer(episode)
