#: attacks: agent
#: why: Ends at once, and leaves its work to a process of its own session; that one ends with it.
#: expect:
#:   state: failed
#:   code: agent_error
#:   says: The agent ended with exit code 0 before it answered. Its output is in the log.
#:   kernel: {exit_code: 0}
from door import *

episode = next_episode()
if os.fork() == 0:
    os.setsid()
    time.sleep(20)
    answer(episode)
os._exit(0)
