"""Notice when the shop goes away while trials run, and wait until it is back."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

import httpx

logger = logging.getLogger(__name__)

OUTAGE_SECONDS: Final = 120.0
"""How long attempts are held back while the shop does not answer, in seconds.

Any shop can be restarted in this time.
"""

SHORT_SECONDS: Final = 0.5
"""A connection that ends within this time, in seconds, did not reach the shop.

Servers keep an idle connection for much longer.
"""

PROBE_SECONDS: Final = 0.2


class ShopWatch:
    """A watch over the shop: whether it answers, and how often it has been away.

    `absences` grows whenever the shop is found away. An episode in which it has grown is worth nothing, even
    if the agent went on: its pages may lack parts, and the shop that is back does not know its visitor.
    """

    def __init__(self, url: str, trust: ssl.SSLContext | bool = True) -> None:
        self.absences = 0
        self._url, self._trust = url, trust
        self._silent_since: float | None = None

    async def until_back(self) -> None:
        """Wait until the shop answers, or has not answered for `OUTAGE_SECONDS`."""
        while not await self._answers():
            now = time.monotonic()
            if self._silent_since is None:
                self._silent_since = now
                logger.warning("%s does not answer; waiting up to %g s", self._url, OUTAGE_SECONDS)
            # One limit for the whole outage: a shop that is gone for good must not hold back every trial.
            if now - self._silent_since >= OUTAGE_SECONDS:
                return
            await asyncio.sleep(PROBE_SECONDS)
        self._silent_since = None

    async def watch(self) -> None:
        """Note absences until cancelled.

        An idle connection ends with the shop's process, and a new process takes longer to listen than we take
        to connect again: so the shortest restart is noticed, and nothing is ever asked of the shop.
        """
        address = urlsplit(self._url)
        while True:
            began = time.monotonic()
            with suppress(OSError):
                await _until_closed(address.hostname or "", address.port or 80)
            if time.monotonic() - began < SHORT_SECONDS:
                self.absences += 1
                await asyncio.sleep(PROBE_SECONDS)

    async def _answers(self) -> bool:
        try:
            async with httpx.AsyncClient(verify=self._trust, trust_env=False, timeout=10) as client:
                return not (await client.get(self._url)).is_server_error
        except httpx.HTTPError:
            return False


@asynccontextmanager
async def watch_shop(url: str, trust: ssl.SSLContext) -> AsyncIterator[ShopWatch]:
    """Watch a shop on this machine for the time of a `with` block.

    Other shops are not watched: they are not ours to restart.
    """
    shop = ShopWatch(url, trust)
    watching = asyncio.create_task(shop.watch()) if urlsplit(url).hostname == "127.0.0.1" else None
    try:
        yield shop
    finally:
        if watching is not None:
            watching.cancel()


async def _until_closed(host: str, port: int) -> None:
    """Connect, say nothing, and wait for the other side to end the connection.

    Raises OSError when it ends at once.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        await reader.read()
    finally:
        writer.close()
