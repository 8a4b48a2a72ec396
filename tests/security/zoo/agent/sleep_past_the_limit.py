#: attacks: agent
#: why: Sleeps far beyond its episode's time.
#: limits: {seconds: 30}
#: episode_limits: {episode_seconds: 1}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:   kernel: {cause: cancelled}
from door import *

next_episode()
time.sleep(100_000)
