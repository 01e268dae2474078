"""A `souk` whose imports are done once: a program that has a command forked by a process that is loaded.

The program sends its arguments, folder, environment and three streams, passes signals on, and ends with the
command's status. A command whose program is killed is killed.
"""

import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

PROGRAM = """\
#!{python} -ISE
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(told).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(told)
    answers = server.makefile()
    command = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: os.kill(command, number))
    status = int(answers.readline())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)
"""


def serve(file: Path, ready: Connection) -> None:
    """Make the program, and fork a process for each start of it, until this process is ended."""
    address = str(file.with_name("socket"))
    file.write_text(PROGRAM.format(python=sys.executable, address=address))
    file.chmod(0o755)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        ready.send(None)
        while True:
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
                _attend(connection)
            connection.close()


def _attend(connection: socket.socket) -> None:
    """Run the command that comes through a connection, in a process of its own, and send its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(connection, 8, 3)
    told = b""
    while len(told) < int.from_bytes(length, "big"):
        told += connection.recv(1 << 20)
    command = os.fork()
    if not command:
        connection.close()
        _run(told, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(f"{command}\n".encode())
    handle = os.pidfd_open(command)
    ended, _, _ = select.select([handle, connection], [], [])
    if handle not in ended:
        os.kill(command, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    if handle in ended:
        connection.sendall(f"{status}\n".encode())
    os._exit(0)


def _run(told: bytes, streams: list[int]) -> None:
    arguments, folder, environment = json.loads(told)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Python's own say whether they are a terminal, and can be sought, as those of this process were.
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # as in tests.experiments.command_line
    sys.argv = ["souk", *arguments]
    sys.orig_argv = [sys.executable, "-m", "experiments.cli", *arguments]  # what --detach starts again
    signal.signal(signal.SIGINT, signal.default_int_handler)

    from experiments.cli import main

    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
