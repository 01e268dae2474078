"""Keep a browser's traffic behind the proxy, and check that all of its pages came through the proxy.

Chromium forgets the proxy of a context when its network service dies. The service that takes its place would
ask servers directly, without allow list and treatment, and no longer knows the shop's cookies.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Response
from playwright.async_api import Error as PlaywrightError

DEAD_END: Final = ("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>")
"""Switches for a browser whose contexts have proxies of their own.

A context that loses its proxy reaches nothing. No system runs a service at port 9 any more ("discard", RFC
863), and it would answer nothing.
"""

MARK_URL: Final = "http://mark.souk.test/"
"""An address that no server has; the name is reserved for tests."""

MARK: Final[Any] = {"name": "souk", "value": "1", "url": MARK_URL}
"""A cookie that is never sent, and so marks the network service.

The network service keeps it in memory, for as long as the service lives.
"""

PATIENCE_SECONDS: Final = 30.0
"""The longest wait for a network service that may hang."""

T = TypeVar("T")

NETWORK_DIED: Final = "its network service died while the trial ran"


def past_proxy(url: str) -> str:
    """Return the message of the failure that a document did not come through the proxy."""
    return f"{url} did not come through the proxy"


class BrowserFailure(Exception):
    """The browser or the network failed, not the agent. The trial can be repeated."""


class Passage:
    """A watch over one context, whose documents all have to come through the proxy at `proxy_url`."""

    def __init__(self, context: BrowserContext, proxy_url: str) -> None:
        self._context = context
        self._proxy_url = proxy_url
        self._past_proxy: list[str] = []
        context.on("response", self._note)

    async def begin(self) -> None:
        """Leave the mark in the network service; call this before the first page is opened.

        Raises:
            BrowserFailure: the network service has died meanwhile, and so never answers, or hangs.
        """
        await _answered(self._context.add_cookies([MARK]))

    async def check(self) -> None:
        """Check that all documents came through the proxy, and one network service has lived all along.

        Raises:
            BrowserFailure: a document did not, or the network service has died or hangs.
        """
        self._context.remove_listener("response", self._note)
        if not await _answered(self._context.cookies(MARK_URL)):
            raise BrowserFailure(NETWORK_DIED)
        if self._past_proxy:
            raise BrowserFailure(past_proxy(self._past_proxy[0]))

    async def _note(self, response: Response) -> None:
        if is_shown_document(response):
            try:
                address = await response.server_addr()
            except PlaywrightError:  # its tab has been closed
                return
            if not is_proxy(address, self._proxy_url):
                self._past_proxy.append(response.url)


async def _answered(asking: Awaitable[T]) -> T:
    """Wait for what the network service has to answer. Raises BrowserFailure where it does not."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await asking
    except TimeoutError:
        raise BrowserFailure("its network service does not answer") from None


def is_shown_document(response: Any) -> bool:
    """Return whether a response is a page from the network in a tab or frame, in either API of Playwright."""
    return (
        response.request.resource_type == "document"
        and response.url.startswith(("http:", "https:"))
        and not 300 <= response.status < 400
    )


def is_proxy(address: Any, proxy_url: str) -> bool:
    """Return whether a response came from the proxy.

    `address` is that of the server, as Playwright gives it (None: unknown).
    """
    return address is not None and f"{address['ipAddress']}:{address['port']}" == urlsplit(proxy_url).netloc
