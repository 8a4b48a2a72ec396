"""What a gateway gives up before it meets an agent: every capability, new privileges, and memory without end."""

from __future__ import annotations

import ctypes
import os
import resource
from typing import Final

MEMORY_BYTES: Final = 2 << 30  # data; what an agent can make a gateway hold is far below
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAPBSET_DROP: Final = 24
_CAPABILITY_VERSION_3: Final = 0x20080522
_LAST_CAPABILITY: Final = 63


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def confine() -> None:
    """Drop it all, for good.

    A worker may run as root, because sandboxes are made so; a gateway needs nothing of that: its sockets and pipes are
    handed to it, and its folder belongs to the same user.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # Agents' connections must never leave it without a descriptor for a record.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Not 0: then the kernel would hand it, with the keys that it holds, to a crash handler of the host's.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails where there is none to drop
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    header, nothing = _Header(_CAPABILITY_VERSION_3, 0), (_Sets * 2)()
    _check(libc.capset(ctypes.byref(header), nothing))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
