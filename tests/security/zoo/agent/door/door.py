"""What the zoo's agents share: the way to their gateway, and a way to tell what they found. Standard library only."""

import ctypes
import errno
import json
import os
import socket
import sys
import time
from pathlib import Path

import gateway
from gateway import *

TARGETS = json.loads(Path("targets.json").read_text())
MIB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def code_of(reply):
    """Status and code of a refusal."""
    status, body = reply
    return [status, body.get("code") if isinstance(body, dict) else None]


def text_of(reply):
    """The text that a tool gave."""
    return reply[1]["result"]["content"][0]["text"]


def answer(episode, text="42", **more):
    return gateway.answer(episode, text, **more)


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
