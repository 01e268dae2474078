"""Run Medusa with the test catalogue, web components of our own as its pages, and a PostgreSQL of its own.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import pgserver

HERE = Path(__file__).parent
CATALOGUE = HERE.parent / "catalogue.json"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="souk-medusa-") as folder:
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            server.psql("CREATE DATABASE shop;")
            serve(str(server.get_postmaster_info().socket_dir or folder))
        finally:
            server.cleanup()


def serve(sockets: str) -> None:
    """Serve with the database whose sockets are in this folder."""
    address = f"postgresql://postgres@{quote(sockets, safe='')}/shop"
    env = {**os.environ, "DATABASE_URL": address, "NODE_ENV": "production", "MEDUSA_DISABLE_TELEMETRY": "1"}
    command, quiet = ["node", HERE / "server.mjs"], subprocess.DEVNULL
    # Node makes a pipe that it inherits non-blocking for everybody.
    subprocess.run([*command, "migrate"], env=env, check=True, stdin=quiet, stdout=sys.stderr)
    process = subprocess.Popen(
        [*command, "serve", CATALOGUE, HERE / "pages.js"],
        env=env, stdin=quiet, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("shop ready "):
                print(line.strip(), flush=True)
                break
            print(line, end="", file=sys.stderr)
        else:
            raise SystemExit("Medusa did not start; its own messages are above")
        sys.stdin.read()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
