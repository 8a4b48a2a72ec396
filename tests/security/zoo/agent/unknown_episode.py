#: attacks: agent
#: why: Acts on episodes that there are not, with every kind of name.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said:
#:     - - [404, unknown_episode]
#:       - [404, unknown_episode]
#:       - [404, unknown_episode]
#:       - [404, unknown_episode]
#:       - [404, unknown_episode]
#:       - [404, unknown_episode]
#:       - [404, unknown_episode]
#:     - [404, unknown_episode]
from door import *

episode = next_episode()
names = ["e99", "..", "%2e%2e", "e0%00", "x" * 4000, "e0;", "E0"]
say([code_of(answer({"id": name})) for name in names])
say(code_of(tool({"id": "e99"}, "echo")))
answer(episode)
