#: attacks: agent
#: why: Makes files of a terabyte that hold nothing; they take no room, and do no harm.
#: limits: {scratch: 8388608}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
from door import *

for number in range(10):
    with open(f"/tmp/sparse{number}", "wb") as file:
        file.truncate(1 << 40)
answer(next_episode())
