"""The filter itself, run by a small machine for classic BPF: what it answers for every call, on every architecture."""

from __future__ import annotations

import errno
import operator
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_runtime.sandbox import seccomp

ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050000 | errno.EPERM
ENOMEM = 0x00050000 | errno.ENOMEM
ENOSYS = 0x00050000 | errno.ENOSYS
EAFNOSUPPORT = 0x00050000 | errno.EAFNOSUPPORT
EPROTONOSUPPORT = 0x00050000 | errno.EPROTONOSUPPORT
ESOCKTNOSUPPORT = 0x00050000 | errno.ESOCKTNOSUPPORT
FAMILIES = {seccomp.AF_UNIX, *seccomp.INTERNET.values()}
PROTOCOLS = {1: {0, 6}, 2: {0, 17}}  # of the internet's sockets, by their type
MACHINES = sorted(seccomp.ARCHITECTURES)


def answer(machine: str, number: int, arguments: tuple[int, ...] = (), *, audit: int | None = None) -> int:
    """What the kernel would do: `struct seccomp_data` through the program."""
    arch = seccomp.ARCHITECTURES[machine].audit if audit is None else audit
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    program = list(struct.iter_unpack("<HBBI", seccomp.bpf(machine)))
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, constant)[0]
        elif code == 0x06:
            return constant
        elif code == 0x54:
            accumulator &= constant
        else:
            holds = {
                0x15: accumulator == constant,
                0x35: accumulator >= constant,
                0x45: bool(accumulator & constant),
            }[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", MACHINES)
def test_every_denied_call_is_answered_with_eperm(machine):
    assert len(seccomp.denied_numbers(machine)) > 40
    for number in seccomp.denied_numbers(machine):
        assert answer(machine, number) == EPERM, number


@pytest.mark.parametrize("machine", MACHINES)
def test_every_other_call_is_allowed(machine):
    column = seccomp.ARCHITECTURES[machine].column
    tables = (seccomp.CLONE, seccomp.SOCKET, seccomp.SOCKETPAIR, seccomp.IOCTL)
    special = {table[column] for table in tables} | {seccomp.CLONE3}
    others = set(range(600)) - set(seccomp.denied_numbers(machine)) - special
    assert {answer(machine, number) for number in others} == {ALLOW}
    assert answer(machine, seccomp.CLONE3) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 2**64 - 1))
def test_clone_is_refused_exactly_with_a_namespace_flag(machine, flags):
    number = seccomp.CLONE[seccomp.ARCHITECTURES[machine].column]
    with_namespace = any(flags & flag for flag in seccomp.NAMESPACE_FLAGS.values())
    assert answer(machine, number, (flags,)) == (EPERM if with_namespace else ALLOW)


def wanted_of_socket(family: int, kind: int, protocol: int) -> int:
    if family not in FAMILIES:
        return EAFNOSUPPORT
    if family == seccomp.AF_UNIX:
        return ALLOW
    if kind & 0xF not in PROTOCOLS:
        return ESOCKTNOSUPPORT
    return ALLOW if protocol in PROTOCOLS[kind & 0xF] else EPROTONOSUPPORT


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 100), upper=st.integers(0, 2**32 - 1))
def test_the_upper_half_of_an_argument_smuggles_no_socket_through(machine, family, upper):
    column = seccomp.ARCHITECTURES[machine].column
    one = answer(machine, seccomp.SOCKET[column], (upper << 32 | family, 1))
    assert one == (ALLOW if family in FAMILIES else EAFNOSUPPORT)
    pair = answer(machine, seccomp.SOCKETPAIR[column], (upper << 32 | family, 1))
    assert pair == (ALLOW if family == seccomp.AF_UNIX else EAFNOSUPPORT)


FLAGS = [0, 0o2000000, 0o4000, 7 << 32]  # SOCK_CLOEXEC, SOCK_NONBLOCK, and what the kernel does not look at


@pytest.mark.parametrize("machine", MACHINES)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    kind=st.integers(0, 15),
    flags=st.sampled_from(FLAGS),
    protocol=st.integers(0, 300),
    upper=st.integers(0, 2**32 - 1),
)
def test_nothing_but_tcp_and_udp_is_loaded_by_asking_for_a_socket(machine, family, kind, flags, protocol, upper):
    """A type alone says enough to load a module: SOCK_DCCP is one."""
    number = seccomp.SOCKET[seccomp.ARCHITECTURES[machine].column]
    wanted = wanted_of_socket(family, kind, protocol)
    assert answer(machine, number, (family, kind | flags, upper << 32 | protocol)) == wanted


@pytest.mark.parametrize("machine", MACHINES)
@given(level=st.integers(0, 3), option=st.integers(0, 100), upper=st.integers(0, 2**32 - 1))
def test_no_program_for_the_kernel_is_attached_to_a_socket(machine, level, option, upper):
    number = seccomp.SETSOCKOPT[seccomp.ARCHITECTURES[machine].column]
    arguments = (3, upper << 32 | level, upper << 32 | option)
    wanted = EPERM if level == 1 and option in (26, 50, 51, 52) else ALLOW
    assert answer(machine, number, arguments) == wanted
    assert dockers_answer(seccomp.docker_profile()["syscalls"], "setsockopt", arguments) == wanted


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 63), upper=st.integers(0, 2**32 - 1))
def test_a_program_may_filter_itself_and_not_let_a_descriptor_hold_the_filter(machine, flags, upper):
    number = seccomp.SECCOMP[seccomp.ARCHITECTURES[machine].column]
    arguments = (1, upper << 32 | flags, 0x1000)
    wanted = EPERM if flags & 0x8 else ALLOW
    assert answer(machine, number, arguments) == wanted
    assert dockers_answer(seccomp.docker_profile()["syscalls"], "seccomp", arguments) == wanted


@pytest.mark.parametrize("machine", MACHINES)
def test_characters_cannot_be_pushed_into_a_terminal_and_modules_not_be_loaded_for_one_or_for_a_socket(machine):
    number = seccomp.IOCTL[seccomp.ARCHITECTURES[machine].column]
    for request in (0x5412, 0x5423, 0x8940, 0x8941, 0x89A0, 0x89A1, 0x8982, 0x8983):
        assert answer(machine, number, (0, request)) == EPERM
        assert answer(machine, number, (0, 7 << 32 | request)) == EPERM
    assert answer(machine, number, (0, 0x5401)) == ALLOW


def test_calls_of_another_architecture_end_the_program():
    assert answer("x86_64", 1, audit=0x40000003) == KILL  # i386
    assert answer("aarch64", 1, audit=0x40000028) == KILL  # arm
    assert answer("x86_64", 0x40000000 | 1) == ENOSYS  # x32


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", seccomp.HUGE_PAGES)
@given(flags=st.integers(0, 2**64 - 1))
def test_huge_pages_are_refused_exactly_by_their_flag(machine, name, flags):
    numbers, index, flag = seccomp.HUGE_PAGES[name]
    arguments = (*[2**64 - 1] * index, flags)
    wanted = ENOMEM if flags & flag else ALLOW
    assert answer(machine, numbers[seccomp.ARCHITECTURES[machine].column], arguments) == wanted
    assert dockers_answer(seccomp.docker_profile()["syscalls"], name, arguments) == wanted


@pytest.mark.parametrize("machine", MACHINES)
def test_the_core_limit_is_kept_and_others_may_be_lowered(machine):
    column = seccomp.ARCHITECTURES[machine].column
    old, new = seccomp.SETRLIMIT[column], seccomp.PRLIMIT[column]
    for smuggled in (0, 7 << 32):
        assert answer(machine, old, (smuggled | 4, 0x1000)) == EPERM
        for address in (0x1000, 0x7FFF_0000_0000):
            assert answer(machine, new, (0, smuggled | 4, address)) == EPERM
        assert answer(machine, new, (0, smuggled | 4, 0)) == ALLOW  # it only reads
    assert answer(machine, old, (7, 0x1000)) == ALLOW
    assert answer(machine, new, (0, 7, 0x1000)) == ALLOW


def dockers_answer(rules: list[dict[str, Any]], name: str, arguments: tuple[int, ...]) -> int:
    """What libseccomp would do: the first rule whose comparisons all hold."""
    compare = {"SCMP_CMP_EQ": operator.eq, "SCMP_CMP_GT": operator.gt, "SCMP_CMP_NE": operator.ne}
    for rule in (rule for rule in rules if rule["names"] == [name]):
        if all(
            arguments[one["index"]] & one["value"] == one["valueTwo"]
            if one["op"] == "SCMP_CMP_MASKED_EQ"
            else compare[one["op"]](arguments[one["index"]], one["value"])
            for one in rule.get("args", ())
        ):
            return 0x00050000 | rule["errnoRet"]
    return ALLOW


def test_dockers_profile_says_the_same():
    rules = seccomp.docker_profile()["syscalls"]
    plain = {name for rule in rules if "args" not in rule and rule["errnoRet"] == errno.EPERM for name in rule["names"]}
    assert plain == set(seccomp.DENIED)
    for family in range(50):
        pair = ALLOW if family == seccomp.AF_UNIX else EAFNOSUPPORT
        assert dockers_answer(rules, "socketpair", (family, 1, 0)) == pair
        for kind in (*range(16), *(2 | flags for flags in FLAGS)):
            for protocol in (0, 1, 6, 17, 33, 132, 262):
                said = dockers_answer(rules, "socket", (family, kind, protocol))
                assert said == wanted_of_socket(family, kind, protocol)
    for smuggled in (0, 7 << 32):
        assert dockers_answer(rules, "setrlimit", (smuggled | 4, 0x1000, 0)) == EPERM
        assert dockers_answer(rules, "prlimit64", (0, smuggled | 4, 0x1000)) == EPERM
    assert dockers_answer(rules, "prlimit64", (0, 4, 0)) == dockers_answer(rules, "prlimit64", (0, 7, 1)) == ALLOW
    flags = {rule["args"][0]["valueTwo"] for rule in rules if rule["names"] == ["clone"]}
    assert flags == set(seccomp.NAMESPACE_FLAGS.values())


def test_no_number_stands_twice_in_the_table():
    for column in range(2):
        numbers = [pair[column] for pair in seccomp.DENIED.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))
