#: attacks: agent
#: why: Answers with 10 MB, with a hundred thousand brackets, with half a character; then rightly.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[413, too_large], [422, invalid_json], [422, invalid_json], [422, invalid_json]]
from door import *

episode = next_episode()
path = f"/episodes/{episode['id']}/answer"
say(code_of(answer(episode, "x" * 10_000_000)))
say(code_of(raw("POST", path, b'{"text": "42", "data": ' + b"[" * 30_000 + b"]" * 30_000 + b"}")))
say(code_of(raw("POST", path, b'{"text": "\\ud800"}')))
say(code_of(raw("POST", path, b'{"text": "42", "data": NaN}')))
answer(episode)
