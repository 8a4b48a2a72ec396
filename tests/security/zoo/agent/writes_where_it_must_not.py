#: attacks: agent
#: why: Tries to change its inputs, its program, the root and the kernel's settings.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[], [EROFS, EROFS], EROFS]
from door import *

PLACES = [
    "agent.py",
    "/app/program/new",
    "/app/new",
    "/new",
    "/etc/passwd",
    "/usr/bin/new",
    "/opt/new",
    "/run/gauntlet/new",
    "/run/gauntlet/gateway.sock",
    "/proc/sys/kernel/hostname",
    "/proc/sysrq-trigger",
    "/sys/kernel/mm/ksm/run",
    "/sys/fs/cgroup/new",
    "/dev/new",
    "/dev/mem",
    "/dev/kmsg",
]
episode = next_episode()
say([place for place in PLACES if refused(os.open, place, os.O_CREAT | os.O_WRONLY) == "allowed"])
say([refused(os.chmod, "agent.py", 0o777), refused(os.unlink, "agent.py")])
say(refused(os.rename, "/run/gauntlet", "/run/elsewhere"))
answer(episode)
