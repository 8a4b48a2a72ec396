#: attacks: agent
#: why: Prints one line that never ends.
#: limits: {log: 262144}
#: expect:
#:   state: failed
#:   code: output_limit
#:   says: The agent printed more than the 256 KiB allowed. Print less.
#:   kernel: {cause: output_limit}
#:   log_bytes: 70000
from door import *

next_episode()
while True:
    os.write(1, b"x" * 65536)
