"""Confine a program of the user's by Landlock: what it may read, write and reach, and nothing else.

Landlock is a part of Linux that lets any process give up rights, for itself and all that it starts. Its
rules are sets of files; what is reached by the network is decided by the program's keeper
(`program_gate.py`). Souk calls the kernel by itself: the packages for this on PyPI are early versions that
know files only, or start the program in a way of their own.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from environments.system_calls import MACHINES, PIDFD_GETFD

Reach = Sequence[tuple[str, int]] | None
"""Addresses with ports that a program may reach; an empty address is any, None the whole network."""

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_DEVICES: Final = 1 << 6 | 1 << 11
"""The rights to make devices."""
_TRUNCATE: Final = 1 << 14
_DEVICE_CALLS: Final = 1 << 15
_RIGHTS: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""The rights that can be taken from each version of Landlock on."""
_SCOPES_FROM: Final = 6
_SCOPES: Final = 3
"""Unix sockets without a file, and signals."""
_GAPS: Final = {3: "cut off files of yours", _SCOPES_FROM: "send signals to processes of yours"}
"""What programs can do before each version of Landlock."""
_SHOW_ACTION: Final = 2
_STRICT_PTRACE: Final = 2
_PTRACE_SCOPE: Final = Path("/proc/sys/kernel/yama/ptrace_scope")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a program may do: `read` (and start) files, list folders, `write` (and read), and reach addresses.

    What it may reach beside `reach` is its trial's port of the proxy, and servers of its own.
    """

    read: Sequence[Path]
    listed: Sequence[Path]
    write: Sequence[Path]
    reach: Reach = ()

    def told(self, rules: int) -> dict[str, Any]:
        """Return what the program's keeper is told. `rules`: the descriptor of the rules for files."""
        folders = [str(path) for path in self.write if path.is_dir()]
        return {"rules": rules, "reach": self.reach, "folders": folders}


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0: there is none."""
    if sys.platform != "linux":
        return 0
    version: int = _libc().syscall(_CREATE_RULESET, None, 0, _VERSION)
    return max(0, version)


@cache
def obstacle() -> str:
    """Return why no program can be confined here; empty where it can."""
    if sys.platform != "linux":
        return "only Linux can do it"
    if not landlock_version():
        return "this kernel has no Landlock, or it is switched off"
    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        return f"it was made for processors of the kinds {' and '.join(MACHINES)}"
    notify = struct.pack("=I", 0x7FC00000)
    if _libc().syscall(machine.calls["seccomp"], _SHOW_ACTION, 0, notify) or not _can_take_sockets():
        return "calls to the kernel cannot be passed on to another process (seccomp, pidfd_getfd, ptrace)"
    return ""


def left_open() -> str:
    """Return a line that says what programs can do here though they are to be confined; empty: nothing."""
    if why := obstacle():
        return (
            f"programs are not confined here, as {why}: they can read your files and reach the network; "
            "run those of strangers elsewhere"
        )
    version = landlock_version()
    can = " and ".join(what for since, what in _GAPS.items() if version < since)
    return can and f"programs can {can} here; Linux 6.12 keeps them from it"


def _can_take_sockets() -> bool:
    """Whether a process may take a copy of a descriptor of those that it has started."""
    with suppress(OSError, ValueError):
        if os.geteuid() and int(_PTRACE_SCOPE.read_text()) >= _STRICT_PTRACE:
            return False
    try:
        of = os.pidfd_open(os.getpid())
    except OSError:
        return False
    with open(os.devnull, "rb") as file:  # noqa: PTH123 (any descriptor will do)
        copy: int = _libc().syscall(PIDFD_GETFD, of, file.fileno(), 0)
    for each in (of, copy):
        if each >= 0:
            os.close(each)
    return copy >= 0


def make_rules(confinement: Confinement) -> int:
    """Return the descriptor of Landlock's rules for files, which a process can enter. Raises OSError."""
    libc, version = _libc(), landlock_version()
    handled = max(rights for since, rights in _RIGHTS.items() if since <= version)
    scopes = _SCOPES if version >= _SCOPES_FROM else 0
    # Older kernels know a shorter structure.
    size = 24 if scopes else 8
    rules: int = libc.syscall(_CREATE_RULESET, struct.pack("=QQQ", handled, 0, scopes), size, 0)
    if rules < 0:
        raise OSError(ctypes.get_errno(), "Landlock's rules cannot be made")
    try:
        for paths, rights in (
            (confinement.read, _EXECUTE | _READ | _LIST),
            (confinement.listed, _LIST),
            (confinement.write, handled & ~_DEVICES),
        ):
            for path in paths:
                _allow(libc, rules, path, handled & rights)
    except BaseException:
        os.close(rules)
        raise
    return rules


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it is not there, or has gone
        return
    try:
        if not path.is_dir():
            rights &= _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE_CALLS
        if libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0):
            raise OSError(ctypes.get_errno(), "Landlock's rules cannot be made", str(path))
    finally:
        os.close(opened)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
