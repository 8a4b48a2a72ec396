#: attacks: agent
#: why: Makes fifty calls at the same time, where four may be under way.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [true, true]
import threading

from door import *

episode = next_episode()
replies = []
calls = [threading.Thread(target=lambda: replies.append(text_of(tool(episode, "slow", seconds=3)))) for _ in range(50)]
[one.start() for one in calls]
[one.join() for one in calls]
say(replies.count("done") >= 4, all("4 tool calls may be under way" in one for one in replies if one != "done"))
answer(episode)
