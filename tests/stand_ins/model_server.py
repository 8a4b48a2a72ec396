"""A provider of language models for tests: the protocol on loopback, with streaming, tools, JSON mode and embeddings.

What it does wrong it is told to: `faults` holds, in order, what happens to the next requests; None is a right answer.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-our-own-provider-key-4711"


@dataclass
class ModelServer:
    """What the tests see of the server."""

    url: str = ""
    faults: deque[str | None] = field(default_factory=deque)
    always: str | None = None  # a fault of every request for which none is listed
    #: What it answers to a request, instead of its own words: text, or a whole message, which may call tools.
    says: Callable[[dict[str, Any], int], str | dict[str, Any]] | None = None
    wants_key: bool = True
    seen: list[dict[str, Any]] = field(default_factory=list)  # bodies, in order
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # ends what hangs or is held back
    under_way: int = 0
    most_under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        """As new, for the next test."""
        self.faults.clear()
        self.always = self.says = None
        self.wants_key = True
        for seen in (self.seen, self.paths, self.times):
            seen.clear()
        self.released.set()
        self.released = threading.Event()
        self.most_under_way = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_: Any) -> None:
        """Be quiet."""

    def do_POST(self) -> None:
        state: ModelServer = self.server.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        released = state.released
        with state.lock:
            state.seen.append(body)
            state.paths.append(self.path)
            state.times.append(time.monotonic())
            number = len(state.seen)
            fault = state.faults.popleft() if state.faults else state.always
            state.under_way += 1
            state.most_under_way = max(state.most_under_way, state.under_way)
        try:
            if state.wants_key and self.headers.get("authorization") != f"Bearer {KEY}":
                self._json(401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}})
            elif not self._fault(fault, body, number, released):
                self._answer(body, number)
        finally:
            with state.lock:
                state.under_way -= 1

    def _fault(self, fault: str | None, body: dict[str, Any], number: int, released: threading.Event) -> bool:
        """Do something wrong; False where the answer is still to be given."""
        if fault is None:
            return False
        kind, _, detail = fault.partition(":")
        if kind.isdigit():
            headers = {"retry-after": detail} if detail else {}
            said = {"message": f"refused; the key was {KEY}", "type": "some_type", "code": "some_code"}
            self._json(int(kind), {"error": said}, **headers)
        elif kind == "says":  # a status and a body
            status, _, said = detail.partition(":")
            self._raw(int(status), said.encode(), "application/json")
        elif kind == "hang":
            released.wait(60)
            self.close_connection = True
        elif kind == "hold":  # a right answer, later
            released.wait(60)
            return False
        elif kind == "cut":
            self._answer(body, number, cut=True)
        elif kind == "garbage":
            self._raw(200, b"<html>not what you think</html>", "text/html")
        elif kind == "empty":
            self._json(200, {"object": "nothing"})
        elif kind == "usage":  # a right answer with a wrong usage
            self._answer(body, number, usage=json.loads(detail))
            return True
        elif kind == "reset":
            self.connection.close()
            self.close_connection = True
        elif kind == "elsewhere":
            self._json(307, {}, location="http://127.0.0.1:9/elsewhere")
        else:
            raise ValueError(f"no such fault: {fault}")
        return True

    def _answer(self, body: dict[str, Any], number: int, *, cut: bool = False, **given: Any) -> None:
        if self.path.endswith("/embeddings"):
            self._embeddings(body)
            return
        says = self.server.state.says
        message = _scripted(says(body, number)) if says else _message(body, number)
        words = str(message.get("content") or "").split(" ")
        usage = {"prompt_tokens": _prompt_tokens(body), "completion_tokens": len(words)}
        usage = given.get("usage", {**usage, "total_tokens": sum(usage.values())})
        whole = {"id": f"c{number}", "object": "chat.completion", "created": number, "model": body["model"]}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if body.get("stream"):
            self._stream(body, whole, message, words, usage, finish, cut=cut)
            return
        choices = [{"index": i, "message": message, "finish_reason": finish} for i in range(body.get("n") or 1)]
        content = json.dumps({**whole, "choices": choices, "usage": usage, "our_own": {"kept": True}}).encode()
        if cut:
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        else:
            self._raw(200, content, "application/json")

    def _stream(
        self,
        body: dict[str, Any],
        whole: dict[str, Any],
        message: dict[str, Any],
        words: list[str],
        usage: Any,
        finish: str,
        *,
        cut: bool,
    ) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        whole = {**whole, "object": "chat.completion.chunk"}
        wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        extra = {"usage": None} if wants_usage else {}
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        if message.get("tool_calls"):
            deltas += [{"tool_calls": [{"index": 0, **message["tool_calls"][0]}]}]
        else:
            deltas += [{"content": word if n == 0 else f" {word}"} for n, word in enumerate(words)]
        for delta in deltas[: len(deltas) // 2 + 1] if cut else deltas:
            self._event({**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **extra})
        if cut:
            return
        self._event({**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], **extra})
        if wants_usage:
            self._event({**whole, "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, value: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def _embeddings(self, body: dict[str, Any]) -> None:
        inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = [[float(len(text)), 0.5, -1.0] for text in inputs]
        packed: list[Any] = vectors
        if body.get("encoding_format") == "base64":
            packed = [base64.b64encode(struct.pack("<3f", *vector)).decode() for vector in vectors]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(packed)]
        tokens = sum(len(text.split()) for text in inputs)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._json(200, {"object": "list", "model": body["model"], "data": data, "usage": usage})

    def _json(self, status: int, value: Any, **headers: str) -> None:
        self._raw(status, json.dumps(value).encode(), "application/json", **headers)

    def _raw(self, status: int, content: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def _prompt_tokens(body: dict[str, Any]) -> int:
    return sum(len(str(message.get("content")).split()) for message in body["messages"])


def _scripted(said: str | dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": said} if isinstance(said, str) else {"role": "assistant", **said}


def _message(body: dict[str, Any], number: int) -> dict[str, Any]:
    if body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps({"site": "north"})}
        call = {"id": f"call{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if (body.get("response_format") or {}).get("type") == "json_object":
        return {"role": "assistant", "content": json.dumps({"number": number})}
    said = body["messages"][-1]["content"]
    return {"role": "assistant", "content": f"answer {number} to {said}"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    state: ModelServer

    def handle_error(self, *_: Any) -> None:
        """A client that hung up is no news."""


@contextmanager
def model_server(*, address: str = "127.0.0.1") -> Iterator[ModelServer]:
    """A provider that runs inside this context, at an address of this host."""
    server = _Server((address, 0), _Handler)
    server.state = ModelServer(url=f"http://{address}:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.state.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
