#: attacks: agent
#: why: Sends SIGKILL to every process that it can reach, and goes on.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM]
#: without:
#:   uid: {said: [allowed]}
import contextlib

from door import *

episode = next_episode()
with contextlib.suppress(ProcessLookupError, PermissionError):
    os.kill(-1, 9)
say(refused(os.kill, 1, 9))
answer(episode)
