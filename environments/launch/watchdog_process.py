"""The watchdog of a command: `watchdog_process.py NAME=VALUE PID FOLDER`, with a pipe as its input.

The bytes in the pipe are the numbers of the signals that the command gets; the pipe closes when it ends.
"""

import os
import select
import signal
import sys
import time

PATIENCE_SECONDS = 5.0
"""How long a command may take to end after Ctrl-C or SIGTERM."""


def main() -> None:
    """Wait until the command has ended, or does not end; then kill what it has started."""
    if os.fork():
        os._exit(0)  # it is nobody's child: Ray kills the children of a worker that ends
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    mark, command = sys.argv[1].encode(), int(sys.argv[2])
    session = os.getsid(command)
    until: float | None = None
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([0], [], [], left)[0]:
            os.write(2, b"it did not end within 5 seconds and was killed; what was stored is safe\n")
            kill(command)
            break
        told = os.read(0, 64)
        if not told:
            break
        if until is None and (signal.SIGINT in told or signal.SIGTERM in told):
            until = time.monotonic() + PATIENCE_SECONDS
    while found := processes(mark, session):
        for process in found:
            kill(process)
    import shutil  # noqa: PLC0415 (most of the time nobody needs it)

    shutil.rmtree(sys.argv[3], ignore_errors=True)


def processes(mark: bytes, session: int) -> set[int]:
    """Return the processes with the mark in their environment, and those of the sessions that these began.

    Parts of a browser cannot be asked for their environment, or have written over it.
    """
    marked, sessions = set(), {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (pathlib takes longer to import than all of this)
        if not name.isdigit():
            continue
        try:
            threads = os.listdir(f"/proc/{name}/task")  # noqa: PTH208
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, _, _, of = file.read().rpartition(b")")[2].split()[:4]
            # The first thread may have ended, and others go on.
            if state not in (b"Z", b"X") or len(threads) > 1:
                sessions[int(name)] = int(of)
            with open(f"/proc/{name}/task/{threads[-1]}/environ", "rb") as file:  # noqa: PTH123
                if mark in file.read().split(b"\0"):
                    marked.add(int(name))
        except OSError:  # it has ended, or is not ours
            continue
    begun = {sessions[process] for process in marked & sessions.keys()} - {session}
    mine = marked | {process for process, of in sessions.items() if of in begun}
    return mine & sessions.keys()


def kill(process: int) -> None:
    """Kill a process, if it is there; also one that is stopped ends at once."""
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        return


if __name__ == "__main__":
    main()
