#: attacks: agent
#: why: Makes sockets that would see or forge the traffic of others, and those that no namespace holds back.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EPERM, [EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT]]
from door import *

episode = next_episode()
say(refused(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
say([refused(socket.socket, family, socket.SOCK_RAW) for family in (socket.AF_PACKET, 40, 38)])
answer(episode)
