#: attacks: agent
#: why: Hangs in one episode after the other; each costs its own time and no other's.
#: limits: {seconds: 12}
#: episode_limits: {episode_seconds: 0.5}
#: scenarios: 2
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:   starts: 2
from door import *

next_episode()
time.sleep(100_000)
