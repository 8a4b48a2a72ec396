#: attacks: agent
#: why: Ignores every signal that can be ignored, and hangs.
#: limits: {seconds: 30}
#: episode_limits: {episode_seconds: 1}
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: time_limit
#:       says: The agent gave no answer within the {seconds} seconds of an episode.
#:   kernel: {cause: cancelled}
import contextlib
import signal

from door import *

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
next_episode()
while True:
    time.sleep(100_000)
