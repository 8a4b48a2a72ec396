#: attacks: agent
#: why: Sleeps without ever asking for an episode, so that no episode's clock runs.
#: limits: {seconds: 1}
#: expect:
#:   state: failed
#:   code: time_limit
#:   says: The agent was stopped because it did not ask for its next episode in time.
#:   starts: 1
#:   kernel: {cause: cancelled}
import time

time.sleep(100_000)
