"""Serve the viewer on this machine until it is interrupted."""

import asyncio
import socket
import webbrowser
from contextlib import suppress

import uvicorn

from experiments.records.store import Records
from experiments.viewer.app import create_app


def serve(records: Records, db: str, listener: socket.socket) -> None:
    """Serve until Ctrl-C. `db` is the URL of the database."""
    config = uvicorn.Config(
        create_app(records, db),
        log_config=None,
        log_level="error",
        lifespan="off",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def show(address: str) -> None:
    """Open the browser of this machine, where it has one with a window of its own.

    One in the terminal would take the place of the line that says the address, and be waited for.
    """
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser and browser.name != "elinks":
            browser.open(address)
