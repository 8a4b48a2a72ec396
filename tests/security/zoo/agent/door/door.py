"""What the zoo's agents share: the way to their gateway, and a way to tell what they found. Standard library only."""

import ctypes
import errno
import http.client
import json
import os
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

ADDRESS = urlsplit(os.environ["GAUNTLET_URL"])
TARGETS = json.loads(Path("targets.json").read_text())
MIB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def raw(method, path, body=b"", **headers):
    connection = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request(method, path, body=body, headers=headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    try:
        return response.status, json.loads(content) if content else None
    except ValueError:
        return response.status, content.decode()


def ask(method, path, body=None, **headers):
    return raw(method, path, b"" if body is None else json.dumps(body).encode(), **headers)


def code_of(reply):
    """Status and code of a refusal."""
    status, body = reply
    return [status, body.get("code") if isinstance(body, dict) else None]


def next_episode(key=None):
    status, episode = ask("POST", "/episodes", {}, **({"Idempotency-Key": key} if key else {}))
    return episode if status == 201 else None


def rpc(episode, method, params=None, identity=1):
    body = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}
    return ask("POST", f"/episodes/{episode['id']}/mcp", body)


def tool(episode, name, **arguments):
    return rpc(episode, "tools/call", {"name": name, "arguments": arguments})


def text_of(reply):
    """The text that a tool gave."""
    return reply[1]["result"]["content"][0]["text"]


def answer(episode, text="42", **more):
    return ask("POST", f"/episodes/{episode['id']}/answer", {"text": text, **more})


def connect():
    """A bare connection to the gateway."""
    return socket.create_connection((ADDRESS.hostname, ADDRESS.port), timeout=60)


def say(*values):
    for value in values:
        sys.stdout.write(f"said {json.dumps(value)}\n")
    sys.stdout.flush()


def refused(action, *arguments):
    """The name of the error with which the kernel refuses, or "allowed"."""
    try:
        action(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "allowed"


def call(number, *arguments):
    """A system call by its number: the name of its error, or "allowed"."""
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "allowed"


def number_of(x86_64, aarch64):
    """A system call's number on this machine."""
    return aarch64 if os.uname().machine == "aarch64" else x86_64


__all__ = [name for name in dir() if not name.startswith("__")]
