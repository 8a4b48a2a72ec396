"""Signals that are for the worker are none for what it runs."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

WORKER = """
import os, signal, sys
from pathlib import Path
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec

signal.signal(signal.SIGINT, lambda *_: None)
sandbox = open_sandbox("bubblewrap", state=Path(sys.argv[1]), images=Path(sys.argv[2]))
spec = SandboxSpec(image="gauntlet/base", command=["sh", "-c", "echo begun; read -r _"], label="ctrl-c",
                   owner=this_process())
with sandbox.prepare(spec) as run:
    os.killpg(0, signal.SIGINT)  # what a terminal does at Ctrl-C
    run.start()
    print(run.wait(60).cause)
"""


def test_a_ctrl_c_in_the_workers_terminal_ends_no_sandbox(state_folder, images_folder):
    command = [sys.executable, "-c", WORKER, str(state_folder), str(images_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True, timeout=120)
    assert (done.stdout, done.returncode) == ("exited\n", 0), done.stderr


@pytest.mark.conformance
def test_a_program_ignores_no_signal_because_its_worker_does(execute):
    """As under nohup, or in a pool of processes: both leave what they start with signals ignored."""
    ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        finished = execute(["grep", "SigIgn", "/proc/self/status"])
    finally:
        for number, handler in ignored.items():
            signal.signal(number, handler)
    name, mask = finished.stdout.split()
    # Two more are the C library's own, which it hands on as they are.
    assert (name, [number for number in signal.valid_signals() if int(mask, 16) >> (number - 1) & 1]) == ("SigIgn:", [])


def test_the_worker_itself_hears_it():
    """The control: the same Ctrl-C ends a program that shares the worker's group."""
    asked = "import os, signal, subprocess\nsignal.signal(signal.SIGINT, lambda *_: None)\n"
    asked += "child = subprocess.Popen(['sleep', '600'])\nos.killpg(0, signal.SIGINT)\nprint(child.wait())"
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False, start_new_session=True, timeout=60
    )
    assert done.stdout == f"{-signal.SIGINT}\n"
