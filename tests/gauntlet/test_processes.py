"""Starting the platform's own processes."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gauntlet import processes


def test_another_program_that_answers_at_the_port_is_not_taken_for_the_web_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came between the look whether the port is free and the server's own start."""
    monkeypatch.setattr(processes, "free_port", lambda wanted: wanted)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other,
        processes.platform_processes(tmp_path) as started,
    ):
        threading.Thread(target=other.serve_forever).start()
        try:
            with pytest.raises(processes.ProcessDied, match="web ended"):
                started.start_web(other.server_address[1])
        finally:
            other.shutdown()
    assert "address already in use" in (tmp_path / "web.log").read_text()
