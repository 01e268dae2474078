"""A look of the observer at a guest's page, against the page's own HTML, written by the browser."""

import gzip
import re
import statistics
from typing import Any

import httpx
from playwright.async_api import BrowserContext

from environments.browser import run_browsers
from environments.observe import Wanted
from environments.observer import OBSERVER, Sees, observer
from environments.shop.catalogue import generate
from environments.shop.server import shop
from interventions.edits.insert_text import InsertText
from interventions.edits.set_price import SetPrice
from interventions.yaml.sitemap import load_site_map
from tests.bench.result import Result
from tests.experiments.foreign_shop import ForeignShop
from tests.support import pages

LOOKS = 100
ITEMS = 1_000
GOAL_MS = 2.0

SITE = load_site_map("onestopmarket")
EDITS = (InsertText(after="product.title", text="Best seller"), SetPrice("9.50"))
WANTED = Wanted(
    tuple(dict.fromkeys(spot for edit in EDITS for spot in edit.spots(SITE))),
    own=True,
    cards=tuple(place.css for card in SITE.cards for place in SITE.role(card)),
)
PRODUCT, LARGE = "the embedded shop's product page", "a page of 5,000 elements"
VIEWS: tuple[Sees, ...] = ("page", "viewport")

# A key is pressed, before which the observer looks. `performance.now()` counts in tenths of a millisecond.
TIME = """async (looks) => {
  await new Promise((done) => setTimeout(done, 1000));
  const times = { look: [], html: [] };
  const time = (kind, run) => {
    const began = performance.now();
    run();
    times[kind].push(performance.now() - began);
  };
  for (let number = 0; number < looks; number += 1) {
    time("html", () => document.documentElement.outerHTML);
    time("look", () => document.body.dispatchEvent(new Event("keydown", { bubbles: true })));
  }
  return times;
}"""


async def run() -> Result:
    """Look at each page with nothing new on it, and have the browser write the page, in turn."""
    times: list[tuple[str, str]] = []
    medians: dict[tuple[str, str], tuple[float, float]] = {}
    async with run_browsers() as browsers, browsers.context(None) as context:
        for name, html in (await subjects()).items():
            for sees in VIEWS:
                looks, whole = await measured(context, html, sees)
                median, least = statistics.median(looks), min(looks)
                medians[name, sees] = median, whole
                said = f"{median:.1f} ms ({least:.1f}); its HTML {whole:.1f} ms"
                times.append((f"{name}, `--observe {sees}`", said))
    script = observer(WANTED, "/.souk/seen", "page").encode()
    times.append(
        ("the script, compressed with gzip", f"{len(script):,} bytes, {len(gzip.compress(script)):,}")
    )
    slowest = max(medians[PRODUCT, sees] for sees in VIEWS)
    return Result(
        what="a look of the observer at a guest's product page",
        against="`document.documentElement.outerHTML` of the same page",
        figure=f"{slowest[0]:.1f} ms, {slowest[0] / max(slowest[1], 0.1):.0f} times its time",
        goal=f"under {GOAL_MS:g} ms",
        reached=slowest[0] < GOAL_MS,
        times=tuple(times),
        how=(
            "Product pages of the embedded shop (its style sheet in the page) and of a shop in other "
            f"markup, and a page of {ITEMS:,} list items with a price each, opened directly, without a "
            "proxy. The edits are a line of text under the title and another price, so that each look "
            f"searches for the old one. Medians of {LOOKS} looks that find nothing new, each after the "
            "page's own HTML was asked for; in brackets the fastest. A look at new texts takes longer, "
            "once."
        ),
        notes=(
            "The HTML takes no layout and no styles; the observer asks for both.",
            "With `--observe viewport` each text that was not in view yet is measured again at each look.",
        ),
    )


async def subjects() -> dict[str, str]:
    """The pages by name."""
    product = max(generate().products, key=lambda product: product.reviews)
    async with shop() as base_url, httpx.AsyncClient() as client:
        html = (await client.get(f"{base_url}{product.key}.html")).text
        link = re.search(r'<link rel="stylesheet"[^>]*href="([^"]+)"[^>]*>', html)
        assert link
        css = (await client.get(link[1])).text
    item = "<li><div><span>Item {0}</span> <b>${0}.99</b><p>Some words about it</p></div></li>"
    return {
        PRODUCT: html.replace(link[0], f"<style>{css}</style>"),
        "a shop in other markup": ForeignShop().page("harbour-desk-lamp"),
        LARGE: f"<!doctype html><title>Large</title><ol>{''.join(map(item.format, range(ITEMS)))}</ol>",
    }


async def measured(context: BrowserContext, html: str, sees: Sees) -> tuple[list[float], float]:
    """Milliseconds of each look, and of writing the page, their median."""
    script = f"<script>{OBSERVER}</script><script>{observer(WANTED, '/seen', sees)}</script>"
    body = re.sub("(?i)<!doctype html>", lambda found: found[0] + script, html, count=1)
    async with pages({"/": body, "/seen": ""}) as url:
        page = await context.new_page()
        async with page.expect_request("**/seen"):  # it does look
            await page.goto(url)
        times: dict[str, Any] = await page.evaluate(TIME, LOOKS)
        await page.close()
    return times["look"], statistics.median(times["html"])
