#: attacks: agent
#: why: Works well, and prints 200 MB where 256 MiB are declared; it is scored all the same.
#: limits: {log: 268435456}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   log_bytes: 70000
from door import *

line = b"x" * 1_999_999 + b"\n"
for _ in range(100):
    os.write(1, line)
answer(next_episode())
