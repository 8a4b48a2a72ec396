"""A provider of language models at an address of this network namespace, until it is ended. A program of the tests.

    python far_provider.py ADDRESS

It says where it is, and then each request's model, a line each.
"""

from __future__ import annotations

import sys
import time

from model_server import model_server

if __name__ == "__main__":
    with model_server(address=sys.argv[1]) as server:
        print(f"at {server.url}", flush=True)  # noqa: T201 - for the test
        told = 0
        while True:
            while told < len(server.seen):
                print(f"asked {server.seen[told]['model']}", flush=True)  # noqa: T201
                told += 1
            time.sleep(0.05)
