"""Press each control of a product's page once, and see which edits the page's scripts then draw over."""

from contextlib import suppress
from typing import Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page

from experiments.pages.purchasing import in_browser, open_page, quiet
from interventions.data_file import read_source
from interventions.proposal.scan import squeezed
from interventions.yaml.sitemap import SiteMap
from proxy.session import Session

_CONTROLS: Final = read_source(__file__, "controls.js")


async def redrawn(page: Page, session: Session, site: SiteMap) -> dict[str, str]:
    """Return the edited roles that are drawn anew without the edit, with what has to be chosen for that.

    `page` shows a product through the proxy. Selects, groups of radios and buttons for variants or currencies
    are pressed: up to four values of each, 12 together, and nothing that sends a form.
    """
    lost: dict[str, str] = {}
    url = page.url
    is_edited = any((await _shown(page, session, site)).values())
    for number, label in enumerate(await page.evaluate(_CONTROLS, None) if is_edited else ()):
        before, known = await _shown(page, session, site), len(session.receipts)
        with suppress(PlaywrightError):  # the page may be another one now
            await page.evaluate(_CONTROLS, number)
        await quiet(page)
        after = await _shown(page, session, site)
        again = {receipt.role.partition(".")[2] for receipt in session.receipts[known:]}
        for role, value in before.items():
            if value and after[role] != value and role.partition(".")[2] not in again:
                now = f" ({after[role]})" if after[role] and role != "product.title" else ""
                lost.setdefault(role, f"choosing {label!r} draws it anew without the edit{now}")
        if after != before or page.url != url:
            await open_page(page, url, site.dismiss)
    return lost


async def _shown(page: Page, session: Session, site: SiteMap) -> dict[str, str]:
    """What the page shows of each edit of a product's page, at all places of its role."""
    shown: dict[str, str] = {}
    for receipt in session.receipts:
        if receipt.role.startswith("product.") and (places := site.role(receipt.role)):
            if receipt.edit == "insert_text":
                found = page.get_by_text(receipt.after, exact=True).first
                shown[receipt.role] = (
                    receipt.after if await found.count() and await found.is_visible() else ""
                )
            else:
                targets = [(place_in(page.locator("html"), place.css), place.attribute) for place in places]
                values = [await value_of(*each) for each in targets if await each[0].count()]
                shown[receipt.role] = ", ".join(values)
    return shown


def place_in(root: Locator, css: str) -> Locator:
    """Return the first element in a card, or the card itself, that a selector finds."""
    wanted = in_browser(css)
    return root.locator(wanted).or_(root.and_(root.page.locator(wanted))).first


async def value_of(target: Locator, attribute: str | None) -> str:
    """Return what an element shows, or holds in an attribute."""
    if attribute == "value":
        return await target.input_value()
    if attribute:
        return (await target.get_attribute(attribute)) or ""
    return squeezed(await target.text_content() or "")
