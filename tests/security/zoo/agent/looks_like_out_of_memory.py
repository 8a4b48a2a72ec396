#: attacks: agent
#: why: Ends with the status that a kill for memory gives, to be told a fault that it does not have.
#: limits: {memory: 67108864}
#: expect:
#:   state: failed
#:   code: agent_error
#:   says: The agent was ended by signal 9 before it answered. Its output is in the log.
#:   kernel: {signal: 9}
from door import *

next_episode()
raise SystemExit(137)
