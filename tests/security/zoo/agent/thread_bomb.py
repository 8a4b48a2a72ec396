#: attacks: agent
#: why: Makes threads until the kernel refuses, and fails.
#: limits: {processes: 24}
#: expect:
#:   state: failed
#:   code: process_limit
#:   says: The agent was refused {count} new processes or threads; 24 may run at once. Start fewer.
#:   kernel: {exit_code: 3, refused_forks: true}
#: without:
#:   processes:
#:     code: agent_error
#:     says: The agent ended with exit code 3 before it answered. Its output is in the log.
#:     kernel: {exit_code: 3}
import threading

from door import *

next_episode()
try:
    while True:
        threading.Thread(target=time.sleep, args=(100_000,), daemon=True).start()
except RuntimeError:
    os._exit(3)
