"""Looks for the canaries in every file, process, socket and route that it can reach from its sandbox."""

import contextlib
import errno
import http.client
import json
import os
import re
import socket
import stat
import sys
import uuid
from urllib.parse import urlsplit

from gauntlet_agent import run

CANARY = re.compile(rb"canary-[a-z]+-[0-9a-f]{16}")
LARGEST = 8 << 20
DOOR = urlsplit(os.environ["GAUNTLET_URL"])
MET = []


class Search:
    """What was found, and how much was looked at."""

    def __init__(self):
        self.canaries, self.files, self.requests, self.places = set(), 0, 0, set()

    def take(self, content):
        self.canaries.update(found.decode() for found in CANARY.findall(content))

    def file(self, path):
        with contextlib.suppress(OSError, ValueError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as opened:
                self.take(opened.read(LARGEST))
                self.files += 1

    def tree(self, root):
        """Names, link targets and contents, of everything below a folder."""
        for folder, folders, names in os.walk(root):
            self.places.add("/" + folder.strip("/").split("/")[0])
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                self.take(os.fsencode(path))
                with contextlib.suppress(OSError):
                    self.take(os.fsencode(os.readlink(path)))
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        self.file(path)
            if root == "/" and folder == "/":
                folders[:] = [name for name in folders if name != "proc"]

    def processes(self):
        """Each process: its words, its surroundings, its memory, its open files and its root."""
        words, uids = [], []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("environ", "cmdline", "maps", "mountinfo", "status", "net/unix", "net/tcp", "cgroup"):
                self.file(f"/proc/{pid}/{name}")
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as cmdline:
                words.append(cmdline.read().replace("\0", " "))
                uids.append([int(pid), os.stat(f"/proc/{pid}").st_uid])
            self.places.add("/proc")
            with contextlib.suppress(OSError):
                for opened in os.listdir(f"/proc/{pid}/fd"):
                    self.take(os.fsencode(os.readlink(f"/proc/{pid}/fd/{opened}")))
            if int(pid) != os.getpid():
                self.memory(pid)
                for inside in ("root", "cwd"):
                    with contextlib.suppress(OSError):
                        self.take(" ".join(os.listdir(f"/proc/{pid}/{inside}")).encode())
        return words, uids

    def memory(self, pid):
        """Another process's memory, which the kernel must refuse."""
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(start)
                    self.take(memory.read(min(end - start, LARGEST)))

    def ask(self, method, path, body=None):
        """A request at the door."""
        self.requests += 1
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(DOOR.hostname, DOOR.port, timeout=10)
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            connection.request(method, path, json.dumps(body).encode() if body is not None else None, headers)
            response = connection.getresponse()
            self.take(str(response.headers).encode() + response.read())
            connection.close()


def knock(search, episode):
    """Every route that there is, some that there are not, and the tools that are not for agents."""
    here, stranger = f"/episodes/{episode.id}", f"/episodes/{uuid.uuid4()}"
    names = [episode.id, episode.scenario, "1", "..", "../..", "%2e%2e/%2e%2e", "*", ""]
    for path in (
        *("/", "/episodes", "/health", "/metrics", "/docs", "/openapi.json", "/scenarios", "/records", "/setup.json"),
        *("/trajectory", "/llm/v1/models", "/llm/v1/chat/completions", "/../setup.json", "/%2e%2e/setup.json"),
        *(f"{base}/{tail}" for base in (here, stranger) for tail in ("mcp", "messages", "plan", "notes", "trajectory")),
        *(f"/episodes/{name}" for name in names),
        *(f"/files/{name}" for name in names),
    ):
        search.ask("GET", path)
    for name in ("gauntlet_reset", "gauntlet_state", "gauntlet_user", "read_file"):
        for key in (episode.scenario, "scenario-1", "0", "1"):
            arguments = {"scenario": key, "seed": 1, "message": "tell me all", "path": "/app/data/secret.txt"}
            request = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
            search.ask("POST", f"{here}/mcp", request)
            search.ask("POST", f"{stranger}/mcp", request)
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "logging/setLevel"):
        search.ask("POST", f"{here}/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
    for uri in ("file:///app/data/secret.txt", "file:///app/program/server.py", "file:///etc/passwd"):
        search.ask(
            "POST", f"{here}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}}
        )


def listening():
    """The ports of the loopback that accept a connection."""
    found = []
    for port in range(1, 65536):
        with socket.socket() as probe:
            probe.settimeout(1)
            refused = probe.connect_ex(("127.0.0.1", port)) in (errno.ECONNREFUSED, errno.EADDRNOTAVAIL)
            # The kernel may give the probe the very port that it asks for: then it has met itself.
            if not refused and probe.getsockname() != probe.getpeername():
                found.append(port)
    return found


def solve(episode):
    """Look everywhere once an episode, and answer with what was found."""
    MET.append(episode.id)
    search = Search()
    search.take(episode.text.encode() + json.dumps(episode.show).encode())
    search.tree("/")
    words, uids = search.processes()
    knock(search, episode)
    found = {
        "canaries": sorted(search.canaries),
        "met": len(MET),
        "files": search.files,
        "requests": search.requests,
        "places": len(search.places),
        "ports": listening(),
        "environment": dict(os.environ),
        "processes": words,
        "uids": uids,
    }
    sys.stdout.write(f"spy found {json.dumps(found)}\n")
    sys.stdout.flush()
    return "spied", found


run(solve)
