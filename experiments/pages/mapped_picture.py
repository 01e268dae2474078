"""Draw a proposed site map: its pages in the real browser, with the elements of each role outlined."""

import html
from collections.abc import Sequence
from typing import Final

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from environments.action.pointer import dismiss
from environments.browser.pool import VIEWPORT, run_browsers
from experiments.pages.side_by_side import framed
from experiments.pages.site_mapping import PATIENCE_S, SiteMapping, keep_to
from interventions.data_file import read_source
from interventions.errors import UserError
from interventions.proposal.roles import FoundRole
from interventions.proposal.site import Proposal

_SCRIPT: Final = read_source(__file__, "mapped_picture.js")
_TALLEST: Final = 1400


async def picture(mapped: SiteMapping) -> bytes:
    """Return a PNG. Raises UserError."""
    pictures, addresses = dict[str, bytes](), list[str]()
    try:
        async with run_browsers(trusted=mapped.trusted) as pool, pool.context(None) as context:
            await context.route("**/*", keep_to(mapped.hosts))
            for kind, capture in (("product", mapped.product), ("listing", mapped.listing)):
                if capture is not None:
                    pictures[kind] = await _outlined(context, capture.url, mapped.proposal, kind)
                    addresses.append(f"<p>{kind}: {html.escape(capture.url)}</p>")
            page = await context.new_page()
            await page.set_content(framed("".join(addresses), **pictures))
            width = await page.evaluate("document.querySelector('main').offsetWidth + 32")
            await page.set_viewport_size({"width": width, "height": 600})
            return await page.screenshot(full_page=True)
    except PlaywrightError as error:
        cause = str(error).splitlines()[0]
        raise UserError(f"no picture: {cause}; the map itself is written") from None


async def _outlined(context: BrowserContext, url: str, proposal: Proposal, kind: str) -> bytes:
    page = await context.new_page()
    await page.goto(url, wait_until="load", timeout=PATIENCE_S * 1000)
    await dismiss(page, proposal.dismiss)
    height: int = await page.evaluate(_SCRIPT, _drawn(proposal.roles, kind))
    clip = {"x": 0, "y": 0, "width": VIEWPORT[0], "height": min(height, _TALLEST)}
    return await page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]


def _drawn(roles: Sequence[FoundRole], kind: str) -> list[tuple[str, str | None, str]]:
    """Role, selector of its card, selector: those with something to see on this page, larger ones first."""
    card = next((role.places[0].css for role in roles if role.role == "item"), None)
    drawn: list[tuple[str, str | None, str]] = []
    for role in roles:
        group, _, part = role.role.partition(".")
        if part != "link" and group == ("product" if kind == "product" else "item"):
            drawn.append((role.role, card if part and group == "item" else None, role.places[0].css))
    return drawn
