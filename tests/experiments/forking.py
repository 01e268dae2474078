"""A `souk` whose imports are done once: `python forking.py SOCKET` forks a command for each connection.

The program made by `forked_program` sends its arguments, folder, environment and its three streams to it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """\
#!{python} -ISE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [told], [0, 1, 2])
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.makefile().read()))
"""


@contextmanager
def forked_program(file: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Make a program of this name, which runs commands of `souk` while the block lasts."""
    address = str(file.with_name("socket"))
    file.write_text(PROGRAM.format(python=sys.executable, address=address))
    file.chmod(0o755)
    command = [sys.executable, "-m", "tests.experiments.forking", address]
    with subprocess.Popen(
        command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout
        try:
            assert server.stdout.readline() == b"ready\n"
            yield
        finally:
            server.terminate()


def serve(address: str) -> None:
    """Fork a process for each connection, which runs the command and sends its status."""
    from tests.experiments import loaded  # noqa: F401 - for what it imports

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
                attend(connection)
            connection.close()


def attend(connection: socket.socket) -> None:
    """Run the command that comes through a connection, in a process of its own, and send its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while more := connection.recv(1 << 20):
        told += more
    if command := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        connection.sendall(str(status).encode())
        os._exit(0)
    connection.close()
    arguments, folder, environment = json.loads(told)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["souk", *arguments]
    sys.orig_argv = [sys.executable, "-m", "experiments.cli", *arguments]  # what --detach starts again

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


if __name__ == "__main__":
    serve(sys.argv[1])
