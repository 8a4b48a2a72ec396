"""What goes through a program's pipes arrives whole, whatever its size and however slowly the program reads."""

from __future__ import annotations

import select

import pytest

from gauntlet_runtime.sandbox.interface import Stdio

pytestmark = pytest.mark.conformance
KIB = 1 << 10

# It lets each message pile up in every buffer on the way before it reads on.
SLOW_READER = """
import sys, time
while True:
    time.sleep(0.1)
    line = sys.stdin.buffer.readline()
    if not line:
        break
    sys.stdout.write(f"{len(line)}\\n")
    sys.stdout.flush()
"""


def test_the_end_of_a_message_arrives_though_the_program_reads_late(prepare):
    """The last part of a message once waited for the next one, where the buffers were full when it came."""
    run = prepare(SLOW_READER, stdio=Stdio.PIPES)
    assert run.stdin is not None
    assert run.stdout is not None
    run.start()
    for size in range(64 * KIB, 1024 * KIB, 24 * KIB):
        left = memoryview(b"x" * (size - 1) + b"\n")
        while left:
            left = left[run.stdin.write(left) :]
        ready = select.poll()  # select() takes no descriptor above 1023
        ready.register(run.stdout, select.POLLIN)
        assert ready.poll(60_000), f"a message of {size} bytes did not arrive whole"
        assert run.stdout.readline() == b"%d\n" % size
    run.stdin.close()
    verdict = run.wait(60)
    assert verdict is not None
    assert verdict.ok
