"""HTTP/2 push: what a server sends unasked is shown to nobody."""

import ssl

import pytest

from environments.browser.pool import run_browsers
from proxy.server import Proxy, Slot
from tests.proxy.upstream import PAGE, http_2_upstream, session

HTML = ("content-type", "text/html; charset=utf-8")


@pytest.mark.browser
async def test_a_page_that_is_pushed_is_not_shown(proxy: Proxy, slot: Slot, shop_tls: ssl.SSLContext) -> None:
    """The proxy allows no push; a server that does it nevertheless has failed."""
    async with (
        http_2_upstream(PAGE.encode(), HTML, tls=shop_tls, pushes="/oats.html") as url,
        run_browsers(proxy.spki) as browsers,
    ):
        slot.session = session(url)
        async with browsers.context(slot.url) as context:
            page = await context.new_page()
            for path in ("rye.html", "oats.html"):
                await page.goto(url + path)
                assert await page.title() == "502 Bad Gateway"
    assert len(slot.session.upstream_errors) == 2
    assert slot.session.pages == []
