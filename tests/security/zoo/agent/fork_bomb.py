#: attacks: agent
#: why: Makes processes until the kernel refuses, and fails.
#: limits: {processes: 24}
#: expect:
#:   state: failed
#:   code: process_limit
#:   says: The agent was refused {count} new processes or threads; 24 may run at once. Start fewer.
#:   kernel: {exit_code: 1, refused_forks: true}
#: without:
#:   processes:
#:     code: agent_error
#:     says: The agent ended with exit code 1 before it answered. Its output is in the log.
#:     kernel: {exit_code: 1}
from door import *

next_episode()
while True:
    if os.fork() == 0:
        time.sleep(100_000)
