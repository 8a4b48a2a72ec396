#: attacks: agent
#: why: Announces other lengths than it sends, none, two, and nonsense.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [["413", "400", "413", "400", "400", "400", "400"]]
from door import *

episode = next_episode()
REQUESTS = [
    b"Content-Length: 100000\r\n\r\n{}",
    b"Content-Length: -1\r\n\r\n{}",
    b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    b"Content-Length: two\r\n\r\n{}",
]


def send(rest):
    client = connect()
    client.sendall(f"POST /episodes/{episode['id']}/notes HTTP/1.1\r\nHost: gauntlet\r\n".encode() + rest)
    return client


say([send(rest).recv(12).decode()[9:] for rest in REQUESTS])
# Announced and never sent, or sent in part: the gateway waits for the rest, and for nobody else.
waiting = [send(b"Content-Length: 100\r\n\r\n" + part) for part in (b"", b"{", b'{"text": ')]
answer(episode)
