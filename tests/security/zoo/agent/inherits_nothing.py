#: attacks: agent
#: why: Looks for descriptors, variables and signals that whoever started it forgot to take away.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[0, 1, 2], [], ["0", "0", "0"]]
from door import *

OURS = {"GAUNTLET_URL", "GAUNTLET_SOCKET", "GAUNTLET_PARALLEL_EPISODES"}
IMAGES = {"HOSTNAME", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "TMPDIR", "USER", "VIRTUAL_ENV"}
USUAL = {"HOME", "LANG", "LC_CTYPE", "PWD", "PYTHONPATH"}


episode = next_episode()
say(sorted(fd for fd in range(1000) if os.path.exists(f"/proc/self/fd/{fd}") and refused(os.fstat, fd) == "allowed"))
say(sorted(name for name in os.environ if name not in OURS | IMAGES | USUAL))
status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
say([str(int(status[name].strip(), 16)) for name in ("SigBlk", "CapInh", "CapAmb")])
answer(episode)
