#: attacks: agent
#: why: Traces its parent, and reads another process's memory past it.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, EPERM, EPERM]
from door import *

episode = next_episode()
say(call(number_of(101, 117), 16, os.getppid(), 0, 0), call(number_of(310, 270), os.getppid(), 0, 0, 0, 0, 0))
say(call(number_of(438, 438), 0, 0, 0))
answer(episode)
