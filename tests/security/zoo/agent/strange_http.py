#: attacks: agent
#: why: Speaks to its gateway in every other way that a server could take for HTTP.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [["400", "404", "404", "404", "200", "404", "404", "400", "400", "400", "400", "400"]]
from door import *

episode = next_episode()
REQUESTS = [
    b"GET /episodes\r\n\r\n",
    b"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"TRACE /episodes HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://10.0.0.1/episodes HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n",
    b"GET /episodes HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /episodes HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /episodes HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"GET /epi\x00sodes HTTP/1.1\r\nHost: x\r\n\r\n",
]


def status(request):
    with connect() as client:
        try:
            client.sendall(request)
            return client.recv(12).decode()[9:]
        except OSError:
            return "cut off"


say([status(request) for request in REQUESTS])
answer(episode)
