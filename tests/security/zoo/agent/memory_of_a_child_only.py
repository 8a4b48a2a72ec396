#: attacks: agent
#: why: Loses a child to the memory limit, copes with it and answers; that is its good right.
#: limits: {memory: 100663296}
#: needs: [memory]
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {cause: memory_limit, out_of_memory: true}
#:   scores: {right: 1.0}
from door import *

episode = next_episode()
if os.fork() == 0:
    Path("/proc/self/oom_score_adj").write_text("1000")
    blocks = []
    while True:
        blocks.append(bytearray(MIB))
os.wait()
answer(episode)
