"""The contract of a sandbox, whichever backend keeps it: streams, files, environment, doors."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.sandbox.interface import (
    Cause,
    Enforcement,
    ImageUnavailable,
    Limits,
    Mount,
    Run,
    Sandbox,
    SandboxError,
    SandboxSpec,
    Stdio,
)

pytestmark = pytest.mark.conformance


def test_reports_the_exit_code(execute):
    finished = execute("raise SystemExit(7)")
    assert (finished.verdict.cause, finished.verdict.exit_code, finished.verdict.signal) == (Cause.EXITED, 7, None)
    assert not finished.verdict.ok


def test_reports_success_and_what_was_used(execute):
    verdict = execute("x = bytearray(30 << 20)").verdict
    assert verdict.ok
    assert verdict.memory_peak is not None
    assert 30 << 20 < verdict.memory_peak < verdict.memory_limit
    assert verdict.cpu_seconds is not None
    assert verdict.cpu_seconds > 0
    assert verdict.oom_kills == verdict.process_limit_hits == 0
    assert not verdict.disk_full


def test_a_crash_is_reported_as_a_signal(execute):
    verdict = execute("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").verdict
    assert (verdict.cause, verdict.exit_code, verdict.signal) == (Cause.EXITED, None, 11)


def test_a_missing_program_is_the_programs_fault(execute):
    verdict = execute(["/no/such/program"]).verdict
    assert verdict.cause is Cause.EXITED
    assert verdict.exit_code in (126, 127)


def test_hands_over_stdin_and_keeps_the_outputs_apart(execute):
    finished = execute(
        "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('to the side')", stdin=b"words"
    )
    assert (finished.stdout, finished.stderr) == ("WORDS", "to the side")


def test_stdin_is_empty_where_none_is_given(execute):
    assert execute("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_hands_over_more_stdin_than_a_pipe_holds(execute):
    finished = execute("import sys; print(len(sys.stdin.buffer.read()))", stdin=b"x" * 3_000_000)
    assert finished.stdout == "3000000\n"


def test_a_program_that_ignores_its_stdin_ends(execute):
    assert execute("print('done')", stdin=b"x" * 3_000_000).stdout == "done\n"


def test_unicode_passes_through_every_way_in_and_out(execute, tmp_path):
    word = "Ärger mit Ünïcödé 🦊"
    finished = execute(
        ["python", "-c", "import os, sys; print(sys.argv[1], os.environ['WORD'], sys.stdin.read())", word],
        environment={"WORD": word},
        stdin=word.encode(),
    )
    assert finished.stdout == f"{word} {word} {word}\n"


def test_streams_can_be_opened_once_more_by_name(execute):
    finished = execute(["sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr"])
    assert (finished.stdout, finished.stderr) == ("out\n", "err\n")


def test_no_descriptor_but_the_standard_streams_is_inherited(execute):
    leaked = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        finished = execute("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
    finally:
        os.close(leaked)
    assert finished.stdout == "[0, 1, 2, 3]\n"  # 3 is the folder that is being listed


def test_arguments_are_not_a_shells(execute):
    assert execute(["printf", "%s", "$(id) `id` ; id"]).stdout == "$(id) `id` ; id"


def test_runs_in_the_working_directory(execute):
    mounts = [Mount(target="/app/output", writable=True)]
    assert execute(["pwd"], working_directory="/app/output", mounts=mounts).stdout == "/app/output\n"


def test_the_environment_is_a_whitelist(execute, monkeypatch):
    monkeypatch.setenv("GAUNTLET_SECRET", "of the worker")
    finished = execute("import json, os; print(json.dumps(dict(os.environ)))", environment={"GIVEN": "yes"})
    seen = json.loads(finished.stdout)
    assert seen.pop("GIVEN") == "yes"
    of_the_image = {"PATH", "LANG", "HOME", "TMPDIR", "USER", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
    assert set(seen) <= of_the_image | {"VIRTUAL_ENV", "PWD", "HOSTNAME"}
    assert seen["PATH"].startswith("/opt/venv/bin:")


def test_values_of_the_environment_are_only_text(execute):
    values = {"A": 'it\'s $(id) `id` \\ "x"\nsecond line', "B": "", "C": "'; exit 3; '", "LONG": "x" * 100_000}
    finished = execute("import json, os; print(json.dumps(dict(os.environ)))", environment=values)
    seen = json.loads(finished.run.log_tail("stdout", 1 << 20))
    assert {name: seen.get(name) for name in values} == values


def test_the_environment_is_not_on_the_hosts_command_lines(prepare):
    run = prepare("import time; time.sleep(600)", environment={"TOKEN": "unguessable-4711"})
    run.start()
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue
    assert not any(b"unguessable-4711" in line for line in lines)


def test_a_program_reads_what_is_mounted_and_cannot_change_it(execute, tmp_path):
    source = tmp_path / "input"
    source.mkdir()
    (source / "question.txt").write_text("six by nine")
    finished = execute(
        """
import pathlib
print(pathlib.Path("/app/input/ref/question.txt").read_text())
for change in (lambda p: (p / "question.txt").write_text("x"), lambda p: (p / "new").touch(),
               lambda p: (p / "question.txt").unlink(), lambda p: (p / "question.txt").chmod(0o777)):
    try:
        change(pathlib.Path("/app/input/ref"))
        print("changed it")
    except OSError:
        print("refused")
""",
        mounts=[Mount(target="/app/input/ref", source=source)],
    )
    assert finished.stdout == "six by nine\n" + "refused\n" * 4
    assert [path.name for path in source.iterdir()] == ["question.txt"]
    assert (source / "question.txt").read_text() == "six by nine"


def test_a_single_file_can_be_mounted_in_a_folder_of_the_image(execute, tmp_path):
    source = tmp_path / "settings.json"
    source.write_text("{}")
    mounts = [Mount(target="/etc/gauntlet/settings.json", source=source)]
    assert execute(["cat", "/etc/gauntlet/settings.json", "/etc/hosts"], mounts=mounts).stdout.startswith("{}127.0.0.1")


def test_a_writable_mount_starts_with_a_private_copy(execute, tmp_path):
    source = tmp_path / "program"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "data.txt").write_text("original")
    (source / "link").symlink_to("inner/data.txt")
    (source / "tool").write_text("#!/bin/sh\necho it runs\n")
    (source / "tool").chmod(0o755)
    finished = execute(
        ["sh", "-c", "./tool; cat link; echo changed > inner/data.txt; echo new > inner/more.txt"],
        mounts=[Mount(target="/app/program", source=source, writable=True)],
        working_directory="/app/program",
    )
    assert (finished.stdout, finished.stderr) == ("it runs\noriginal", "")
    assert (source / "inner" / "data.txt").read_text() == "original"
    assert not (source / "inner" / "more.txt").exists()
    finished.run.collect("/app/program", tmp_path / "out")
    assert (tmp_path / "out" / "inner" / "data.txt").read_text() == "changed\n"
    assert (tmp_path / "out" / "inner" / "more.txt").read_text() == "new\n"


def test_collects_what_was_written_also_a_large_file(execute, tmp_path):
    finished = execute(
        """
import os
os.makedirs("deep/er")
open("deep/er/small.txt", "w").write("small")
block = bytes(range(256)) * 4096
with open("large.bin", "wb") as file:
    for _ in range(40):
        file.write(block)
""",
        mounts=[Mount(target="/app/output", writable=True)],
        working_directory="/app/output",
    )
    collected = finished.run.collect("/app/output", tmp_path / "out")
    assert (collected.files, collected.bytes, collected.truncated) == (2, 40 * (1 << 20) + 5, False)
    assert (tmp_path / "out" / "large.bin").read_bytes() == bytes(range(256)) * 4096 * 40
    assert (tmp_path / "out" / "deep" / "er" / "small.txt").read_text() == "small"


def test_what_was_written_can_be_collected_after_any_end(execute, tmp_path):
    finished = execute(
        "import time; open('part.txt', 'w').write('so far'); time.sleep(600)",
        mounts=[Mount(target="/app/output", writable=True)],
        working_directory="/app/output",
        limits=Limits(seconds=3),
    )
    assert finished.verdict.cause is Cause.TIME_LIMIT
    finished.run.collect("/app/output", tmp_path / "out")
    assert (tmp_path / "out" / "part.txt").read_text() == "so far"


def test_modules_that_need_shared_memory_and_scratch_work(execute):
    finished = execute(
        """
import multiprocessing, tempfile, threading
multiprocessing.Lock()
tempfile.TemporaryFile().write(b"x")
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
"""
    )
    assert (finished.stdout, finished.stderr) == ("thread\n[1, 2]\n", "")


def test_the_agent_image_has_what_agents_import(execute):
    assert execute("import gauntlet_agent, httpx, mcp, numpy, pandas, yaml; print('all there')").stdout == "all there\n"


def test_a_unix_socket_in_a_mounted_folder_can_be_reached(execute, tmp_path):
    folder = tmp_path / "door"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        previous = os.getcwd()
        os.chdir(folder)  # a unix socket's path must be short
        try:
            server.bind("gauntlet.sock")
        finally:
            os.chdir(previous)
        (folder / "gauntlet.sock").chmod(0o666)
        server.listen()
        answer = threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"))
        answer.start()
        finished = execute(
            "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/door/gauntlet.sock'); print(s.recv(9))",
            mounts=[Mount(target="/run/door", source=folder)],
        )
        answer.join()
    assert finished.stdout == "b'hello'\n"


def test_the_door_is_reached_from_inside_and_nothing_else_is(prepare):
    run = prepare(
        """
import socket
print(socket.create_connection(("127.0.0.1", 8080)).recv(9))
for address in (("127.0.0.1", 8081), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=5)
        print("reached", address)
    except OSError as error:
        print(type(error).__name__, error.errno)
"""
    )
    door = run.listen(8080)
    assert door.getsockname() == ("127.0.0.1", 8080)
    assert door.proto == socket.IPPROTO_TCP
    assert door.getblocking() is False
    run.start()
    door.setblocking(True)
    door.settimeout(60)
    connection, _ = door.accept()
    connection.sendall(b"hello")
    verdict = run.wait(60)
    connection.close()
    door.close()
    assert verdict is not None
    assert run.log_tail("stdout").decode() == "b'hello'\nConnectionRefusedError 111\nOSError 101\n"


def test_two_sandboxes_can_have_the_same_door(prepare):
    doors = [prepare("pass").listen(8080) for _ in range(2)]
    for door in doors:
        door.close()


def test_the_door_stays_shut_once_the_program_runs(prepare):
    run = prepare("import time; time.sleep(600)")
    run.start()
    with pytest.raises(SandboxError):
        run.listen(8080)


async def test_pipes_carry_a_conversation(prepare):
    """As the official MCP SDK has it with a server on standard streams."""
    run: Run = prepare(
        """
import sys
print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    print(line.strip()[::-1], flush=True)
""",
        stdio=Stdio.PIPES,
    )
    run.start()
    assert run.stdin is not None
    assert run.stdout is not None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), run.stdout)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, run.stdin)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    for line in (b"abc", b"x" * 2_000_000 + b"y", b"last"):
        writer.write(line + b"\n")
        await writer.drain()
        assert await reader.readline() == line[::-1] + b"\n"
    writer.close()
    assert await reader.read() == b""
    verdict = await asyncio.to_thread(run.wait, 60)
    assert verdict is not None
    assert verdict.ok
    assert run.log_tail("stderr") == b"ready\n"


def test_pipes_that_nobody_reads_do_not_stop_the_limits(prepare):
    run = prepare("print('x' * 50_000_000)", stdio=Stdio.PIPES, limits=Limits(seconds=2))
    run.start()
    verdict = run.wait(60)
    assert verdict is not None
    assert verdict.cause is Cause.TIME_LIMIT


def test_a_run_is_started_once(prepare):
    run = prepare("pass")
    run.start()
    with pytest.raises(SandboxError):
        run.start()


def test_waiting_with_a_timeout_gives_nothing_while_the_program_runs(prepare):
    run = prepare("import time; print('hi', flush=True); time.sleep(600)")
    run.start()
    assert run.wait(0.01) is None


def test_the_verdict_stays_the_same(execute):
    finished = execute("print('x')")
    finished.run.kill()
    assert finished.run.wait() is finished.verdict
    assert finished.run.wait(0) is finished.verdict


def test_the_log_can_be_read_while_the_program_runs(prepare, eventually):
    run = prepare("import time; print('so far', flush=True); time.sleep(600)")
    run.start()
    eventually(lambda: run.log_tail("stdout") == b"so far\n")
    assert run.log_tail("stdout", 4) == b"far\n"


def test_a_prepared_program_does_nothing_yet(prepare, tmp_path):
    run = prepare("print('ran')", mounts=[Mount(target="/app/output", writable=True)])
    assert run.wait(0.5) is None
    assert run.log_tail("stdout") == b""


def test_an_unknown_image_is_named_with_the_way_to_make_it(prepare, remains):
    with pytest.raises(ImageUnavailable, match=r"sandbox_images/build\.py"):
        prepare("pass", image="gauntlet/nothing")
    assert remains() == []


@pytest.mark.parametrize("target", ["relative", "/", "/app/../etc", "/proc/x", "/dev", "/tmp"])
def test_a_mount_has_a_place_of_its_own(prepare, remains, target):
    with pytest.raises(SandboxError):
        prepare("pass", mounts=[Mount(target=target, writable=True)])
    assert remains() == []


def test_a_mount_that_the_sandbox_could_not_read_is_refused_in_words(prepare, tmp_path, remains):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(SandboxError, match=r"chmod o\+rX"):
        prepare("pass", mounts=[Mount(target="/app/x", source=closed)])
    assert remains() == []


def test_names_the_image_by_its_content(sandbox: Sandbox):
    assert sandbox.image_digest("gauntlet/agent").startswith("sha256:")
    assert sandbox.image_digest("gauntlet/agent") != sandbox.image_digest("gauntlet/base")


def test_says_what_this_host_enforces(sandbox: Sandbox):
    enforced = sandbox.enforcement()
    assert set(enforced) == {"memory", "cpus", "processes", "output", "scratch", "uid", "seccomp"}
    assert set(enforced.values()) == {Enforcement.ENFORCED}


def test_a_closed_run_leaves_nothing(sandbox: Sandbox, remains: Callable[[], list[str]], label: str):
    spec = SandboxSpec(image="gauntlet/agent", command=["sleep", "600"], label=label, owner=this_process())
    run = sandbox.prepare(spec)
    run.start()
    assert remains() != []
    run.close()
    run.close()
    assert remains() == []
    with pytest.raises(SandboxError):
        run.start()


def test_a_run_that_was_never_started_leaves_nothing(sandbox: Sandbox, remains: Callable[[], list[str]], label: str):
    spec = SandboxSpec(image="gauntlet/agent", command=["true"], label=label, owner=this_process())
    with sandbox.prepare(spec) as run:
        assert remains() != []
        assert run.wait(0) is None
    assert remains() == []
