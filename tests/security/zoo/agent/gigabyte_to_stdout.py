#: attacks: agent
#: why: Prints a gigabyte to its standard output.
#: limits: {log: 262144}
#: expect:
#:   state: failed
#:   code: output_limit
#:   says: The agent printed more than the 256 KiB allowed. Print less.
#:   kernel: {cause: output_limit}
#:   log_bytes: 70000
from door import *

next_episode()
line = b"x" * 1023 + b"\n"
for _ in range(1 << 20):
    os.write(1, line)
