"""The keeper of a program: `program_keeper.py SOCKET BYTES PROCESSES CONFINED PROGRAM ARGUMENT ...`.

It starts the program, and kills it with all that it has started when the other end of the socket closes, or
when they have more memory or processes together than they may. What the program leaves behind is killed
too. On Linux this holds also for processes that have begun a session of their own, or whose parent has
ended. Then one line of JSON says how the program ended: `status` (negative: the signal), `limit` (what they
had too much of) and `error` (why it could not be started).

CONFINED is a JSON object for the gate of a program that is confined (`program_gate.py`), else `null`. Lines
that come through the socket name the port that such a program may reach from then on.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from environments.program_gate import Gate

LOOK_SECONDS: Final = 0.5
"""The time between two looks at memory and processes."""
PAGE: Final = resource.getpagesize()
LINUX: Final = sys.platform == "linux"
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def main() -> None:
    """Keep the program until it has ended, and nothing that it started is left."""
    socket, memory, processes = map(int, sys.argv[1:4])
    gate = gate_of(sys.argv[4])
    if LINUX:  # what loses its parent becomes a child of this process, so that it can be found
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    waking, woken = os.pipe()
    for end in (waking, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program, error = start(sys.argv[5:], socket, gate)
    limit, status, look = "", None, 0.0
    heard = [socket, waking, *([gate.listener] if gate and gate.listener >= 0 else [])]
    os.set_blocking(socket, False)
    while status is None and not error and not limit:
        ready, _, _ = select.select(heard, [], [], LOOK_SECONDS)
        if waking in ready:
            os.read(waking, 4096)
        if not hear(socket, gate):
            break
        if gate and gate.listener in ready:
            gate.serve()
        status = reaped(program)
        if status is None and time.monotonic() >= look:
            limit = too_much(program, memory, processes)
            look = time.monotonic() + LOOK_SECONDS
    ended = end_all(program)
    status = ended if status is None else status
    try:
        os.write(socket, json.dumps({"status": status, "limit": limit, "error": error}).encode() + b"\n")
    except OSError:
        return


def gate_of(told: str) -> "Gate | None":
    """Return the gate of a program that is confined."""
    if told == "null":
        return None
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100,PTH120
    from environments.program_gate import Gate  # noqa: PLC0415 (a program that is not confined needs none)

    return Gate(json.loads(told))


def hear(socket: int, gate: "Gate | None") -> bool:
    """Take the ports that the program may reach; return whether the other end is still open."""
    try:
        told = os.read(socket, 4096)
    except BlockingIOError:
        return True
    except OSError:  # it was closed in the middle of something
        return False
    if told and gate:
        gate.port = int(told.split()[-1])
    return bool(told)


def start(command: list[str], socket: int, gate: "Gate | None") -> tuple[int, str]:
    """Start the program as the leader of a session; return its process, and why it could not be started."""
    os.set_inheritable(socket, False)
    reading, writing = os.pipe()
    keeper, child = os.getpid(), os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as told:
            error = told.read()
        if gate:
            gate.open()
        return child, error
    try:
        os.setsid()
        if LINUX:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it has ended meanwhile
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(1, 2)
        if gate:
            gate.enter()
        os.execvp(command[0], command)  # noqa: S606 (the user's own program, without a shell)
    except OSError as error:
        os.write(writing, (error.strerror or str(error)).encode())
    finally:
        os._exit(127)


def reaped(program: int) -> int | None:
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


def end_all(program: int) -> int | None:
    """Kill the program and all that it has started, until nothing is left; return the program's status."""
    status = None
    while left := family() if LINUX else group(program):
        for number in (signal.SIGSTOP, signal.SIGKILL) if len(left) > 1 else (signal.SIGKILL,):
            for process in left:  # first all are stopped: what is stopped starts nothing
                kill(process, number)
        select.select([], [], [], 0.002)
        found = reaped(program)
        status = status if found is None else found
    found = reaped(program)
    return status if found is None else found


def kill(process: int, number: int) -> None:
    """Send a signal to a process, if it is there."""
    try:
        os.kill(process, number)
    except OSError:
        return


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
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:  # it has ended
                continue
            if state not in (b"Z", b"X"):
                children.setdefault(int(parent), []).append(int(name))
    found, waiting = list[int](), [os.getpid()]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def too_much(program: int, memory: int, processes: int) -> str:
    """Return what the program and all that it has started have too much of; empty where nothing."""
    if not LINUX:
        return ""
    there = family()
    if len(there) > processes:
        return f"more than {processes:,} processes"
    used = 0
    for process in there:
        try:
            with open(f"/proc/{process}/statm", "rb") as file:  # noqa: PTH123
                _, resident, shared = map(int, file.read().split()[:3])
        except (OSError, ValueError):
            continue
        used += (resident - shared) * PAGE
    return f"more than {memory / 2**30:g} GB of memory" if used > memory else ""


if __name__ == "__main__":
    main()
