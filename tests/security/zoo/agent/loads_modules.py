#: attacks: agent
#: why: Asks for what a module of the kernel would have to bring, which the kernel then loads, whoever asks.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[EAFNOSUPPORT], [ESOCKTNOSUPPORT], [EPROTONOSUPPORT], [EPERM], [EPERM]]
import fcntl
import struct

from door import *

INTERNET = (socket.AF_INET, socket.AF_INET6)
NETLINK, PACKET, RDS, TIPC, ALG, VSOCK = 16, 17, 21, 30, 38, 40
RDM, SEQPACKET, DCCP = 4, 5, 6
TIOCSETD, GSM, PPP = 0x5423, 21, 3
BRIDGES_AND_VLANS = (0x8940, 0x8941, 0x89A0, 0x89A1, 0x8982, 0x8983)

episode = next_episode()
others = [*INTERNET, NETLINK, PACKET, RDS, TIPC, ALG, VSOCK]
say(sorted({refused(socket.socketpair, family, kind) for family in others for kind in (1, 2, SEQPACKET)}))
say(sorted({refused(socket.socket, family, kind) for family in INTERNET for kind in (RDM, SEQPACKET, DCCP)}))
crossed = [(socket.SOCK_STREAM, socket.IPPROTO_UDP), (socket.SOCK_DGRAM, socket.IPPROTO_TCP)]
say(sorted({refused(socket.socket, family, *pair) for family in INTERNET for pair in crossed}))
_, terminal = os.openpty()
say(sorted({refused(fcntl.ioctl, terminal, TIOCSETD, struct.pack("i", kind)) for kind in (GSM, PPP)}))
with socket.socket() as any_socket:
    say(sorted({refused(fcntl.ioctl, any_socket, request, bytes(64)) for request in BRIDGES_AND_VLANS}))
answer(episode)
