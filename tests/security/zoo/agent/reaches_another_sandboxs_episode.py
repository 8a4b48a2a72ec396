#: attacks: agent
#: why: Looks for the episodes of its own other sandboxes, which work at the same time, and answers them wrongly.
#: isolation: scenario
#: scenarios: 3
#: parallel: 2
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:     - outcome: answered
#:     - outcome: answered
#:   starts: 3
#:   scores: {right: 1.0}
#:   said: [[], [], []]
from door import *

episode = next_episode()
others = [f"e{number}" for number in range(3) if f"e{number}" != episode["id"]]
replies = []
for _ in range(30):  # long enough for those that run now to see each other
    for other in others:
        replies += [ask("POST", f"/episodes/{other}/notes", {"text": "hello"}), answer({"id": other}, "wrong")]
        replies.append(tool({"id": other}, "multiply", a=1, b=1))
    time.sleep(0.05)
say([reply for reply in replies if reply[0] < 400])
answer(episode)
