#: attacks: agent
#: why: Works well, and prints 200 MB where 1 MiB is allowed; it is told, as declared.
#: expect:
#:   state: failed
#:   code: output_limit
#:   says: The agent printed more than the 1024 KiB allowed. Print less.
#:   kernel: {cause: output_limit}
#:   log_bytes: 70000
from door import *

episode = next_episode()
line = b"x" * 1_999_999 + b"\n"
for _ in range(100):
    os.write(1, line)
time.sleep(30)
answer(episode)
