#: attacks: agent
#: why: Forks twice and makes a session of its own, so that a process outlives the run.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
from door import *

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        time.sleep(100_000)
    os._exit(0)
os.wait()
answer(next_episode())
