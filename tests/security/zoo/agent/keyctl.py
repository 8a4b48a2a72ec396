#: attacks: agent
#: why: Uses the kernel's keyrings, which no namespace parts.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, EPERM, EPERM]
from door import *

episode = next_episode()
say(
    call(number_of(250, 219), 0, -3, 0),
    call(number_of(248, 217), 0, 0, 0, 0, -3),
    call(number_of(249, 218), 0, 0, 0, 0),
)
answer(episode)
