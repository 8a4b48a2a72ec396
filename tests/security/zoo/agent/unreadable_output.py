#: attacks: agent
#: why: Prints NUL, invalid UTF-8 and escape sequences of terminals.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   log_holds: ["a\ufffdb", "c\ufffd\ufffdd"]
from door import *

os.write(1, b"a\0b\n")
os.write(2, b"c\xff\xfed \x1b[2J\x1b]0;owned\x07\n")
answer(next_episode())
