import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from environments.shop import server
from environments.shop.server import shop
from interventions.errors import UserError
from tests.support import own_processes

ROOT = Path(__file__).parents[3]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "environments.shop", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def ready_url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("shop ready http://127.0.0.1:")
    return line.removeprefix("shop ready ").strip()


async def is_gone(url: str) -> bool:
    try:
        async with httpx.AsyncClient() as client:
            await client.get(url)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:  # it is going
        return False
    return False


async def test_a_busy_port_is_one_line() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port}: Address already in use; choose another port"):
            async with shop(port=port):
                pass
        process = start("--port", str(port))
        output, error = process.communicate(timeout=20)
    assert (process.returncode, output) == (2, "")
    assert (
        error == f"error: port {port}: Address already in use; choose another port, or 0 for any free one\n"
    )


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    process = start()
    url = ready_url(process)
    assert httpx.get(url).status_code == 200  # an empty standard input alone does not end it
    process.send_signal(number)
    output, error = process.communicate(timeout=20)
    assert (process.returncode, output, error) == (0, "", "")


def test_a_negative_seed_is_refused() -> None:
    _, error = (process := start("--seed", "-1")).communicate(timeout=20)
    assert process.returncode == 2
    assert "--seed must not be negative" in error


async def test_it_ends_when_its_parent_is_killed() -> None:
    script = (
        "import asyncio\n"
        "from environments.shop.server import shop\n"
        "async def main():\n"
        "    async with shop() as url:\n"
        "        print(url, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    url = (await parent.stdout.readline()).decode().strip()
    assert not await is_gone(url)
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    async with asyncio.timeout(20):
        while not await is_gone(url):
            pass


async def test_it_is_ended_where_the_block_fails_at_once() -> None:
    """Before anything else could run."""
    others = own_processes("environments.shop")
    with pytest.raises(RuntimeError, match="full disk"):
        async with shop():
            raise RuntimeError("full disk")
    assert own_processes("environments.shop") == others


@pytest.mark.thorough
@pytest.mark.slow
async def test_it_is_started_again_so_often_and_then_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_RESTARTS", 2)
    said = asyncio.Queue[str]()
    others = own_processes("environments.shop")
    async with shop(say=said.put_nowait) as url, httpx.AsyncClient() as client:
        for told in ("it was started again", "it was started again", "it is not started again"):
            assert (await client.get(url)).status_code == 200
            (process,) = own_processes("environments.shop") - others
            os.kill(process, signal.SIGKILL)
            assert told in await said.get()
        assert await is_gone(url)
