"""The gate of a confined program: its keeper connects and listens in its place, or refuses to.

The kernel stops the program in `connect` and `listen` until the gate has answered. It reads the address
once, and does the rest itself with the program's socket: what the program changes meanwhile has no effect.
Only the standard library is used here.
"""

import _thread
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from environments.system_calls import (
    MACHINES,
    PIDFD_GETFD,
    PR_SET_NO_NEW_PRIVS,
    filter_calls,
)

_PR_CAPBSET_DROP: Final = 24
_CAP_DAC_OVERRIDE: Final = 1
_LANDLOCK_RESTRICT_SELF: Final = 446
_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_IS_VALID: Final = 0x40082102
_LONGEST_ADDRESS: Final = 128
_SO_BINDTODEVICE: Final = 25
_LOOPBACK_DEVICE: Final = b"lo\0"
_SO_DOMAIN: Final = 39
_MAPPED: Final = bytes(10) + b"\xff\xff"
"""How an IPv6 address begins that stands for an IPv4 address."""
_LOOPBACK: Final = bytes((127, 0, 0, 1))
_IPV6_LOOPBACK: Final = bytes(15) + b"\1"
_MOST_WAITING: Final = 256
"""The most connections that the program may wait for at once."""

_libc = ctypes.CDLL(None, use_errno=True)


class Gate:
    """Answers the calls that are passed on.

    reach: pairs of an address, as its bytes in hexadecimal digits (empty: any), and a port; None: the whole
    network. folders: with the Unix sockets that may be connected to.
    """

    def __init__(self, told: Any) -> None:
        self._rules: int = told["rules"]
        self._outside, self._inside = socket.socketpair()
        self.port = 0
        """The port of this machine that may be reached now."""
        self.listener = -1
        self._reach: Sequence[tuple[str, int]] | None = told["reach"]
        self._folders = [os.path.realpath(folder) + "/" for folder in told["folders"]]
        self._own: set[int] = set()
        """The sockets that listen for the program."""
        self._waiting: set[int] = set()
        """The calls that threads carry out."""
        self._calls = {number: name for name, number in MACHINES[os.uname().machine].calls.items()}

    def enter(self) -> None:
        """Confine this process, which becomes the program, by Landlock's rules and the filter of calls.

        A process of root's gives its privileges up, all but that of reading and writing files which belong to
        others. Raises OSError.
        """
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        for capability in range(64):
            if capability != _CAP_DAC_OVERRIDE:
                _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        if _libc.syscall(_LANDLOCK_RESTRICT_SELF, self._rules, 0):
            raise OSError(ctypes.get_errno(), "Landlock's rules cannot be set")
        os.close(self._rules)
        # Names of other hosts are looked up by datagrams.
        udp = self._reach is None or any(not address for address, _ in self._reach)
        listener = filter_calls(udp=udp)
        socket.send_fds(self._inside, [b"\0"], [listener])
        os.close(listener)

    def open(self) -> None:
        """Take the listener to which the program's calls are passed on, if it has entered."""
        self._inside.close()
        os.close(self._rules)
        with self._outside:
            _, found, _, _ = socket.recv_fds(self._outside, 1, 1)
        self.listener = found[0] if found else -1

    def serve(self) -> None:
        """Answer one call; connections, which the program can let take long, are made by threads."""
        asked = bytearray(80)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, asked)
        except OSError:  # who made it has ended
            return
        number, thread = struct.unpack_from("=QI", asked)
        (call,) = struct.unpack_from("=i", asked, 16)
        arguments: tuple[int, ...] = struct.unpack_from("=6Q", asked, 32)
        opened: list[int] = []
        try:
            if self._calls[call] == "listen":
                self._take(opened, number, thread, arguments[0])
                error = self._listen(opened[0], arguments[1])
            else:
                address = self._take(opened, number, thread, *arguments[:3])
                self._later(number, opened, self._allowed(opened, thread, address))
                return
        except OSError as failure:
            error = failure.errno or errno.EACCES
        self._answer(number, error, opened)

    def _take(
        self, opened: list[int], number: int, thread: int, handle: int, place: int = 0, size: int = 0
    ) -> bytes:
        """Open the program's socket for us; return the address that the program names, if it names one."""
        with open(f"/proc/{thread}/status", "rb") as file:  # noqa: PTH123 (pathlib takes long to import)
            process = int(file.read().partition(b"\nTgid:")[2].split()[0])
        memory, holder = os.open(f"/proc/{thread}/mem", os.O_RDONLY), -1
        try:
            holder = os.pidfd_open(process)
            fcntl.ioctl(self.listener, _IS_VALID, struct.pack("=Q", number))  # they are still who they were
            own: int = _libc.syscall(PIDFD_GETFD, holder, ctypes.c_int(handle & 0xFFFFFFFF), 0)
            if own < 0:
                raise OSError(ctypes.get_errno(), "")
            opened.append(own)
            size &= 0xFFFFFFFF
            if size > _LONGEST_ADDRESS:
                raise OSError(errno.EINVAL, "")
            return os.pread(memory, size, place) if size else b""
        finally:
            os.close(memory)
            if holder >= 0:
                os.close(holder)

    def _allowed(self, opened: list[int], thread: int, address: bytes) -> bytes:
        """Return the address to connect to. Raises OSError: it is not allowed, or there is none."""
        if len(address) < 2:
            raise OSError(errno.EINVAL, "")
        (family,) = struct.unpack_from("=H", address)
        if family == socket.AF_UNSPEC:  # a connection is given up
            return address
        if family == socket.AF_UNIX:
            return self._in_folders(opened, thread, address[2:])
        if family == socket.AF_INET and len(address) >= 8:
            ip = address[4:8]
        elif family == socket.AF_INET6 and len(address) >= 24:
            ip = address[8:24].removeprefix(_MAPPED)
        else:
            raise OSError(errno.EAFNOSUPPORT, "")
        (port,) = struct.unpack_from("!H", address, 2)
        if not self._may_reach(opened[0], ip, port):
            raise OSError(errno.EACCES, "")
        return address

    def _may_reach(self, handle: int, ip: bytes, port: int) -> bool:
        if self._reach is None or (ip == _LOOPBACK and port == self.port):
            return True
        if any(port == own and address in ("", ip.hex()) for address, own in self._reach):
            return True
        if _option(handle, socket.SO_TYPE) == socket.SOCK_DGRAM:  # it needs no connection to be sent
            return True
        here = ip[0] == _LOOPBACK[0] if len(ip) == len(_LOOPBACK) else ip == _IPV6_LOOPBACK
        return here and listening_at(port) <= self._own

    def _in_folders(self, opened: list[int], thread: int, name: bytes) -> bytes:
        """Return the address of a Unix socket that is a file in the program's folders. Raises OSError."""
        path = os.fsdecode(name.partition(b"\0")[0])
        if not path:  # it has no file, or none was named
            raise OSError(errno.EACCES, "")
        opened.append(os.open(os.path.join(f"/proc/{thread}/cwd", path), os.O_PATH))  # noqa: PTH118
        found = f"/proc/self/fd/{opened[-1]}"
        if not os.readlink(found).startswith(tuple(self._folders)):  # noqa: PTH115
            raise OSError(errno.EACCES, "")
        return struct.pack("=H", socket.AF_UNIX) + found.encode() + b"\0"

    def _later(self, number: int, opened: list[int], address: bytes) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            raise OSError(errno.EAGAIN, "")
        self._waiting.add(number)
        try:
            _thread.start_new_thread(self._wait, (number, opened, address))
        except RuntimeError:  # the program has left no room for one
            self._waiting.discard(number)
            raise OSError(errno.EAGAIN, "") from None

    def _wait(self, number: int, opened: list[int], address: bytes) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        error = _connect(opened[0], address)
        self._waiting.discard(number)
        self._answer(number, error, opened)

    def _answer(self, number: int, error: int, opened: list[int]) -> None:
        for each in opened:
            os.close(each)
        with suppress(OSError):  # who made the call has ended
            fcntl.ioctl(self.listener, _SEND, struct.pack("=QqiI", number, 0, -error, 0))

    def _listen(self, handle: int, backlog: int) -> int:
        """Listen, for this machine only unless the whole network may be reached; return the error."""
        if self._reach is not None and _option(handle, _SO_DOMAIN) != socket.AF_UNIX:
            # Who has no privileges can do this once for a socket, and not undo it.
            lo = _LOOPBACK_DEVICE
            if _libc.setsockopt(handle, socket.SOL_SOCKET, _SO_BINDTODEVICE, lo, len(lo)) and not (
                _is_bound_to(handle, lo)
            ):
                return errno.EACCES
        if _libc.listen(handle, ctypes.c_int(backlog & 0xFFFFFFFF)):
            return ctypes.get_errno()
        self._own.add(os.fstat(handle).st_ino)
        return 0


def _option(handle: int, option: int) -> int:
    value, size = ctypes.c_int(), ctypes.c_uint(4)
    _libc.getsockopt(handle, socket.SOL_SOCKET, option, ctypes.byref(value), ctypes.byref(size))
    return value.value


def _is_bound_to(handle: int, device: bytes) -> bool:
    bound, size = ctypes.create_string_buffer(16), ctypes.c_uint(16)
    _libc.getsockopt(handle, socket.SOL_SOCKET, _SO_BINDTODEVICE, bound, ctypes.byref(size))
    return bound.value == device.rstrip(b"\0")


def _connect(handle: int, address: bytes) -> int:
    return ctypes.get_errno() if _libc.connect(handle, address, len(address)) else 0


def listening_at(port: int) -> set[int]:
    """Return the sockets, by their inodes, that listen at a port of this machine, at whatever address."""
    found = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/self/net/{name}", "rb") as file:  # noqa: PTH123
            for line in file.readlines()[1:]:
                _, near, _, state, *_, inode = line.split()[:10]
                if state == b"0A" and int(near.rpartition(b":")[2], 16) == port:
                    found.add(int(inode))
    return found
