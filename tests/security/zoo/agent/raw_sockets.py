#: attacks: agent
#: why: Makes sockets that would see or forge the traffic of others, and those that no namespace holds back.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said:
#:     - [ESOCKTNOSUPPORT, ESOCKTNOSUPPORT]
#:     - [EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT]
#:     - [EPROTONOSUPPORT]
from door import *

episode = next_episode()
say([refused(socket.socket, socket.AF_INET, socket.SOCK_RAW, one) for one in (socket.IPPROTO_TCP, socket.IPPROTO_ICMP)])
say([refused(socket.socket, family, socket.SOCK_RAW) for family in (socket.AF_PACKET, socket.AF_NETLINK, 40, 38)])
modules = [(socket.SOCK_STREAM, 132), (socket.SOCK_STREAM, 262), (socket.SOCK_DGRAM, 115)]  # SCTP, MPTCP, …
say(sorted({refused(socket.socket, socket.AF_INET, kind, protocol) for kind, protocol in modules}))
answer(episode)
