#: attacks: agent
#: why: Opens episode after episode without an answer, to pick those that it likes.
#: scenarios: 2
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:     - outcome: answered
#:   scores: {right: 1.0}
#:   said:
#:     - [[429, too_many_open_episodes], [429, too_many_open_episodes], [429, too_many_open_episodes]]
#:     - e1
#:     - [429, too_many_open_episodes]
#:     - 204
from door import *

first = next_episode()
say([code_of(ask("POST", "/episodes", {})) for _ in range(3)])
answer(first)
second = next_episode()
say(second["id"], code_of(ask("POST", "/episodes", {}, **{"Idempotency-Key": "another"})))
answer(second)
say(ask("POST", "/episodes", {})[0])
