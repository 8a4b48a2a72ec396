#: attacks: agent
#: why: Every process of it makes processes, for ever, whatever the kernel says.
#: limits: {seconds: 30, processes: 24, cpus: 0.5}
#: episode_limits: {episode_seconds: 1}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:   kernel: {cause: cancelled, refused_forks: true}
#: without:
#:   processes: {kernel: {cause: cancelled}}
import contextlib

from door import *

next_episode()
while True:
    with contextlib.suppress(OSError):
        os.fork()
