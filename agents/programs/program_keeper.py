"""The keeper of a program: `program_keeper.py SOCKET BYTES PROCESSES PORTS PROGRAM ARGUMENT ...`.

It starts the program, and kills it with all that it has started when the other end of the socket closes, or
when they have more memory or processes together than they may. What the program leaves behind is killed
too. Then one line of JSON says how the program ended: `status` (negative: the signal), `limit` (what they
had too much of) and `error` (why it could not be started).

A program that is confined runs in namespaces of which the keeper is the first process. PORTS is a list of
addresses and ports where it has a network of its own, else `null`. For each, and for those that come through
the socket later, the keeper hands a socket that listens to the other end, which connects it to the world.
"""

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

LOOK_SECONDS: Final = 0.5
"""The time between two looks at memory and processes."""
LINUX: Final = sys.platform == "linux"
MEMORY: Final = (b"Pss_Anon:", b"Pss_Shmem:")
"""The lines with what a process has for itself, and its part of what it shares."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_KEYCTL: Final = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING: Final = 1


def main() -> None:
    """Keep the program until it has ended, and nothing that it started is left."""
    control = socket.socket(fileno=int(sys.argv[1]))
    memory, processes, ports = int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    confined = os.getpid() == 1
    if LINUX:  # what loses its parent becomes a child of this process, so that it can be found
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if confined:  # nobody looks into this process, or changes it
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
    waking, woken = os.pipe()
    for end in (waking, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    limit, status, look = "", None, 0.0
    for address, port in ports or ():
        limit = limit or listen(control, address, port)
    program, error = (0, "") if limit else start(sys.argv[5:], control, confined=confined)
    while status is None and not error and not limit:
        ready, _, _ = select.select([control.fileno(), waking], [], [], LOOK_SECONDS)
        if waking in ready:
            os.read(waking, 4096)
        if control.fileno() in ready:
            told = hear(control)
            if not told:
                break
            limit = listen(control, "127.0.0.1", int(told))
        status = _reaped(program)
        if status is None and time.monotonic() >= look:
            limit = limit or _too_much(memory, processes, confined=confined)
            look = time.monotonic() + LOOK_SECONDS
    ended = _end_all(program) if program else None
    status = ended if status is None else status
    with suppress(OSError):
        control.send(json.dumps({"status": status, "limit": limit, "error": error}).encode())


def hear(control: socket.socket) -> bytes:
    """Return the port that the program may reach from now on; empty where the other end is closed."""
    try:
        return control.recv(4096)
    except OSError:  # it was closed in the middle of something
        return b""


def listen(control: socket.socket, address: str, port: int) -> str:
    """Hand a socket to the other end that listens here; return why there is none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.create_server((address, port), family=family, backlog=128) as server:
            socket.send_fds(control, [json.dumps([address, port]).encode()], [server.fileno()])
    except OSError as error:
        return f"its servers at {address}, port {port}: {error.strerror}"
    return ""


def start(command: list[str], control: socket.socket, *, confined: bool) -> tuple[int, str]:
    """Start the program as the leader of a session; return its process, and why it could not be started."""
    reading, writing = os.pipe()
    keeper, child = os.getpid(), os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as told:
            return child, told.read()
    try:
        control.set_inheritable(False)
        os.setsid()
        if LINUX:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it has ended meanwhile
            os._exit(1)
        if confined:  # no namespace keeps the keys that the kernel holds for the user's session
            ctypes.CDLL(None).syscall(_KEYCTL.get(os.uname().machine, -1), _JOIN_SESSION_KEYRING, None)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(1, 2)
        os.execvp(command[0], command)  # noqa: S606 (the user's own program, without a shell)
    except OSError as error:
        os.write(writing, (error.strerror or str(error)).encode())
    finally:
        os._exit(127)


def _reaped(program: int) -> int | None:
    """Reap what has ended; return the status of the program if it has."""
    status = None
    while True:
        try:
            found, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not found:
            return status
        if found == program:
            status = os.waitstatus_to_exitcode(how)


def _end_all(program: int) -> int | None:
    """Kill the program and all that it has started, until nothing is left; return the program's status."""
    status = None
    while left := family() if LINUX else group(program):
        for number in (signal.SIGSTOP, signal.SIGKILL) if len(left) > 1 else (signal.SIGKILL,):
            for process in left:  # first all are stopped: what is stopped starts nothing
                with suppress(OSError):
                    os.kill(process, number)
        select.select([], [], [], 0.002)
        found = _reaped(program)
        status = status if found is None else found
    found = _reaped(program)
    return status if found is None else found


def group(program: int) -> list[int]:
    """Return the program's group, as one number, while anything is left of it."""
    try:
        os.killpg(program, 0)
    except OSError:
        return []
    return [-program]


def family() -> list[int]:
    """Return all processes that descend from this one and run."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (pathlib takes longer to import than all of this)
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                # The first thread may have ended, and others go on.
                if state not in (b"Z", b"X") or len(threads(int(name))) > 1:
                    children.setdefault(int(parent), []).append(int(name))
    found, waiting = list[int](), [os.getpid()]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def threads(process: int) -> list[str]:
    """Return the folders of a process's threads, the first one's first."""
    folder = f"/proc/{process}/task"
    return [f"{folder}/{name}" for name in os.listdir(folder)]  # noqa: PTH208


def _too_much(memory: int, processes: int, *, confined: bool) -> str:
    """Return what the program and all that it has started have too much of; empty where nothing."""
    if not LINUX:
        return ""
    there = family()
    if len(there) > processes:
        return f"more than {processes:,} processes"
    used = sum(map(_memory_of, there)) + sum(_kept_in_files(there))
    if confined:
        used += sum(_kept_in_folders())
    return f"more than {memory / 2**30:g} GB of memory" if used > memory else ""


def _memory_of(process: int) -> int:
    """Return the bytes of a process, with its part of those that it shares with others."""
    with suppress(OSError):
        for thread in threads(process):
            lines: list[list[bytes]] = []
            for name, fields in (("smaps_rollup", MEMORY), ("status", (b"RssAnon:", b"RssShmem:"))):
                with suppress(OSError), open(f"{thread}/{name}", "rb") as file:  # noqa: PTH123
                    lines = [line.split() for line in file if line.startswith(fields)]
                if lines:  # else it is not ours to look into, or this thread has ended
                    return sum(int(size) for _, size, *_ in lines) << 10
    return 0


def _kept_in_files(there: list[int]) -> Iterator[int]:
    """Yield the bytes of each file without a name that is held open: they may be in no process."""
    seen = set()
    for process in there:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208
                file = f"/proc/{process}/fd/{name}"
                with suppress(OSError):
                    if os.readlink(file).startswith("/memfd:"):  # noqa: PTH115
                        found = os.stat(file)  # noqa: PTH116
                        if found.st_ino not in seen:
                            seen.add(found.st_ino)
                            yield 512 * found.st_blocks


def _kept_in_folders() -> Iterator[int]:
    """Yield the bytes of the program's folders, which are in memory, and of memory that only has a number."""
    for folder in (os.environ["TMPDIR"], "/dev/shm"):  # noqa: S108
        with suppress(OSError):
            found = os.statvfs(folder)
            yield (found.f_blocks - found.f_bfree) * found.f_frsize
    with suppress(OSError), open("/proc/sysvipc/shm", "rb") as file:  # noqa: PTH123
        names = file.readline().split()
        for line in file:
            row = dict(zip(names, map(int, line.split()), strict=False))
            yield 0 if row[b"nattch"] else row[b"rss"] + row[b"swap"]


if __name__ == "__main__":
    main()
