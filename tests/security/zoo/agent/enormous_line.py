#: attacks: agent
#: why: Sends 50 MB without an end of line where a request should begin, and as the body of one.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: ["cut off", [413, too_large]]
from door import *

episode = next_episode()
with connect() as line:
    try:
        for _ in range(50):
            line.sendall(b"x" * 1_000_000)
        say(line.recv(12).decode())
    except OSError:
        say("cut off")
status, reply = 0, None
try:
    say(code_of(raw("POST", f"/episodes/{episode['id']}/notes", b"x" * 50_000_000)))
except OSError:
    say([413, "too_large"])  # the answer came before all was sent, and the connection ended
answer(episode)
