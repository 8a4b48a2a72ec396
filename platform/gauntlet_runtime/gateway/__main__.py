"""``python -m gauntlet_runtime.gateway <descriptor>``: loads everything once, forks a gateway for each job.

Importing the MCP SDK takes about a second; a fork of a process that has done it takes ten milliseconds. This process
never runs an event loop, a thread or anything of a job: it waits for sockets on its descriptor and forks.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys

from gauntlet_runtime.gateway.judge_server import serve_judge
from gauntlet_runtime.gateway.messages import receive_message
from gauntlet_runtime.gateway.server import serve


def main() -> None:
    """Fork a gateway for each control socket that arrives; end when the pool is gone."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM):  # of a terminal, or of what ends a service: the worker, which gets
        signal.signal(number, signal.SIG_IGN)  # it too, ends us in order
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps: the supervisor sees an end on its socket
    gc.collect()
    gc.freeze()
    requests.send(b"warm")
    while True:
        body, descriptors = receive_message(requests)
        if not body:
            return
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            be_gateway = serve_judge if body == b"judge" else serve
            be_gateway(socket.socket(fileno=descriptors[0]))
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
