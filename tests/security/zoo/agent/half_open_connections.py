#: attacks: agent
#: why: Opens thousands of connections to its gateway and says nothing on them.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [3000, "42"]
import contextlib
import resource

from door import *

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
episode = next_episode()
kept = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=60)
kept.request("GET", "/episodes")
kept.getresponse().read()
held = []
for _ in range(3000):
    client = socket.socket()
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        client.connect((ADDRESS.hostname, ADDRESS.port))
    held.append(client)
say(len(held))
# The connection that was there before them works on.
call = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "multiply", "arguments": {"a": 6, "b": 7}},
}
headers = {"Content-Type": "application/json", "Accept": "application/json"}
kept.request("POST", f"/episodes/{episode['id']}/mcp", json.dumps(call), headers)
say(text_of((200, json.loads(kept.getresponse().read()))))
for client in held:
    client.close()
status = 0
while status not in (200, 409):  # 409: its first answer's reply was lost
    with contextlib.suppress(OSError):
        status, _ = answer(episode)
