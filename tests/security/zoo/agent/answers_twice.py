#: attacks: agent
#: why: Answers wrongly, then rightly, the first answer counts.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 0.0}
#:   said: [200, [409, already_answered]]
from door import *

episode = next_episode()
say(answer(episode, "41")[0])
say(code_of(answer(episode, "42")))
