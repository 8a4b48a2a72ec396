"""The connection to the gateway, against a server that closes, hangs up and talks nonsense."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gauntlet_agent.errors import GatewayUnreachable, GauntletError
from gauntlet_agent.gateway import Gateway


class Scripted(ThreadingHTTPServer):
    """Does to each request what the script says: 'ok', 'close' after the answer, or 'hang up' without one."""

    script: list[str]
    seen: list[tuple[str, str, str | None, int]]
    closed: threading.Semaphore


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def _respond(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key = self.headers.get("Idempotency-Key")
        self.server.seen.append((self.command, self.path, key, self.client_address[1]))
        action = self.server.script.pop(0) if self.server.script else "ok"
        if action == "hang up":
            self.close_connection = True
            return
        body = b"not json" if action == "nonsense" else b'{"fine": true}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if action == "close":  # without having said so, as a server does whose keep-alive ran out
            self.close_connection = True

    do_GET = do_POST = do_PUT = _respond

    def finish(self) -> None:
        super().finish()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.server.closed.release()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted(("127.0.0.1", 0), _Handler)
    server.script, server.seen, server.closed = [], [], threading.Semaphore(0)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _gateway(server: Scripted) -> Gateway:
    return Gateway(f"http://127.0.0.1:{server.server_address[1]}")


def test_one_connection_serves_many_requests(scripted: Scripted) -> None:
    gateway = _gateway(scripted)
    for _ in range(5):
        assert gateway.request("POST", "/a", {"x": 1}) == (200, {"fine": True})
    assert len({port for *_, port in scripted.seen}) == 1


def test_a_kept_connection_that_the_server_closed_is_replaced_and_nothing_is_sent_twice(scripted: Scripted) -> None:
    scripted.script = ["close", "ok"]
    gateway = _gateway(scripted)
    gateway.request("POST", "/a", {})
    scripted.closed.acquire()
    assert gateway.request("POST", "/a", {}) == (200, {"fine": True})
    assert len(scripted.seen) == 2


def test_a_hang_up_on_a_request_with_a_key_is_asked_again_with_the_same_key(scripted: Scripted) -> None:
    scripted.script = ["hang up", "ok"]
    assert _gateway(scripted).request("POST", "/episodes", {}, key="k1") == (200, {"fine": True})
    assert [entry[:3] for entry in scripted.seen] == [("POST", "/episodes", "k1")] * 2


def test_a_hang_up_on_a_request_that_would_count_twice_is_an_error(scripted: Scripted) -> None:
    scripted.script = ["hang up"]
    with pytest.raises(GatewayUnreachable, match="does not answer"):
        _gateway(scripted).request("POST", "/episodes/e1/messages", {"text": "hello"})
    assert len(scripted.seen) == 1


def test_nobody_listening_is_one_sentence_with_the_address(scripted: Scripted) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(GatewayUnreachable, match=rf"The gateway at {url} does not answer"):
            Gateway(url).request("GET", "/episodes")


def _deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("inf"), "\ud83d", _deep()], ids=["no number", "half a character", "too deep"])
def test_what_json_cannot_say_is_not_sent(scripted: Scripted, value: Any) -> None:
    with pytest.raises(GauntletError, match="cannot be sent as JSON"):
        _gateway(scripted).request("POST", "/a", {"x": value})
    assert scripted.seen == []


def test_an_agent_that_has_many_files_open_keeps_its_connections_all_the_same(scripted: Scripted) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with ExitStack() as opened:
            for _ in range(1100):
                opened.enter_context(Path(os.devnull).open())
            gateway = _gateway(scripted)
            assert [gateway.request("GET", "/a")[0] for _ in range(2)] == [200, 200]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    (first, second) = (connection for *_, connection in scripted.seen)
    assert first == second


def test_requests_of_many_threads_do_not_mix(scripted: Scripted) -> None:
    gateway = _gateway(scripted)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.extend(gateway.request("POST", "/a", {})[0] for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * 40
