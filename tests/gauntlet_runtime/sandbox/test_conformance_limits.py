"""Limits, and that a verdict tells them apart from each other and from a failing program."""

from __future__ import annotations

import os
import threading

import pytest

from gauntlet_runtime.sandbox.interface import Cause, Limits, Mount

pytestmark = pytest.mark.conformance
MIB = 1 << 20

HOG = "blocks = [bytearray(1 << 20) for _ in range(1000)]"


def test_more_memory_than_allowed_is_told_by_the_kernels_counter(execute):
    verdict = execute(HOG, limits=Limits(memory=100 * MIB)).verdict
    assert (verdict.cause, verdict.signal) == (Cause.MEMORY_LIMIT, 9)
    assert verdict.oom_kills >= 1
    assert verdict.memory_limit == 100 * MIB


def test_a_program_that_kills_itself_did_not_run_out_of_memory(execute):
    verdict = execute(
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", limits=Limits(memory=100 * MIB)
    ).verdict
    assert (verdict.cause, verdict.exit_code, verdict.signal, verdict.oom_kills) == (Cause.EXITED, None, 9, 0)


def test_a_program_that_only_looks_killed_did_not_run_out_of_memory(execute):
    verdict = execute("raise SystemExit(137)", limits=Limits(memory=100 * MIB)).verdict
    assert (verdict.cause, verdict.oom_kills) == (Cause.EXITED, 0)


def test_a_child_that_ran_out_of_memory_counts_though_its_parent_lived_on(execute):
    finished = execute(
        f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', '{HOG}']).returncode)",
        limits=Limits(memory=100 * MIB),
    )
    assert finished.stdout == "-9\n"
    assert (finished.verdict.cause, finished.verdict.exit_code) == (Cause.MEMORY_LIMIT, 0)


def test_a_python_that_raises_memory_error_did_not_meet_the_limit(execute):
    verdict = execute("raise MemoryError", limits=Limits(memory=100 * MIB)).verdict
    assert (verdict.cause, verdict.exit_code, verdict.oom_kills) == (Cause.EXITED, 1, 0)


@pytest.mark.parametrize("body", ["time.sleep(600)", "exec('while True: pass')"])
def test_the_time_limit_ends_the_whole_tree(execute, processes_with_uid, body):
    finished = execute(
        f"""
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        break
{body}
""",
        limits=Limits(seconds=2, processes=20),
    )
    assert finished.verdict.cause is Cause.TIME_LIMIT
    assert processes_with_uid(finished.run.uid) == []


def test_the_time_limit_holds_though_nobody_waits(prepare, eventually, processes_with_uid):
    run = prepare("import time; time.sleep(600)", limits=Limits(seconds=1))
    run.start()
    eventually(lambda: processes_with_uid(run.uid))
    eventually(lambda: not processes_with_uid(run.uid))
    verdict = run.wait(30)
    assert verdict is not None
    assert verdict.cause is Cause.TIME_LIMIT


def test_a_program_cannot_ignore_the_end(execute):
    verdict = execute(
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)",
        limits=Limits(seconds=1),
    ).verdict
    assert verdict.cause is Cause.TIME_LIMIT


def test_a_time_limit_may_be_longer_than_the_kernel_sleeps(execute):
    """A job of hundreds of episodes: each may make its agent wait for an hour."""
    assert execute("print('ran')", limits=Limits(seconds=1e9)).verdict.ok


def test_more_processors_than_the_host_has_are_as_many_as_it_has(execute):
    """A task is written for any host; installing packages asks for two."""
    assert execute("print('ran')", limits=Limits(cpus=2.0 * len(os.sched_getaffinity(0)) + 4)).verdict.ok


def test_the_time_before_the_start_does_not_count(prepare):
    run = prepare("print('ran')", limits=Limits(seconds=20))
    assert run.wait(0.3) is None
    run.start()
    verdict = run.wait(60)
    assert verdict is not None
    assert verdict.ok


def test_forks_beyond_the_limit_are_refused_and_counted(execute):
    finished = execute(
        """
import os, time
made = 0
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except BlockingIOError:
    print(made)
""",
        limits=Limits(processes=32),
    )
    assert 20 <= int(finished.stdout) <= 31
    assert finished.verdict.process_limit_hits >= 1
    assert finished.verdict.cause is Cause.EXITED


def test_a_fork_bomb_stays_in_its_box(execute, processes_with_uid):
    finished = execute(
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        limits=Limits(processes=40, seconds=5, cpus=0.5),
    )
    assert finished.verdict.cause is Cause.TIME_LIMIT
    assert finished.verdict.process_limit_hits > 0
    assert processes_with_uid(finished.run.uid) == []


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_more_output_than_allowed_ends_the_program(execute, stream):
    finished = execute(
        f"import sys\nwhile True: sys.{stream}.write('x' * 10_000)", limits=Limits(log=200_000, seconds=60)
    )
    assert finished.verdict.cause is Cause.OUTPUT_LIMIT
    assert finished.run.log_tail(stream, 10_000_000) == b"x" * 200_000


def test_output_up_to_the_limit_is_fine(execute):
    finished = execute("print('x' * 99_999)", limits=Limits(log=100_000))
    assert finished.verdict.ok
    assert len(finished.run.log_tail("stdout", 10_000_000)) == 100_000


FILL = """
import os, sys
try:
    with open(sys.argv[1], "wb", buffering=0) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
except OSError as error:
    print(os.strerror(error.errno))
"""


@pytest.mark.parametrize("place", ["/app/output/big", "/tmp/big"])
def test_a_full_folder_refuses_more_and_the_verdict_says_so(execute, place):
    finished = execute(
        ["python", "-c", FILL, place],
        mounts=[Mount(target="/app/output", writable=True)],
        limits=Limits(output=16 * MIB, scratch=16 * MIB),
    )
    assert finished.stdout == "No space left on device\n"
    assert finished.verdict.cause is Cause.EXITED
    assert finished.verdict.disk_full


def test_a_private_copy_leaves_the_full_room_for_output(execute, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "big").write_bytes(bytes(20 * MIB))
    finished = execute(
        ["sh", "-c", "head -c 15000000 /dev/zero > more && echo fits"],
        mounts=[Mount(target="/app/program", source=source, writable=True)],
        working_directory="/app/program",
        limits=Limits(output=16 * MIB),
    )
    assert (finished.stdout, finished.stderr) == ("fits\n", "")


def test_scratch_counts_as_memory_where_it_exceeds_the_limit(execute):
    verdict = execute(["python", "-c", FILL, "/tmp/big"], limits=Limits(scratch=128 * MIB, memory=48 * MIB)).verdict
    assert verdict.cause is Cause.MEMORY_LIMIT


def test_files_beyond_the_limit_are_not_collected(execute, tmp_path):
    finished = execute(
        ["sh", "-c", "for n in $(seq 30); do echo x > file$n; done"],
        mounts=[Mount(target="/app/output", writable=True)],
        working_directory="/app/output",
        limits=Limits(output_files=10),
    )
    collected = finished.run.collect("/app/output", tmp_path / "out")
    assert (collected.files, collected.truncated, len(collected.skipped)) == (10, True, 20)
    assert len(list((tmp_path / "out").iterdir())) == 10


def test_a_program_gets_the_processor_time_it_may_have(execute):
    finished = execute(
        """
import time
begin = time.monotonic()
while time.process_time() < 0.5: pass
print(time.monotonic() - begin)
""",
        limits=Limits(cpus=0.25),
    )
    assert float(finished.stdout) > 1.5


def test_cancelling_ends_everything_at_once(prepare, eventually, processes_with_uid):
    run = prepare("import os, time\nos.fork()\nprint('up', flush=True)\ntime.sleep(600)")
    run.start()
    eventually(lambda: run.log_tail("stdout").count(b"up") == 2)
    thread = threading.Thread(target=run.kill)
    thread.start()
    verdict = run.wait(30)
    thread.join()
    assert verdict is not None
    assert verdict.cause is Cause.CANCELLED
    assert processes_with_uid(run.uid) == []


def test_cancelling_before_the_start_lets_nothing_run(prepare, processes_with_uid):
    run = prepare("print('ran')")
    run.kill()
    verdict = run.wait(30)
    assert verdict is not None
    assert verdict.cause is Cause.CANCELLED
    assert run.log_tail("stdout") == b""
    assert processes_with_uid(run.uid) == []


def test_a_crash_is_not_handed_to_the_hosts_handler(execute):
    """Which runs as root outside of the sandbox, wherever `kernel.core_pattern` names one, except at a limit of 1."""
    finished = execute(
        """
import resource
print(resource.getrlimit(resource.RLIMIT_CORE))
for limit in (0, 1 << 20):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
        print("changed to", limit)
    except (OSError, ValueError):
        print("kept")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
"""
    )
    assert finished.stdout.splitlines() == ["(1, 1)", "kept", "kept"]
    assert finished.verdict.ok


def test_huge_pages_are_not_to_be_had_whatever_the_operator_reserved(execute):
    finished = execute(
        """
import errno, mmap, os
def tried(make):
    try:
        make()
        print("had")
    except OSError as error:
        print(errno.errorcode[error.errno])
tried(lambda: mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000))
tried(lambda: os.memfd_create("huge", os.MFD_HUGETLB))
tried(lambda: os.memfd_create("small"))
"""
    )
    assert finished.stdout.split() == ["ENOMEM", "ENOMEM", "had"]
