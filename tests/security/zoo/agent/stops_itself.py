#: attacks: agent
#: why: Stops its processes, so that they can take no signal that they would have to answer.
#: limits: {seconds: 30}
#: episode_limits: {episode_seconds: 1}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:   kernel: {cause: cancelled}
import signal

from door import *

if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
next_episode()
os.kill(os.getpid(), signal.SIGSTOP)
