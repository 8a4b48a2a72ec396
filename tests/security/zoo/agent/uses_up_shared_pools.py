#: attacks: agent
#: why: Takes up what all programs of the host share, so that no other sandbox can start, and nobody open a file.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[EPERM, EPERM, EPERM, EPERM], [EPERM], EPERM, EPERM, true]
import resource
import struct

from door import *

ATTACH = {"filter": 26, "bpf": 50, "reuseport_cbpf": 51, "reuseport_ebpf": 52}
SET_MODE_FILTER, NEW_LISTENER, ALLOW = 1, 8, 0x7FFF0000
PROCESSES = 128

episode = next_episode()
instruction = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, ALLOW), 8)  # return
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(instruction))
attached = []
for option in ATTACH.values():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        attached.append(refused(one.setsockopt, socket.SOL_SOCKET, option, program))
say(attached)
pair = socket.socketpair()
say(sorted({refused(one.setsockopt, socket.SOL_SOCKET, ATTACH["filter"], program) for one in pair}))
room = ctypes.create_string_buffer(program, len(program))
say(call(number_of(317, 277), SET_MODE_FILTER, NEW_LISTENER, ctypes.addressof(room)))
# Each context of asynchronous input and output counts towards one number of the host's.
context = ctypes.c_ulong(0)
contexts = call(number_of(206, 0), 1024, ctypes.addressof(context))
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
of_the_host = int(Path("/proc/sys/fs/file-max").read_text())
say(contexts, files <= 1024 or files * PROCESSES <= of_the_host // 4)
answer(episode)
