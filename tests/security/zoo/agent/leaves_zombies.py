#: attacks: agent
#: why: Never waits for its children, and closes its own standard streams.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
from door import *

episode = next_episode()
for _ in range(40):
    if os.fork() == 0:
        os._exit(0)
for descriptor in range(3):
    os.close(descriptor)
answer(episode)
os._exit(0)
