#: attacks: agent
#: why: Answers an episode before it was given it, and another that is over.
#: scenarios: 2
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:     - outcome: answered
#:   scores: {right: 1.0}
#:   said: [[404, unknown_episode], [409, already_answered]]
from door import *

first = next_episode()
say(code_of(answer({"id": "e1"}, "41")))
answer(first)
second = next_episode()
say(code_of(answer(first, "41")))
answer(second)
