#: attacks: agent
#: why: Makes the organizer's environment need more memory than it has, each time that it gets a new one.
#: environment_limits: {memory: 67108864}
#: needs: [memory]
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: environment_error
#:       says: The competition's environment failed twice during this episode. Its organizer has to look at it.
#:   kernel: {exit_code: 0}
from door import *

while episode := next_episode():
    tool(episode, "large", bytes=300 * MIB)
