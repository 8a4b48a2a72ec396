#: attacks: agent
#: why: Fills the queues of sockets to the kernel, which count towards no memory limit.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [EAFNOSUPPORT, EAFNOSUPPORT]
from door import *

USERS, ROUTES = 2, 0
PATIENCE = 1000  # sockets: enough to be seen, too few to harm a host that has no answer to this


def fill(protocol):
    held, sender = [], socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    sender.setblocking(False)
    while len(held) < PATIENCE:
        held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))
        held[-1].bind((0, 0))
        try:
            while True:
                sender.sendto(bytes(60_000), held[-1].getsockname())
        except OSError:
            continue


episode = next_episode()
say(refused(fill, USERS), refused(fill, ROUTES))
answer(episode)
