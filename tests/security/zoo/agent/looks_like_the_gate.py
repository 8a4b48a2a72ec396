#: attacks: agent
#: why: Ends with the status that the sandbox's own shell has when it is not let through, to be told as the platform's.
#: expect:
#:   state: failed
#:   code: agent_error
#:   says: The agent ended with exit code 125 before it answered. Its output is in the log.
#:   starts: 1
#:   kernel: {exit_code: 125}
from door import *

next_episode()
raise SystemExit(125)
