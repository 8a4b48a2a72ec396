#: attacks: agent
#: why: Looks into other processes, the worker's environment above all.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [true, false, false, [ESRCH, ESRCH], [EACCES, EACCES]]
#: without:
#:   uid: {said: [true, false, false, [ESRCH, ESRCH], [allowed, allowed]]}
from door import *


def readable(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


episode = next_episode()
mine = {os.getpid(), os.getppid()}
pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
say(len(pids) <= 3)
environments = b"".join(readable(f"/proc/{pid}/environ") for pid in range(1, 5000))
say(TARGETS["variable"].encode() in environments, TARGETS["variable"] in os.environ)
say([refused(os.kill, pid, 0) for pid in (TARGETS["worker"], TARGETS["worker"] + 1)])
say([refused(os.open, f"/proc/1/{name}", os.O_RDONLY) for name in ("environ", "mem")])
answer(episode)
