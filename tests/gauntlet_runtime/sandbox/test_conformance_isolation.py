"""What a program in a sandbox cannot see, reach or do, and that it leaves nothing behind."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox import is_alive, seccomp, this_process
from gauntlet_runtime.sandbox.interface import Cause, Limits, Mount, SandboxGone

pytestmark = pytest.mark.conformance

REACH = """
import socket, sys
for address in json.loads(sys.argv[1]):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    client = socket.socket(family)
    client.settimeout(5)
    try:
        client.connect(address if isinstance(address, str) else tuple(address))
        print("reached")
    except OSError:
        print("unreachable")
"""


def test_the_hosts_loopback_and_its_abstract_sockets_are_out_of_reach(execute):
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        name = f"\0gauntlet-test-{os.getpid()}"
        abstract.bind(name)
        abstract.listen()
        tcp.setblocking(False)
        targets = json.dumps([["127.0.0.1", tcp.getsockname()[1]], name])
        program = ["-c", "import json\n" + REACH, targets]
        finished = execute(["python", *program])
        assert finished.stdout == "unreachable\nunreachable\n"
        with pytest.raises(BlockingIOError):
            tcp.accept()
        control = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=True)
        assert control.stdout == "reached\nreached\n"


def test_there_is_no_interface_but_loopback(execute):
    finished = execute("print([line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line])")
    assert finished.stdout == "['lo']\n"


def test_no_file_of_the_host_is_there(execute, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("of the host")
    secret.chmod(0o644)
    here = Path(__file__).resolve()
    paths = [str(secret), str(here), str(here.parents[3]), sys.prefix, "/etc/shadow", "/var/run/docker.sock"]
    finished = execute(["python", "-c", "import os, sys; print([os.path.exists(p) for p in sys.argv[1:]])", *paths])
    assert finished.stdout == f"{[False] * len(paths)}\n"


def test_the_root_is_read_only(execute):
    finished = execute(
        """
import os
for folder, _, _ in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts")):
        continue
    try:
        open(os.path.join(folder, "new"), "w")
        print("wrote in", folder)
    except OSError:
        pass
print("walked")
"""
    )
    assert finished.stdout == "walked\n"


def test_every_running_sandbox_has_a_uid_that_is_not_roots(prepare, eventually, processes_with_uid):
    runs = [prepare("import time; time.sleep(600)") for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        eventually(lambda run=run: processes_with_uid(run.uid))
        eventually(lambda run=run: _uid_of(run.host_pid) == run.uid)
    assert len({0, os.geteuid(), *(run.uid for run in runs)}) == 3


def _uid_of(pid: int | None) -> int | None:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return None


def test_the_program_has_no_privilege_and_can_get_none(execute):
    finished = execute(["cat", "/proc/self/status"])
    status = dict(line.split(":\t", 1) for line in finished.stdout.splitlines() if ":\t" in line)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_a_library_in_the_environment_is_loaded_by_the_program_only(execute, tmp_path):
    """Under bubblewrap as root something runs as root before the program: it must not meet the program's variables."""
    finished = execute(
        ["sh", "-c", "cat /app/output/* 2>/dev/null; echo end"],
        environment={"LD_PRELOAD": "/no/such/library.so", "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": "/app/output/trace"},
        mounts=[Mount(target="/app/output", writable=True)],
    )
    finished.run.collect("/app/output", tmp_path / "out")
    traces = [path.read_text() for path in (tmp_path / "out").iterdir()]
    assert traces != []
    assert not any("setpriv" in trace for trace in traces)


def test_only_its_own_processes_are_seen(execute):
    finished = execute("import os; print(len([n for n in os.listdir('/proc') if n.isdecimal()]))")
    assert int(finished.stdout) <= 3


def test_signals_do_not_leave_the_sandbox(execute):
    program = "import os, sys\ntry: os.kill(int(sys.argv[1]), 0)\nexcept OSError as e: print(e.errno)"
    finished = execute(["python", "-c", program, str(os.getpid())])
    assert finished.stdout == f"{errno.ESRCH}\n"


CALL = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for name, arguments in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    libc.syscall(*(ctypes.c_long(value) for value in arguments))
    answers[name] = ctypes.get_errno()
print(json.dumps(answers))
"""

# What these do without a filter, asked by an unprivileged process, is anything but EPERM.
HARMLESS = {
    "unshare": [0x10000000],
    "keyctl": [0, -3, 0],
    "ptrace": [0],
    "io_uring_setup": [1, 0],
    "add_key": [0, 0, 0, 0, 0],
    "name_to_handle_at": [-1, 0, 0, 0, 0],
    "process_vm_readv": [1 << 22, 0, 0, 0, 0, 0],
}


def _numbered(calls: dict[str, list[int]]) -> str:
    column = seccomp.ARCHITECTURES[seccomp.this_architecture()].column
    return json.dumps({name: [seccomp.DENIED[name][column], *values] for name, values in calls.items()})


def test_the_filter_and_not_the_kernels_own_checks_refuses_calls(execute):
    program = ["-c", CALL, _numbered(HARMLESS)]
    finished = execute(["python", *program])
    assert json.loads(finished.stdout) == dict.fromkeys(HARMLESS, errno.EPERM)
    control = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=True)
    assert errno.EPERM not in json.loads(control.stdout).values()


def test_every_denied_call_is_refused(execute):
    column = seccomp.ARCHITECTURES[seccomp.this_architecture()].column
    calls = {name: [-1, -1, -1, -1, -1, -1] for name, numbers in seccomp.DENIED.items() if numbers[column] is not None}
    for dangerous in ("vhangup", "reboot"):
        calls[dangerous] = [0, 0, 0]
    answers = json.loads(execute(["python", "-c", CALL, _numbered(calls)]).stdout)
    # Docker's libseccomp is older than the last of the calls; those it does not know have checks of their own.
    young = {"statmount", "listmount", "open_tree_attr"}
    assert {name: number for name, number in answers.items() if number != errno.EPERM and name not in young} == {}


def test_forking_into_namespaces_is_refused_and_forking_is_not(execute):
    finished = execute(
        f"""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for flag in {sorted(seccomp.NAMESPACE_FLAGS.values())}:
    assert libc.syscall({seccomp.CLONE[0]}, ctypes.c_ulong(flag | 17), 0, 0, 0, 0) == -1
    assert ctypes.get_errno() == errno.EPERM, flag
libc.syscall({seccomp.CLONE3}, 0, 0)
assert ctypes.get_errno() == errno.ENOSYS
os.waitpid(os.fork() or os._exit(0), 0)
print("forked")
"""
    )
    assert (finished.stdout, finished.stderr) == ("forked\n", "")


def test_only_ordinary_sockets_can_be_made(execute):
    finished = execute(
        """
import errno, socket
for family in range(46):
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        print(family)
    except OSError as error:
        assert error.errno == errno.EAFNOSUPPORT, (family, error)
"""
    )
    assert finished.stdout.split() == ["1", "2", "10"]
    assert finished.stderr == ""


def test_links_in_the_output_are_not_followed(execute, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    (secret / "token").write_text("of the host")
    finished = execute(
        ["sh", "-c", f"ln -s {secret}/token file; ln -s {secret} folder; ln -s /etc/passwd inside; echo x > real"],
        mounts=[Mount(target="/app/output", writable=True)],
        working_directory="/app/output",
    )
    collected = finished.run.collect("/app/output", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["real"]
    assert sorted(collected.skipped) == ["file: a link", "folder: a link", "inside: a link"]


def test_what_is_no_file_is_skipped_and_named(execute, tmp_path):
    finished = execute(
        "import os, socket\nos.mkfifo('pipe')\nsocket.socket(socket.AF_UNIX).bind('door')\nopen('real', 'w').close()",
        mounts=[Mount(target="/app/output", writable=True)],
        working_directory="/app/output",
    )
    collected = finished.run.collect("/app/output", tmp_path / "out")
    assert collected.files == 1
    assert sorted(collected.skipped) == ["door: a socket", "pipe: a FIFO"]


def test_device_files_cannot_be_made(execute):
    finished = execute("import os, stat; os.mknod('/tmp/disk', stat.S_IFBLK | 0o666, os.makedev(254, 0))")
    assert "PermissionError" in finished.stderr


def test_a_link_in_place_of_the_output_folder_leads_nowhere(execute, tmp_path):
    finished = execute(
        ["sh", "-c", "rmdir /app/output; ln -s /etc /app/output; echo x > /app/output/real"],
        mounts=[Mount(target="/app/output", writable=True)],
    )
    finished.run.collect("/app/output", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["real"]


def test_children_do_not_outlive_the_run(execute, processes_with_uid):
    finished = execute(
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
print("left a daemon behind")
"""
    )
    assert finished.verdict.ok
    assert finished.stdout == "left a daemon behind\n"
    assert processes_with_uid(finished.run.uid) == []


def test_a_sandbox_that_is_taken_away_is_not_a_program_that_failed(
    prepare, destroy, remains, eventually, processes_with_uid
):
    run = prepare("import time; print('up', flush=True); time.sleep(600)")
    run.start()
    eventually(lambda: run.log_tail("stdout"))
    destroy(run)
    with pytest.raises(SandboxGone):
        run.wait(60)
    with pytest.raises(SandboxGone):
        run.wait(0)
    assert processes_with_uid(run.uid) == []
    run.close()
    assert remains() == []


WORKER = """
import sys
from pathlib import Path
from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec
sandbox = open_sandbox(sys.argv[1], state=Path(sys.argv[2]), images=Path(sys.argv[3]))
program = "import os, time; os.fork() or os.setsid(); time.sleep(600)"
run = sandbox.prepare(SandboxSpec(image="gauntlet/agent", command=["python", "-c", program], label=sys.argv[5],
                                  owner=this_process()))
if sys.argv[4] == "started":
    run.start()
print(run.uid, this_process(), flush=True)
run.wait()
"""


@pytest.mark.parametrize("stage", ["prepared", "started"])
def test_a_dead_worker_leaves_no_process_and_the_rest_is_reaped(
    sandbox, images_folder, state_folder, remains, eventually, processes_with_uid, label, stage
):
    command = [sys.executable, "-c", WORKER, sandbox.name, str(state_folder), str(images_folder), stage, label]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        uid, owner = worker.stdout.readline().split()
        if stage == "started":
            eventually(lambda: len(processes_with_uid(int(uid))) >= 2)
        assert sandbox.reap(is_alive) == []
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    eventually(lambda: not processes_with_uid(int(uid)))
    assert not is_alive(owner)
    assert remains() != []
    assert sandbox.reap(is_alive) == [label]
    assert remains() == []
    assert sandbox.reap(is_alive) == []


def test_a_record_that_the_machines_end_cut_off_is_reaped_and_keeps_no_worker_from_starting(sandbox, prepare, label):
    run = prepare(["true"])
    run.start()
    run.wait(60)
    (folder,) = [path.parent for path in sandbox._state.glob(f"*/{label}*/run.json")]
    left = folder.with_name(f"{label}-left")
    left.mkdir()
    (left / "run.json").write_bytes(b"")
    assert sandbox.reap(is_alive) == [left.name]
    assert (left.exists(), folder.exists()) == (False, True)


def test_a_live_workers_runs_are_not_reaped(sandbox, prepare, eventually, processes_with_uid):
    run = prepare("import time; time.sleep(600)")
    run.start()
    eventually(lambda: processes_with_uid(run.uid))
    assert sandbox.reap(is_alive) == []
    assert processes_with_uid(run.uid) != []


def test_a_run_outlives_the_thread_that_prepared_it(prepare):
    """`--die-with-parent` follows the thread, and pools end theirs."""
    import threading

    runs = []

    def work() -> None:
        runs.append(prepare("import time; time.sleep(1); print('lived')", limits=Limits(seconds=30)))
        runs[0].start()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    verdict = runs[0].wait(60)
    assert verdict is not None
    assert (verdict.cause, runs[0].log_tail("stdout")) == (Cause.EXITED, b"lived\n")


def test_the_owner_of_a_run_is_told_from_a_later_process_with_its_number():
    pid, started, host = this_process().split(":")
    assert is_alive(f"{pid}:{started}")
    assert not is_alive(f"{pid}:{int(started) - 1}")
    assert not is_alive(f"{pid}:{int(started) - 1}:{host}")
    assert is_alive(f"{pid}:{int(started) - 1}:another-{host}")  # nothing is known of it here: it is left alone
    assert ctypes.sizeof(ctypes.c_long) == 8
