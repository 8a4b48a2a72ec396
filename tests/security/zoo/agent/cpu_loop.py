#: attacks: agent
#: why: Burns processor time and never answers.
#: limits: {seconds: 30, cpus: 0.5}
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
while True:
    pass
