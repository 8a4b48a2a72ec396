#: attacks: agent
#: why: Makes its record grow with every call, up to what an episode may have.
#: episode_limits: {record_bytes: 8388608, turns: 1000, tool_calls: 1000}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: output_limit
#:       says: >-
#:         The record of this episode grew beyond the 8 MiB allowed: messages, notes, plans, tool calls and their
#:         results together. Say less, and ask tools for less.
#:   scores: {right: 0.0}
#:   said: [[410, episode_closed]]
from door import *

episode = next_episode()
text = "x" * 900_000
while tool(episode, "echo", text=text)[0] == 200:
    pass
say(code_of(answer(episode)))
