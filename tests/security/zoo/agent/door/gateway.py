"""What the agents of all tests talk to their gateway with: plain HTTP, over TCP. Standard library only."""

import http.client
import json
import os
import sys
from urllib.parse import urlsplit

ADDRESS = urlsplit(os.environ["GAUNTLET_URL"])


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


def next_episode(key=None):
    status, episode = ask("POST", "/episodes", {}, **({"Idempotency-Key": key} if key else {}))
    return episode if status == 201 else None


def rpc(episode, method, params=None, identity=1):
    body = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}
    return ask("POST", f"/episodes/{episode['id']}/mcp", body)


def tool(episode, name, **arguments):
    return rpc(episode, "tools/call", {"name": name, "arguments": arguments})


def answer(episode, text="done", **more):
    return ask("POST", f"/episodes/{episode['id']}/answer", {"text": text, **more})


def say(*values):
    sys.stdout.write(f"said {json.dumps(values)}\n")
    sys.stdout.flush()
