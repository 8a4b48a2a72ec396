#: attacks: agent
#: why: Sends numbers, texts and names that JSON allows and little else does.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said:
#:     - [[200, true], [200, true], [400, false], [200, true], [200, true], [200, true]]
#:     - [[200, true], [400, false], [200, true], [200, true], [200, true]]
#:     - [[200, true], [200, false], [200, true]]
#:     - [[200, taken], [422, invalid_json], [200, taken]]
#:     - [[200, taken], [409, already_answered]]
from door import *

episode = next_episode()
path = f"/episodes/{episode['id']}"


def posts(where, body):
    status, reply = raw("POST", f"{path}/{where}", body.encode())
    return [status, reply.get("code", "taken") if isinstance(reply, dict) else "no JSON"]


def calls(arguments):
    body = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": ARGUMENTS}}'
    status, reply = raw("POST", f"{path}/mcp", body.replace("ARGUMENTS", arguments).encode())
    return [status, "result" in reply]


NUMBERS = ["1e999", "-1e999", "9" * 5000, "1e-999", "0." + "1" * 5000, "-0"]
say([calls('{"text": ' + number + "}") for number in NUMBERS])
say([calls('{"text": "' + text + '"}') for text in ("\\u0000", "\\ud800", "\\ud83d\\ude00", "\u2028", "\x7f")])
say([calls('{"a\\u0000": 1, "": 2, "a": 3, "a": 4}'), calls("[]"), calls("null")])
say([posts("notes", '{"text": "' + text + '"}') for text in ("\\u0000", "\\ud800", "")])
say([posts("answer", '{"text": "42", "data": ' + number + "}") for number in ("1e999", "9" * 5000)])
answer(episode, data={"nul": "\0", "deep": [[[[[[[[1]]]]]]]]})
