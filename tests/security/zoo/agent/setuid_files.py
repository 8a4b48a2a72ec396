#: attacks: agent
#: why: Makes files that would run as another, and runs those that the image has.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said: [true, false, EPERM, EPERM, EPERM]
#: without:
#:   uid: {said: [true, false, EINVAL, EINVAL, EPERM]}
import shutil
import subprocess

from door import *

episode = next_episode()
mine = Path("/tmp/mine")
shutil.copy("/usr/bin/id", mine)
mine.chmod(0o6755)
found = subprocess.run(["find", "/", "-xdev", "-perm", "/6000", "-type", "f"], capture_output=True, text=True)
says = [subprocess.run([mine, "-u"], capture_output=True, text=True).stdout.strip()]
say(says == [str(os.getuid())], os.getuid() == 0)
say(refused(os.setuid, 0), refused(os.chown, mine, 0, 0), refused(os.setgroups, [0]))
for path in found.stdout.split():
    done = subprocess.run([path, "-c", "id -u"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    if done.stdout.strip() == "0":
        say(path)
answer(episode)
