"""A site on loopback that speaks the workers' contract, keeps the fence, and has faults where a test plants them."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from own_authority import Certified
from pydantic import TypeAdapter

from gauntlet_runtime.jobs import Claim, Failure, Spec
from gauntlet_runtime.metering import Reservation, Settlement
from gauntlet_runtime.remote.messages import ClaimRequest, Finished, Heartbeat, Report

TOKEN = "gwk_" + "t" * 40
LEASE = "lease-" + "l" * 40
KEY = "sk-" + "k" * 40
FINISHED: TypeAdapter[Any] = TypeAdapter(Finished)


class LoopbackSite:
    """What the platform's side keeps, in memory."""

    def __init__(self, artifacts: Any, *, certified: Certified | None = None) -> None:
        self.artifacts = artifacts
        self.waiting: list[Claim] = []
        self.held: dict[str, str] = {}  # by job: the token that is current
        self.files: dict[str, bytes] = {}
        self.reported: list[Report] = []
        self.finished: dict[str, Any] = {}
        self.given_back: dict[str, Failure] = {}
        self.handed_back: list[str] = []
        self.beats: list[Heartbeat] = []
        self.answers: dict[str, bytes] = {}
        self.reserved: list[Reservation] = []
        self.settled: list[Settlement] = []
        self.access: dict[str, Any] | None = None
        self.refusal: dict[str, Any] | None = None
        self.token = TOKEN
        self.seen: list[tuple[str, str, float]] = []  # method, path, when
        self.faults: list[tuple[str, Any]] = []  # of the next request whose "METHOD path" holds the pattern
        self.over = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.site = self
        scheme = "http"
        if certified is not None:
            scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certified.certificate, certified.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, spec: Spec, *, job: str = "job-1", lease_seconds: float = 60.0) -> Claim:
        """A job that waits."""
        claim = Claim(
            job=job,
            evaluation=f"evaluation-{job}",
            submission="submission",
            attempt=1,
            token=f"{LEASE}-{job}",
            lease_seconds=lease_seconds,
            spec=spec,
        )
        self.waiting.append(claim)
        return claim

    def plant(self, pattern: str, *faults: Any) -> None:
        """The next requests that match have these faults, one each."""
        self.faults += [(pattern, fault) for fault in faults]

    def asked(self, pattern: str) -> int:
        """How many requests came whose "METHOD path" holds the pattern."""
        return sum(re.search(pattern, f"{method} {path}") is not None for method, path, _ in self.seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: LoopbackSite

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what tests are about."""


class _Refused(Exception):
    def __init__(self, status: int, code: str, **headers: str) -> None:
        self.status, self.code, self.headers = status, code, headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def _serve(self) -> None:
        site = self.server.site
        path = self.path.removeprefix("/api/v1/worker/")
        site.seen.append((self.command, path, time.monotonic()))
        fault = next((each for each in site.faults if re.search(each[0], f"{self.command} {path}")), None)
        if fault is not None:
            site.faults.remove(fault)
            if self._has(fault[1], path):
                return
        body = self._body()
        try:
            self._check()
            status, content = self._do(path, body)
        except _Refused as refused:
            self._refuse(refused)
            return
        if fault is not None and fault[1] == "lose the answer":
            self.close_connection = True
            return
        if fault is not None and fault[1] == "wrong bytes":
            content = bytes(byte ^ 1 for byte in content)
        self._answer(status, content)

    do_GET = do_POST = do_PUT = _serve

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _check(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.server.site.token}":
            raise _Refused(401, "not_authenticated")
        if self.headers.get("Gauntlet-Worker-Protocol") != "1":
            raise _Refused(426, "worker_outdated")

    def _has(self, fault: Any, path: str) -> bool:
        """Have this fault; whether that was all."""
        match fault:
            case (int(status), dict(headers)):
                self._body()
                self._refuse(_Refused(status, "a_code", **headers))
            case (int(status), str(code)):
                self._body()
                self._refuse(_Refused(status, code))
            case int(status):
                self._body()
                self._refuse(_Refused(status, "lease_lost" if status == 409 else "a_code"))
            case "hang":
                self.server.site.over.wait(60)
                self.close_connection = True
            case "drop":
                self.close_connection = True
            case "cut":
                self._head(200, 1000)
                self.wfile.write(b"{")
                self.close_connection = True
            case "garbage":
                self._body()
                self._answer(200, b"<html>A proxy's page</html>")
            case "drip" | "drip headers":
                self._drip(head=fault == "drip headers")
            case ("redirect", str(where)):
                self._body()
                self._answer(302, b"", location=where)
            case _:
                return False
        return True

    def _drip(self, *, head: bool) -> None:
        """One byte, and another, and never the end."""
        self.close_connection = True
        if head:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            self._head(200, 100_000)
        while not self.server.site.over.wait(0.05):
            self.wfile.write(b"x")

    def _head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _answer(self, status: int, content: bytes, **headers: str) -> None:
        if status == 204:
            self.send_response(204)
            self.end_headers()
            return
        self._head(status, len(content), **headers)
        self.wfile.write(content)

    def _refuse(self, refused: _Refused) -> None:
        content = json.dumps({"code": refused.code, "message": f"No {TOKEN} {LEASE} {KEY}."}).encode()
        self._answer(refused.status, content, **refused.headers)

    def _do(self, path: str, body: bytes) -> tuple[int, bytes]:
        site = self.server.site
        match [self.command, *path.split("/")]:
            case ["POST", "heartbeat"]:
                site.beats.append(Heartbeat.model_validate_json(body))
                return 200, b'{"queue": "gpu", "seconds": 0.2}'
            case ["POST", "claims"]:
                ClaimRequest.model_validate_json(body)
                if not site.waiting:
                    return 204, b""
                claim = site.waiting.pop(0)
                site.held[claim.job] = claim.token
                return 200, claim.model_dump_json(warnings=False).encode()
            case [_, "jobs", job, *rest]:
                if self.headers.get("Gauntlet-Lease") != site.held.get(job, ""):
                    raise _Refused(409, "lease_lost")
                return self._do_job(job, rest, body)
        raise _Refused(404, "not_found")

    def _do_job(self, job: str, rest: list[str], body: bytes) -> tuple[int, bytes]:
        site = self.server.site
        match [self.command, *rest]:
            case ["POST", "renew"]:
                pass
            case ["POST", "report"]:
                site.reported.append(Report.model_validate_json(body))
            case ["POST", "give-back"]:
                site.given_back[job] = Failure.model_validate_json(body)
                del site.held[job]
            case ["POST", "hand-back"]:
                site.handed_back.append(job)
                del site.held[job]
            case ["POST", "finish"]:
                site.finished[job] = FINISHED.validate_json(body)
                del site.held[job]
            case ["GET", "artifacts", digest]:
                return 200, site.artifacts.content[digest]
            case ["PUT", "files", digest]:
                site.files[digest] = body
            case ["GET", "models", "access"]:
                return (204, b"") if site.access is None else (200, json.dumps(site.access).encode())
            case ["POST", "models", "reserve"]:
                site.reserved.append(Reservation.model_validate_json(body))
                return (204, b"") if site.refusal is None else (200, json.dumps(site.refusal).encode())
            case ["POST", "models", "settle"]:
                site.settled.append(Settlement.model_validate_json(body))
            case ["GET", "models", "answers", key]:
                if key not in site.answers:
                    raise _Refused(404, "not_found")
                return 200, site.answers[key]
            case ["PUT", "models", "answers", key]:
                site.answers.setdefault(key, body)
            case _:
                raise _Refused(404, "not_found")
        return 204, b""
