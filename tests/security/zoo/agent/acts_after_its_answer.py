#: attacks: agent
#: why: Calls tools, speaks and plans when its answer is given.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[409, already_answered], [409, already_answered], [409, already_answered], [409, already_answered]]
from door import *

episode = next_episode()
answer(episode)
path = f"/episodes/{episode['id']}"
say(code_of(tool(episode, "multiply", a=6, b=7)), code_of(ask("POST", f"{path}/messages", {"text": "x"})))
say(code_of(ask("POST", f"{path}/notes", {"text": "x"})), code_of(ask("PUT", f"{path}/plan", {"steps": []})))
