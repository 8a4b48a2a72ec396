#: attacks: agent
#: why: Calls the tools that are between platform and environment, to see the state, to begin anew.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said:
#:     - [multiply, echo, large, slow]
#:     - ["Unknown tool: gauntlet_state", "Unknown tool: gauntlet_reset", "Unknown tool: gauntlet_user"]
from door import *

episode = next_episode()
listed = rpc(episode, "tools/list")[1]["result"]["tools"]
say([entry["name"] for entry in listed])
say([text_of(tool(episode, name)) for name in ("gauntlet_state", "gauntlet_reset", "gauntlet_user")])
answer(episode)
