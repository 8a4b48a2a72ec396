#: attacks: agent
#: why: Uses io_uring, which does system calls past the filter.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, EPERM, EPERM]
from door import *

episode = next_episode()
say(call(425, 8, 0), call(426, -1, 0, 0, 0, 0), call(427, -1, 0, 0, 0))
answer(episode)
