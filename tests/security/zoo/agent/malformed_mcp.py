#: attacks: agent
#: why: Speaks everything but the protocol to its tools, until that ends its episode.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: failed
#:       code: protocol_error
#:       says: The agent sent more than 20 malformed requests in this episode. See the episode API for what it accepts.
#:   scores: {right: 0.0}
#:   said: [[400, 400, 400, 400, 400, 400, 400, 400, 400, 400], [410, episode_closed]]
from door import *

episode = next_episode()
path = f"/episodes/{episode['id']}/mcp"
BODIES = [b"", b"{", b"[]", b"null", b'{"jsonrpc": "1.0"}', b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"[" * 100_000]
BODIES += [b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/call"}', b'{"jsonrpc": "2.0", "id": {}, "method": 7}']
statuses = [raw("POST", path, body)[0] for body in BODIES]
say(statuses)
while raw("POST", path, b"{")[0] == 400:
    pass
say(code_of(answer(episode)))
