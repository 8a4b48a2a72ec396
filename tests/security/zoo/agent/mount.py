#: attacks: agent
#: why: Mounts, in the old way and the new, and changes its root.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, EPERM, EPERM, EPERM, [EPERM, EPERM, EPERM, EPERM, EPERM, EPERM], EPERM]
from door import *

episode = next_episode()
say(call(number_of(165, 40), 0, 0, 0, 0, 0), call(number_of(166, 39), 0, 0), call(number_of(161, 51), 0))
say(call(number_of(155, 41), 0, 0), [call(new, 0, 0, 0, 0, 0) for new in range(428, 434)], call(442, -1, 0, 0, 0, 0))
answer(episode)
