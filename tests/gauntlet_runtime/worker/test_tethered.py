"""What is started tethered ends when who started it is killed; the control is not tethered and lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

PROGRAM = """
import subprocess, sys, time
from gauntlet_runtime.tethered import tethered
command = ["sleep", "600"]
child = subprocess.Popen(tethered(command) if sys.argv[1] == "tethered" else command, start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def gone(pid, *, patience):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("how", ["tethered", "free"])
def test_a_child_of_a_killed_process(how):
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        deadline = time.monotonic() + 60
        while "sleep" not in psutil.Process(child).name():  # it is what it was started for
            assert time.monotonic() < deadline
            time.sleep(0.02)
        parent.kill()
        parent.wait()
        assert gone(child, patience=60 if how == "tethered" else 0.5) == (how == "tethered")
    finally:
        parent.stdout.close()
        if psutil.pid_exists(child):
            os.kill(child, signal.SIGKILL)
