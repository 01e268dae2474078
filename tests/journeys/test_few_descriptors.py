"""A command that may open few files, or write none, does its work, or says in one line why not."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.command_line import environment
from tests.experiments.running import HOTELS
from tests.journeys.programs import run_program
from tests.support import size

pytestmark = pytest.mark.slow


FEW = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (MOST, MOST))
from experiments.cli import main
main()
"""


@pytest.mark.thorough
@pytest.mark.parametrize("most", range(6, 30, size(12, 1)))
def test_few_descriptors(most: int, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "few.yaml").write_text(HOTELS)
    few = FEW.replace("MOST", str(most))
    run = ("run", "few.yaml", "--db", "sqlite:///t.db")
    ended = run_program(few, *run, cwd=tmp_path, env={"TMPDIR": str(temporary)})
    assert "Traceback" not in ended.err
    assert ended.status in (0, 2), ended.err
    if ended.status:
        assert "error: " in ended.err.splitlines()[-1]
    assert list(temporary.iterdir()) == []


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # half a file of it would stay
from experiments.cli import main
from experiments.executors import setup

def full(*arguments, begin=setup.open_testbed, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    return begin(*arguments, **options)

setup.open_testbed = full
main()
"""
"""`souk`, on a disk that is full as it begins to start the shop, the proxy and the browser."""


@pytest.mark.thorough
def test_no_room_for_the_files_of_the_proxy(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = ("run", "nudges", "--limit", "1", "--db", "sqlite:///t.db")
    ended = run_program(FULL, *run, cwd=tmp_path, env={"TMPDIR": str(temporary)})
    assert (ended.status, ended.err.splitlines()[-1]) == (
        2,
        "error: File too large: make room, also in the temporary folder (TMPDIR), or allow larger files "
        "(ulimit -f); what was stored is safe, and the same command goes on",
    )
    assert "Traceback" not in ended.err
    assert list(temporary.iterdir()) == []


PROXY = """
import asyncio, logging, os, resource, sys
from pathlib import Path
from proxy.server import run_proxy

logging.basicConfig(level="ERROR", format="%(message)s")  # as `souk` does

async def main():
    async with run_proxy(Path("ca")) as proxy:
        slot = await proxy.open_slot()
        most = len(os.listdir("/proc/self/fd")) + 8
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        print(slot.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@pytest.mark.timeout(60)
def test_connections_beyond_the_limit_wait_and_are_told_in_one_line(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROXY],
        cwd=tmp_path,
        env=environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        port = int(process.stdout.readline())
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
        said = process.stderr.readline()
        for each in crowd:
            each.close()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as late:
            late.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
            assert late.recv(12).startswith(b"HTTP/1.1 ")
        process.stdin.close()
        more = process.stderr.read()
    assert said.startswith("connections wait: this process has no more descriptors"), said
    assert more == ""
