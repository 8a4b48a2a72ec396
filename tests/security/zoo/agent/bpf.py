#: attacks: agent
#: why: Loads programs into the kernel, and opens its probes.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, EPERM, EPERM, EPERM, EPERM, EPERM]
from door import *

episode = next_episode()
say(call(number_of(321, 280), 5, 0, 0), call(number_of(298, 241), 0, 0, -1, -1, 0), call(number_of(323, 282), 0))
say(call(number_of(300, 262), 0, 0), call(number_of(175, 105), 0, 0, 0), call(number_of(246, 104), 0, 0, 0, 0))
answer(episode)
