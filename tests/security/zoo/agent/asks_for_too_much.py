#: attacks: agent
#: why: Asks a tool for a result of 20 MB; it is told, and neither its environment nor its episode ends.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: ["The tool's result is larger than the {size} MiB that a result may have. Ask it for less.", "42", 1]
from door import *

episode = next_episode()
say(text_of(tool(episode, "large", bytes=20 * MIB)))
say(text_of(tool(episode, "multiply", a=6, b=7)), len(ask("GET", "/episodes")[1]["episodes"]))
answer(episode)
