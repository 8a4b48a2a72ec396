#: attacks: agent
#: why: Asks for an episode that it was not given, by its name.
#: scenarios: 2
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:     - outcome: answered
#:   scores: {right: 1.0}
#:   said: [[404, unknown_episode], [404, unknown_episode], [404, not_found], [404, not_found]]
from door import *

first = next_episode()
other = {"id": "e1"}
say(code_of(tool(other, "echo")), code_of(ask("POST", "/episodes/e1/notes", {"text": "x"})))
say(code_of(ask("GET", "/episodes/e1")), code_of(ask("GET", "/episodes/../episodes/e1/notes")))
answer(first)
answer(next_episode())
