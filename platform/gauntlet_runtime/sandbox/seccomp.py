"""The system calls that no sandboxed program makes: one table, from which both backends' filters are made.

bubblewrap takes a compiled filter (classic BPF, seccomp(2)); Docker takes a JSON profile. Numbers: Linux
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """A machine that a filter can be made for."""

    audit: int  # AUDIT_ARCH_*: what seccomp_data.arch holds
    docker: str
    column: int  # in _DENIED


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(0xC000003E, "SCMP_ARCH_X86_64", 0),
    "aarch64": Architecture(0xC00000B7, "SCMP_ARCH_AARCH64", 1),
}

# Name: number on x86_64, on aarch64 (None: it has no such call). All are answered with EPERM.
DENIED: Mapping[str, tuple[int | None, int | None]] = {
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "open_tree_attr": (467, 467),
    # keyring
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the kernel's own programs and probes
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),  # all programs of a host share one number of its contexts (fs.aio-max-nr)
    "fanotify_init": (300, 262),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # modules, boot, power
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    # the host's clock, swap, quotas, accounting, log
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    # files by handle reach around mounts
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # hardware and relics
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
}

# clone(2) is how programs fork; only its flags that make a namespace are refused.
CLONE = (56, 220)
NAMESPACE_FLAGS: Mapping[str, int] = {
    "CLONE_NEWNS": 0x00020000,
    "CLONE_NEWCGROUP": 0x02000000,
    "CLONE_NEWUTS": 0x04000000,
    "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}
# clone3(2) hides its flags behind a pointer. ENOSYS makes every C library fall back to clone.
CLONE3 = 435

# socket(2): a namespace does not hold back vsock, the kernel's crypto and packet sockets are attack surface, and what
# lies in the queues of netlink sockets counts towards no memory limit (decision 0027). What the internet families have
# beyond TCP and UDP are modules, which asking for a socket loads, by its protocol or by its type alone (SOCK_DCCP).
# socketpair(2) makes sockets of every family too, if only to find that it has no pairs.
SOCKET = (41, 198)
SOCKETPAIR = (53, 199)
AF_UNIX = 1
INTERNET: Mapping[str, int] = {"AF_INET": 2, "AF_INET6": 10}
TYPES: Mapping[str, tuple[int, tuple[int, int]]] = {  # with the protocols of each: the family's own, and its name
    "SOCK_STREAM": (1, (0, 6)),
    "SOCK_DGRAM": (2, (0, 17)),
}
TYPE_MASK = 0xF  # beside it stand SOCK_CLOEXEC and SOCK_NONBLOCK

# setsockopt(2), seccomp(2): programs for the kernel that a descriptor holds. Compiled ones have room of their own, one
# for the host (net.core.bpf_jit_limit): once it is used up, no sandbox's filter can be set (decision 0031).
SETSOCKOPT = (54, 208)
SOL_SOCKET = 1
DENIED_OPTIONS: Mapping[str, int] = {
    "SO_ATTACH_FILTER": 26,
    "SO_ATTACH_BPF": 50,
    "SO_ATTACH_REUSEPORT_CBPF": 51,
    "SO_ATTACH_REUSEPORT_EBPF": 52,
}
SECCOMP = (317, 277)
NEW_LISTENER = 0x8

# ioctl(2): pushing characters into a terminal that somebody else reads; and what loads modules, whoever asks.
IOCTL = (16, 29)
DENIED_IOCTLS: Mapping[str, int] = {
    "TIOCSTI": 0x5412,
    "TIOCLINUX": 0x541C,
    "TIOCSETD": 0x5423,  # a terminal's line discipline
    "SIOCGIFBR": 0x8940,
    "SIOCSIFBR": 0x8941,
    "SIOCBRADDBR": 0x89A0,
    "SIOCBRDELBR": 0x89A1,
    "SIOCGIFVLAN": 0x8982,
    "SIOCSIFVLAN": 0x8983,
}

# Huge pages that an operator reserved, for a database say, count towards no memory limit. Name: numbers, which argument
# holds the flag, and the flag (MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB); answered as where none are reserved.
HUGE_PAGES: Mapping[str, tuple[tuple[int, int], int, int]] = {
    "mmap": ((9, 222), 3, 0x40000),
    "memfd_create": ((319, 279), 1, 0x4),
    "shmget": ((29, 194), 2, 0o4000),
}

# setrlimit(2), prlimit(2): a core limit of 1 byte is what keeps the kernel from handing a crashed program to the host's
# handler, which is root's and runs outside of the sandbox; at 0 it does (fs/coredump.c). So the limit is kept.
SETRLIMIT = (160, 164)
PRLIMIT = (302, 261)
RLIMIT_CORE = 4
CORE_BYTES = 1

_X32_BIT = 0x40000000

_LD_W_ABS = 0x20
_JEQ = 0x15
_JGE = 0x35
_JSET = 0x45
_AND = 0x54
_RET = 0x06

_OFFSET_NR = 0
_OFFSET_ARCH = 4
# Each argument has 8 bytes. This is the low half, on a little-endian machine; the kernel uses no more of an int.
_OFFSET_ARG0 = 16
_OFFSET_ARG1 = 24
_OFFSET_ARG2 = 32
_HIGH_HALF = 4  # further on, of an argument that is an address

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000


def _errno(number: int) -> int:
    return 0x00050000 | number


_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def _load(offset: int) -> _Instruction:
    return (_LD_W_ABS, 0, 0, offset)


def _give(verdict: int) -> _Instruction:
    return (_RET, 0, 0, verdict)


def this_architecture() -> str:
    """This host's name in :data:`ARCHITECTURES`.

    Raises:
        KeyError: no filter can be made for it.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise KeyError(f"no seccomp filter for {machine}")
    return machine


def denied_numbers(machine: str) -> list[int]:
    """The numbers of the calls that are refused whatever their arguments."""
    column = ARCHITECTURES[machine].column
    numbers = (pair[column] for pair in DENIED.values())
    return sorted(number for number in numbers if number is not None)


def bpf(machine: str) -> bytes:
    """The filter as an array of `struct sock_filter`, for seccomp(2) and `bwrap --seccomp`."""
    column = ARCHITECTURES[machine].column
    program: list[_Instruction] = [
        _load(_OFFSET_ARCH),
        (_JEQ, 1, 0, ARCHITECTURES[machine].audit),
        _give(_KILL_PROCESS),  # a 32-bit program: its numbers mean other calls
        _load(_OFFSET_NR),
        (_JGE, 0, 1, _X32_BIT),
        _give(_errno(errno.ENOSYS)),
        (_JEQ, 0, 1, CLONE3),
        _give(_errno(errno.ENOSYS)),
    ]
    for number in denied_numbers(machine):
        program += [(_JEQ, 0, 1, number), _give(_errno(errno.EPERM))]
    flags = 0
    for flag in NAMESPACE_FLAGS.values():
        flags |= flag
    program += _when(CLONE[column], [_load(_OFFSET_ARG0), (_JSET, 0, 1, flags), _give(_errno(errno.EPERM))])
    program += _when(SOCKET[column], _sockets())
    pairs = [_load(_OFFSET_ARG0), (_JEQ, 1, 0, AF_UNIX), _give(_errno(errno.EAFNOSUPPORT))]
    program += _when(SOCKETPAIR[column], pairs)
    program += _when(IOCTL[column], [_load(_OFFSET_ARG1), *_refuse(DENIED_IOCTLS.values())])
    options: list[_Instruction] = [_load(_OFFSET_ARG1), (_JEQ, 1, 0, SOL_SOCKET), _give(_ALLOW), _load(_OFFSET_ARG2)]
    program += _when(SETSOCKOPT[column], [*options, *_refuse(DENIED_OPTIONS.values())])
    listener = [_load(_OFFSET_ARG1), (_JSET, 0, 1, NEW_LISTENER), _give(_errno(errno.EPERM))]
    program += _when(SECCOMP[column], listener)
    for numbers, index, flag in HUGE_PAGES.values():
        block = [_load(_OFFSET_ARG0 + 8 * index), (_JSET, 0, 1, flag), _give(_errno(errno.ENOMEM))]
        program += _when(numbers[column], block)
    program += _when(SETRLIMIT[column], [_load(_OFFSET_ARG0), (_JEQ, 0, 1, RLIMIT_CORE), _give(_errno(errno.EPERM))])
    program += _when(PRLIMIT[column], _core_limit())
    program.append(_give(_ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _core_limit() -> list[_Instruction]:
    """The part of the filter that decides on prlimit(2): with no new limit it only reads."""
    block: list[_Instruction] = [_load(_OFFSET_ARG1), (_JEQ, 1, 0, RLIMIT_CORE), _give(_ALLOW)]
    for half in (_OFFSET_ARG2, _OFFSET_ARG2 + _HIGH_HALF):
        block += [_load(half), (_JEQ, 1, 0, 0), _give(_errno(errno.EPERM))]
    return block


def _refuse(values: Iterable[int]) -> list[_Instruction]:
    """EPERM where what was loaded is one of these."""
    return [one for value in values for one in ((_JEQ, 0, 1, value), _give(_errno(errno.EPERM)))]


def _sockets() -> list[_Instruction]:
    """The part of the filter that decides on socket(2)."""
    block: list[_Instruction] = [_load(_OFFSET_ARG0), (_JEQ, 0, 1, AF_UNIX), _give(_ALLOW)]
    families = list(INTERNET.values())
    block += [(_JEQ, len(families) - number, 0, family) for number, family in enumerate(families)]
    block += [_give(_errno(errno.EAFNOSUPPORT))]
    for kind, protocols in TYPES.values():
        allowed = [one for protocol in protocols for one in ((_JEQ, 0, 1, protocol), _give(_ALLOW))]
        decided = [_load(_OFFSET_ARG2), *allowed, _give(_errno(errno.EPROTONOSUPPORT))]
        block += [_load(_OFFSET_ARG1), (_AND, 0, 0, TYPE_MASK), (_JEQ, 0, len(decided), kind), *decided]
    return [*block, _give(_errno(errno.ESOCKTNOSUPPORT))]


def _when(number: int, block: list[_Instruction]) -> list[_Instruction]:
    """Run ``block`` for one call; it ends by allowing it."""
    block = [*block, _give(_ALLOW)]
    return [(_JEQ, 0, len(block), number), *block]


def docker_profile() -> dict[str, Any]:
    """The same rules as Docker's JSON."""
    rules: list[dict[str, Any]] = [_rule(sorted(DENIED), errno.EPERM), _rule(["clone3"], errno.ENOSYS)]
    for flag in NAMESPACE_FLAGS.values():
        rules.append(_rule(["clone"], errno.EPERM, _compare(0, "SCMP_CMP_MASKED_EQ", flag, flag)))
    rules += _but("socket", [], 0, {AF_UNIX, *INTERNET.values()}, errno.EAFNOSUPPORT)
    rules += _but("socketpair", [], 0, {AF_UNIX}, errno.EAFNOSUPPORT)
    for family in INTERNET.values():
        rules += _internet_sockets(_compare(0, "SCMP_CMP_EQ", family))
    for name, (_, index, flag) in HUGE_PAGES.items():
        rules.append(_rule([name], errno.ENOMEM, _compare(index, "SCMP_CMP_MASKED_EQ", flag, flag)))
    core = [_int(index, RLIMIT_CORE) for index in range(2)]
    rules.append(_rule(["setrlimit"], errno.EPERM, core[0]))
    rules.append(_rule(["prlimit64"], errno.EPERM, core[1], _compare(2, "SCMP_CMP_NE", 0)))
    for request in DENIED_IOCTLS.values():
        rules.append(_rule(["ioctl"], errno.EPERM, _int(1, request)))
    for option in DENIED_OPTIONS.values():
        rules.append(_rule(["setsockopt"], errno.EPERM, _int(1, SOL_SOCKET), _int(2, option)))
    rules.append(_rule(["seccomp"], errno.EPERM, _compare(1, "SCMP_CMP_MASKED_EQ", NEW_LISTENER, NEW_LISTENER)))
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        # Without sub-architectures: a 32-bit program is killed, as above.
        "architectures": [architecture.docker for architecture in ARCHITECTURES.values()],
        "syscalls": rules,
    }


def _rule(names: list[str], number: int, *compared: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": int(number)}
    return {**rule, "args": list(compared)} if compared else rule


def _compare(index: int, how: str, value: int, second: int = 0) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": second, "op": how}


def _int(index: int, value: int) -> dict[str, Any]:
    """An argument is this; the kernel uses no more than its low half."""
    return _compare(index, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, value)


def _internet_sockets(family: dict[str, Any]) -> list[dict[str, Any]]:
    """Rules that refuse sockets of one family of the internet."""
    rules = []
    kinds = dict(TYPES.values())
    for kind in range(TYPE_MASK + 1):
        given = [family, _compare(1, "SCMP_CMP_MASKED_EQ", TYPE_MASK, kind)]
        if kind in kinds:
            rules += _but("socket", given, 2, set(kinds[kind]), errno.EPROTONOSUPPORT)
        else:
            rules.append(_rule(["socket"], errno.ESOCKTNOSUPPORT, *given))
    return rules


def _but(name: str, given: list[dict[str, Any]], index: int, allowed: set[int], number: int) -> list[dict[str, Any]]:
    """Rules that refuse a call whose argument is none of the allowed ones: Docker knows no rule that says "none of"."""
    others = [_compare(index, "SCMP_CMP_EQ", value) for value in range(max(allowed)) if value not in allowed]
    others.append(_compare(index, "SCMP_CMP_GT", max(allowed)))
    return [_rule([name], number, *given, other) for other in others]
