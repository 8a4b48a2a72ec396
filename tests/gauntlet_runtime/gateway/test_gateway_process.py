"""The gateway as a process: what it inherits, how it is kept warm, how it ends."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import psutil
import pytest

from gauntlet_runtime.gateway.messages import Ready
from gauntlet_runtime.gateway.pool import GatewayLost, GatewayPool


@pytest.fixture
def pool():
    with GatewayPool() as made:
        yield made


def gone(pid):
    process = psutil.Process(pid) if psutil.pid_exists(pid) else None
    return process is None or process.wait(timeout=10) is None


def test_a_gateway_inherits_no_address_of_the_database_and_no_secret(pool, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://somewhere")
    monkeypatch.setenv("SECRET_KEY", "secret")
    gateway = pool.spawn()
    environment = Path(f"/proc/{gateway.pid}/environ").read_bytes()
    assert b"DATABASE_URL" not in environment
    assert b"SECRET_KEY" not in environment
    modules = Path(f"/proc/{gateway.pid}/maps").read_text()
    assert "psycopg" not in modules
    gateway.close()


def test_a_gateway_takes_no_module_from_the_folder_that_its_worker_was_started_in(pool, monkeypatch, tmp_path):
    """`gauntlet test .` is typed in an agent's folder, where modules may be called as they like."""
    for name in ("mcp", "uvicorn", "queue"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    assert psutil.pid_exists(pool.spawn().pid)


def test_a_gateway_has_no_capabilities_and_gets_none_back(pool):
    gateway = pool.spawn()
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{gateway.pid}/status").read_text().splitlines() if ":\t" in line
    )
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd")} == {0}
    assert status["NoNewPrivs"] == "1"
    limits = Path(f"/proc/{gateway.pid}/limits").read_text()
    assert re.search(r"^Max core file size +1 +1 ", limits, re.MULTILINE)
    gateway.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_that_go_to_all_of_a_service_are_the_workers_to_answer(pool, number):
    """A terminal's Ctrl-C, and systemd's end of a service, reach every process: a gateway ends when its job does."""
    gateway = pool.spawn()
    os.kill(gateway.pid, number)
    os.kill(psutil.Process(gateway.pid).ppid(), number)
    assert psutil.pid_exists(pool.spawn().pid)
    assert Path(f"/proc/{gateway.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    gateway.close()
    assert gone(gateway.pid)


def test_each_job_has_a_process_of_its_own_that_ends_with_it(pool):
    first, second = pool.spawn(), pool.spawn()
    assert len({first.pid, second.pid, os.getpid()}) == 3
    first.close()
    assert first.receive() is None
    assert gone(first.pid)
    assert psutil.pid_exists(second.pid)
    second.close()
    assert gone(second.pid)


def test_gateways_live_on_without_the_pool_and_die_with_their_socket(pool):
    gateway = pool.spawn()
    pool.close()
    assert psutil.pid_exists(gateway.pid)
    gateway.close()
    gateway.release()
    assert gone(gateway.pid)


def test_a_warm_process_that_was_killed_is_replaced(pool):
    pool.spawn().close()
    os.kill(pool._process.pid, signal.SIGKILL)
    pool._process.wait()
    gateway = pool.spawn()
    assert psutil.pid_exists(gateway.pid)
    gateway.close()


def test_a_command_to_a_dead_gateway_says_so(pool):
    gateway = pool.spawn()
    os.kill(gateway.pid, signal.SIGKILL)
    assert gateway.receive() is None
    with pytest.raises(GatewayLost):
        gateway.send(Ready(pid=1))


def test_bytes_that_are_no_http_end_their_connection_and_nothing_else(room):
    outcome = room.agent("""
import socket
e = next_episode()
address = (ADDRESS.hostname, ADDRESS.port)
closed = 0
for garbage in (b"\\x00" * 4096, b"nonsense\\r\\n\\r\\n", b"POST / HTTP/1.1\\r\\nContent-Length: -5\\r\\n\\r\\n"):
    with socket.create_connection(address) as connection:
        connection.sendall(garbage)
        while connection.recv(4096):
            pass
        closed += 1
idle = [socket.create_connection(address) for _ in range(200)]
for connection in idle:
    connection.sendall(b"POST /episodes HTTP/1.1\\r\\n")
say(closed, tool(e, "echo", text="fine")[1]["result"]["structuredContent"], answer(e)[0])
""")
    assert outcome.said == [3, {"text": "fine"}, 200]


def test_the_unix_door_is_there_for_a_second_start_too(room):
    outcome = room.agent(
        """
import http.client, socket
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["GAUNTLET_SOCKET"])
connection = Unix("gauntlet")
connection.request("POST", "/episodes", body=b"{}")
e = json.loads(connection.getresponse().read())
if e["id"] == "e0":
    raise SystemExit(1)
connection.request("POST", f"/episodes/{e['id']}/answer", body=b'{"text": "x"}')
say(connection.getresponse().status)
""",
        keys=["A", "B"],
    )
    assert outcome.said == [200]
    assert [episode.outcome.value for episode in outcome.episodes] == ["failed", "answered"]


def test_an_agent_that_reads_no_answers_is_hung_up_on_before_its_gateway_is_full(room):
    outcome = room.agent(
        """
import os, socket
e = next_episode()
for _ in range(55):
    ask("POST", f"/episodes/{e['id']}/messages", {"text": "x" * 60_000})
say(len(str(ask("GET", "/episodes")[1])) > 6_000_000)
host, port = os.environ["GAUNTLET_URL"].removeprefix("http://").split(":")
held = []
for _ in range(110):
    held.append(socket.create_connection((host, int(port))))
    held[-1].sendall(b"GET /episodes HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
say(ask("GET", "/episodes/unknown/mcp")[0])  # every request before this one was answered
def is_whole(connection):
    read = 0
    try:
        while part := connection.recv(1 << 20):
            read += len(part)
    except ConnectionError:
        return False
    return read > 6_000_000
whole = sum(map(is_whole, held))
say(0 < whole < 110)
say(answer(e)[0])
"""
    )
    assert outcome.said == [True, 404, True, 200]
    assert [episode.failure for episode in outcome.episodes] == [None]
