"""Run EverShop with the test catalogue and a PostgreSQL of its own, in what `install.py` made.

Writes `shop ready URL` when it serves, and ends when its standard input is closed. `--build` compiles it.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pgserver

HERE = Path(__file__).parent
CATALOGUE = HERE.parent / "catalogue.json"
PROGRAM = "node_modules/@evershop/evershop/dist/bin/evershop.js"
PATIENCE_S = 60


@contextmanager
def database() -> Iterator[dict[str, str]]:
    """A PostgreSQL on a socket in a temporary folder; yields what EverShop has to know of it."""
    with tempfile.TemporaryDirectory(prefix="souk-evershop-") as folder:
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            server.psql("CREATE DATABASE shop;")
            yield {
                "DB_HOST": str(server.get_postmaster_info().socket_dir or folder),
                "DB_PORT": "5432",
                "DB_USER": "postgres",
                "DB_PASSWORD": "",
                "DB_NAME": "shop",
                "DB_SSLMODE": "disable",
            }
        finally:
            server.cleanup()


def environment(settings: dict[str, str], port: int) -> dict[str, str]:
    home = {"shop": {"homeUrl": f"http://127.0.0.1:{port}"}}
    return {
        **os.environ,
        **settings,
        "PORT": str(port),
        "NODE_CONFIG": json.dumps(home),
        "NODE_ENV": "production",
        "ALLOW_CONFIG_MUTATIONS": "true",
        "SUPPRESS_NO_CONFIG_WARNING": "1",
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_served(address: str, process: "subprocess.Popen[bytes]") -> None:
    """The shop gives products their addresses in the background, some time after it has started."""
    last = json.loads(CATALOGUE.read_text())[-1]
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(
                f"{address}{last['category'].lower()}/{last['slug']}", timeout=5
            ) as page:
                if last["name"].encode() in page.read():
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit("EverShop does not serve its catalogue; its own messages are above")


def main() -> None:
    with database() as settings:
        # Node makes a pipe that it inherits non-blocking for everybody.
        port, quiet = free_port(), subprocess.DEVNULL
        env = environment(settings, port)
        if "--build" in sys.argv:
            subprocess.run(["node", PROGRAM, "build"], env=env, check=True, stdin=quiet)
            return
        subprocess.run(
            ["node", HERE / "seed.mjs", CATALOGUE], env=env, check=True, stdin=quiet, stdout=sys.stderr
        )
        start = ["node", "--import", str(HERE / "loopback.mjs"), PROGRAM, "start"]
        process = subprocess.Popen(start, env=env, stdin=quiet, stdout=sys.stderr, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}/"
            wait_until_served(address, process)
            print(f"shop ready {address}", flush=True)
            sys.stdin.read()
        finally:
            os.killpg(process.pid, 15)
            process.wait()


if __name__ == "__main__":
    main()
