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

sys.path.insert(0, str(Path(__file__).parents[1]))
from node_shop import serve

HERE = Path(__file__).parent


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="souk-medusa-") as folder:
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            server.psql("CREATE DATABASE shop;")
            serve_with(str(server.get_postmaster_info().socket_dir or folder))
        finally:
            server.cleanup()


def serve_with(sockets: str) -> None:
    """Serve with the database whose sockets are in this folder."""
    address = f"postgresql://postgres@{quote(sockets, safe='')}/shop"
    env = {**os.environ, "DATABASE_URL": address, "NODE_ENV": "production", "MEDUSA_DISABLE_TELEMETRY": "1"}
    command = ["node", HERE / "server.mjs"]
    subprocess.run([*command, "migrate"], env=env, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    serve("Medusa", [*command, "serve", HERE.parent / "catalogue.json", HERE / "pages.js"], env)


if __name__ == "__main__":
    main()
