"""Find the layers that cover a shop's page, and for each the button that takes it away."""

from typing import Any, Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from environments.action.pointer import dismiss
from environments.browser.pool import run_browsers
from experiments.pages.site_mapping import AS_DRAWN, PATIENCE_S, SiteMapping, keep_to, still
from interventions.data_file import read_source
from interventions.proposal.phrases import taking_away
from interventions.proposal.scan import Capture, Scan, ancestors
from interventions.proposal.selectors import names, unique_selector
from interventions.yaml.sitemap import Dismissal

_LAYERS: Final = read_source(__file__, "layers.js")
_MARK: Final = "data-souk-layer"
_HALF: Final = 0.5
"""How much of a page is covered where this is told though no button is found: a bar may belong to it."""
_MOST: Final = 3
"""The most layers of a page, and the most buttons of one that are tried."""


async def layers_over(mapped: SiteMapping) -> tuple[tuple[Dismissal, ...], tuple[str, ...]]:
    """Return the buttons that take the layers over the product's page away, and a line for each that stays.

    They are pressed in a fresh session, which is then forgotten.
    """
    url, found = mapped.product.url, list[Dismissal]()
    title = next((role.places[0].css for role in mapped.proposal.roles if role.role == "product.title"), "h1")
    async with run_browsers(trusted=mapped.trusted) as pool, pool.context(None) as context:
        await context.route("**/*", keep_to(mapped.hosts))
        page = await context.new_page()
        try:
            await page.goto(url, wait_until="load", timeout=PATIENCE_S * 1000)
            await still(page)
            while (over := await page.evaluate(_LAYERS, title)) is not None:
                button = await _taking_away(page, over["labels"]) if len(found) < _MOST else None
                if button is None:
                    line = f"{url}: {over['name']} covers the page: name its button under dismiss"
                    return tuple(found), (line,) if over["covered"] > _HALF else ()
                found.append(button)
        except PlaywrightError as error:
            return tuple(found), (f"{url}: {str(error).splitlines()[0]}",)
    return tuple(found), ()


async def _taking_away(page: Page, labels: list[str]) -> Dismissal | None:
    """Press buttons of a layer until it is gone, and return the one that has done it."""
    at = page.url
    scan = Scan(Capture(at, await page.evaluate(AS_DRAWN)))
    for number in taking_away(labels)[:_MOST]:
        button = _named(scan, number, labels[number])
        layer = page.locator(f'[{_MARK}="{number}"]')
        if button is not None and await layer.count():
            await dismiss(page, (button,))
            if page.url == at and not await layer.is_visible():
                return button
    return None


def _named(scan: Scan, number: int, label: str) -> Dismissal | None:
    """Name a button by selectors of the layer and in it, which find nothing elsewhere; else by its text."""
    marked: Any = scan.tree.css_first(f'[{_MARK}="{number}"]')
    layer = next((each for each in ancestors(marked) if _MARK in each.attributes), None) if marked else None
    if layer is not None:
        del marked.attrs[_MARK]
        inner = unique_selector([(layer, marked)])
        around = next(names(layer), None)
        if inner and "," not in inner and around:
            return Dismissal(css=f"{around} {inner}")
    return Dismissal(text=label) if label else None
