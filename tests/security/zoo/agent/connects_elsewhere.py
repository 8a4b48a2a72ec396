#: attacks: agent
#: why: Tries to connect to everything that it was told of, and to what it could guess.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[], [lo], [], [], ENETUNREACH]
from door import *


def reaches(family, address):
    with socket.socket(getattr(socket, family)) as client:
        client.settimeout(2)
        return refused(client.connect, address if isinstance(address, str) else tuple(address)) == "allowed"


episode = next_episode()
say([address for family, address in TARGETS["addresses"] if reaches(family, address)])
say([line.partition(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines() if ":" in line])
guesses = [["AF_INET", ["169.254.169.254", 80]], ["AF_INET", ["10.0.0.1", 443]], ["AF_INET6", ["::1", ADDRESS.port]]]
say([address for family, address in guesses if reaches(family, address)])
say([port for port in range(1, 9000) if port != ADDRESS.port and reaches("AF_INET", ["127.0.0.1", port])])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    say(refused(client.sendto, b"x", ("10.0.0.1", 53)))
answer(episode)
