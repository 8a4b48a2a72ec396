#: attacks: agent
#: why: Makes and enters namespaces, in each way that there is.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[EPERM, EPERM, EPERM, EPERM], EPERM, ENOSYS, EPERM]
from door import *

episode = next_episode()
say([call(number_of(272, 97), flag) for flag in (0x10000000, 0x40000000, 0x20000, 0x20000000)])
say(call(number_of(56, 220), 0x10000000 | 17, 0, 0, 0, 0), call(435, 0, 88))
say(call(number_of(308, 268), os.open("/proc/self/ns/net", os.O_RDONLY), 0))
answer(episode)
