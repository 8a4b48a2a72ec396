#: attacks: scorer
#: why: Never ends, and leaves a child that does not either.
#: limits: {seconds: 1}
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: >-
#:     The scoring program ran for {seconds} seconds; 1 are allowed. Make it faster, or end it when its work is done.
#:   kernel: {cause: time_limit}
import os
import time

os.fork()
time.sleep(100_000)
