#: attacks: agent
#: why: Makes device nodes, to read the host's disk and memory.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[EPERM, EPERM, EPERM, EPERM], []]
import stat

from door import *

episode = next_episode()
devices = [(stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 10, 229)]
say([refused(os.mknod, "/tmp/device", kind | 0o666, os.makedev(*numbers)) for kind, *numbers in devices])
say(sorted(set(os.listdir("/dev")) & {"mem", "kmem", "kvm", "fuse", "sda", "vda", "nvme0n1", "loop-control"}))
answer(episode)
