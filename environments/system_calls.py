"""What a confined program may ask of the kernel: a filter of system calls, made for seccomp.

Some calls are refused by the kernel itself. `connect` and `listen` are passed on to the program's keeper,
which carries them out in its place or refuses them (`program_gate.py`). Only the standard library is used
here: the keeper is started for each trial, without any package.
"""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple


class Machine(NamedTuple):
    """The kernel's number of a kind of processor, and its numbers of system calls."""

    audit: int
    calls: dict[str, int]


MACHINES: Final = {
    "x86_64": Machine(
        0xC000003E,
        {"shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42, "sendto": 44, "sendmsg": 46,
         "listen": 50, "socketpair": 53, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68, "msgsnd": 69,
         "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241, "add_key": 248,
         "request_key": 249, "keyctl": 250, "prlimit64": 302, "sendmmsg": 307, "seccomp": 317,
         "io_uring_setup": 425},
    ),
    "aarch64": Machine(
        0xC00000B7,
        {"mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189,
         "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195,
         "shmat": 196, "socket": 198, "socketpair": 199, "listen": 201, "connect": 203, "sendto": 206,
         "sendmsg": 211, "add_key": 217, "request_key": 218, "keyctl": 219, "prlimit64": 261,
         "sendmmsg": 269, "seccomp": 277, "io_uring_setup": 425},
    ),
}  # fmt: skip
_SHARED_BY_NUMBER: Final = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl",
    "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip
"""Calls for memory, semaphores and queues that are no files: all processes of a user share them."""
PIDFD_GETFD: Final = 438
"""The call that copies a descriptor of another process; its number is the same on all kinds of processors."""
PR_SET_NO_NEW_PRIVS: Final = 38
_X32: Final = 0x40000000
"""The bit in the numbers of a second interface to 64-bit Linux, which has numbers of its own."""
_SET_FILTER: Final = 1
_NEW_LISTENER: Final = 1 << 3
_WAIT_KILLABLE: Final = 1 << 5
"""A call that the keeper has begun to carry out is not begun again because of a signal."""
_ALLOW: Final = 0x7FFF0000
_NOTIFY: Final = 0x7FC00000
_REFUSE: Final = 0x00050000
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_FAST_OPEN: Final = 0x20000000
"""The flag that lets data be sent to an address without `connect`."""
_ANY: Final = 0xFFFFFFFF
_KIND: Final = 0xF
"""The part of a socket's type that is not a flag."""


class Instruction(NamedTuple):
    """An instruction of the kernel's packet filters: where it jumps if true and if not, and its operand."""

    code: int
    yes: int
    no: int
    operand: int


class CallRule(NamedTuple):
    """What becomes of a system call if each argument (number, mask) has the value."""

    call: str
    action: int
    given: tuple[tuple[int, int, int], ...] = ()


def rules(*, udp: bool) -> Iterator[CallRule]:
    """Yield what is decided, the first that fits first; every other call is allowed."""
    refused = _REFUSE | errno.EACCES
    datagrams = (1, _KIND, socket.SOCK_DGRAM)
    unix = (0, _ANY, socket.AF_UNIX)
    # Datagrams reach an address without `connect`.
    yield CallRule("socket", refused, (unix, datagrams))
    yield CallRule("socketpair", refused, (datagrams,))
    yield CallRule("socket", _ALLOW, (unix,))
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (0, socket.IPPROTO_TCP):
            stream = (1, _KIND, socket.SOCK_STREAM)
            yield CallRule("socket", _ALLOW, ((0, _ANY, family), stream, (2, _ANY, protocol)))
        if udp:
            yield CallRule("socket", _ALLOW, ((0, _ANY, family), datagrams))
    # By these a program learns which addresses this machine has.
    yield CallRule("socket", _ALLOW, ((0, _ANY, 16), (2, _ANY, 0)))
    yield CallRule("socket", refused)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield CallRule(call, refused, ((flags, _FAST_OPEN, _FAST_OPEN),))
    yield CallRule("prlimit64", _ALLOW, ((0, _ANY, 0),))
    yield CallRule("prlimit64", _REFUSE | errno.EPERM)  # limits of other processes
    for call in ("connect", "listen"):
        yield CallRule(call, _NOTIFY)
    # Rings carry out calls that no filter sees; keys of the user's are kept by the kernel.
    for call in ("io_uring_setup", "add_key", "request_key", "keyctl", *_SHARED_BY_NUMBER):
        yield CallRule(call, _REFUSE | errno.ENOSYS)


def compiled(machine: Machine, chosen: Sequence[CallRule]) -> list[Instruction]:
    """Return the filter for these rules."""
    unknown = Instruction(_RETURN, 0, 0, _REFUSE | errno.ENOSYS)
    program = [
        Instruction(_LOAD, 0, 0, 4),  # the kind of processor that the call is made for
        Instruction(_EQUAL, 1, 0, machine.audit),
        unknown,
        Instruction(_LOAD, 0, 0, 0),  # the call's number
        Instruction(_AT_LEAST, 0, 1, _X32),
        unknown,
    ]
    for rule in chosen:
        length = 3 + 3 * len(rule.given)
        block = [
            Instruction(_LOAD, 0, 0, 0),
            Instruction(_EQUAL, 0, length - 2, machine.calls[rule.call]),
        ]
        for number, mask, value in rule.given:
            block += [
                Instruction(_LOAD, 0, 0, 16 + 8 * number),
                Instruction(_AND, 0, 0, mask),
                Instruction(_EQUAL, 0, length - len(block) - 3, value),
            ]
        program += [*block, Instruction(_RETURN, 0, 0, rule.action)]
    return [*program, Instruction(_RETURN, 0, 0, _ALLOW)]


def packed(program: Sequence[Instruction]) -> tuple[bytes, "ctypes.Array[ctypes.c_char]"]:
    """Return a filter as the kernel takes it, and the memory that has to stay as long as it is used."""
    memory = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    return struct.pack("@HP", len(program), ctypes.addressof(memory)), memory


def filter_calls(*, udp: bool) -> int:
    """Filter the calls of this process from now on; return the listener to which some are passed on.

    Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    machine = MACHINES[os.uname().machine]
    program, memory = packed(compiled(machine, list(rules(udp=udp))))
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        listener: int = libc.syscall(machine.calls["seccomp"], _SET_FILTER, flags, program)
        if listener >= 0:
            del memory
            return listener
    raise OSError(ctypes.get_errno(), "system calls cannot be filtered")
