#: attacks: agent
#: why: Looks for files of the host in every place that it could guess.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [[]]
from door import *

PLACES = [
    *TARGETS["files"],
    "/etc/shadow-",
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/var/lib/docker",
    "/boot/grub",
    "/host",
]
ways = [lambda p: p, lambda p: f"/proc/1/root{p}", lambda p: f"/proc/self/root{p}", lambda p: f"/proc/1/cwd/../..{p}"]
episode = next_episode()
say([way(place) for place in PLACES for way in ways if os.path.isfile(way(place)) or os.path.isdir(way(place))])
answer(episode)
