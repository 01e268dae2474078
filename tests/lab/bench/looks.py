"""A look of the observer at a guest's page, against the page's own HTML, written by the browser."""

import re
import statistics
from typing import Any

import brotli  # type: ignore[import-untyped]
import httpx
from playwright.async_api import BrowserContext
from starlette.responses import Response

from environments.browser.pool import run_browsers
from environments.guest_pages.observer import Sees, observer, observer_code
from environments.observation.observe import ObservationQuery
from environments.shop.catalogue import generate
from environments.shop.server import shop
from experiments.treatment.card_check import card_spots
from interventions.edits.insert_text import InsertText
from interventions.edits.set_price import SetPrice
from interventions.yaml.sitemap import load_site_map
from tests.experiments.foreign_shop import ForeignShop
from tests.lab.bench.result import Result
from tests.support import pages

LOOKS = 100
LOADS = 15
ITEMS, MANY = 1_000, 8_000
GOAL_MS, GOAL_BYTES = 2.0, 5_000

SITE = load_site_map("onestopmarket")
EDITS = (InsertText(after="product.title", text="Best seller"), SetPrice("9.50"))
WANTED = ObservationQuery(
    tuple(dict.fromkeys(spot for edit in EDITS for spot in edit.spots(SITE))),
    own=True,
    cards=card_spots(EDITS, SITE, all_kinds=True),
)
CODE = observer_code(SITE)
PRODUCT, LARGE = "the embedded shop's product page", "a page of 5,000 elements"
VIEWS: tuple[Sees, ...] = ("page", "viewport")

# What the script takes before the page's own scripts, in its file and where the page calls it; and what its
# first look takes, which the browser begins when it is idle.
BEFORE = """<script>const idle = requestIdleCallback;
self.requestIdleCallback = (look, when) => idle(() => {
  const began = performance.now();
  look();
  self.took ??= performance.now() - began;
}, when);
</script>"""
FILE = f"self.taken = -performance.now(); {CODE}; taken += performance.now();"
LOADED = '<script src="/observer.js"></script><script>taken -= performance.now()</script>'
AFTER = "<script>self.start = taken + performance.now()</script>"
KEPT = {"cache-control": "public, max-age=31536000, immutable"}

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
    """Load each page, look at it with nothing new on it, and have the browser write the page, in turn."""
    times: list[tuple[str, str]] = []
    starts: dict[str, float] = {}
    async with run_browsers() as browsers, browsers.context(None) as context:
        for name, html in (await subjects()).items():
            for sees in VIEWS:
                start, first, looks, whole = await measured(context, html, sees)
                starts[name] = max(start, starts.get(name, 0))
                said = (
                    f"{start:.1f} ms before the page's scripts; first look {first:.1f} ms; later looks "
                    f"{statistics.median(looks):.1f} ms ({min(looks):.1f}); its HTML {whole:.1f} ms"
                )
                times.append((f"{name}, `--observe {sees}`", said))
    inline = observer(WANTED, f"/.souk/seen/{'x' * 22}", "page")
    packed = len(brotli.compress(CODE.encode()))
    times.append(("in each page", f"{len(inline):,} bytes"))
    times.append(("once for each browser", f"{packed:,} bytes of brotli, {len(CODE):,} unpacked"))
    slowest = starts[PRODUCT]
    return Result(
        what="what the observer adds to a guest's product page",
        against="nothing: the main thread's time before the page's own scripts, and the bytes",
        figure=f"{slowest:.1f} ms, {len(inline):,} bytes; once for each browser {packed:,} bytes",
        goal=f"under {GOAL_MS:g} ms and {GOAL_BYTES:,} bytes for each page",
        reached=slowest < GOAL_MS and len(inline) < GOAL_BYTES,
        times=tuple(times),
        how=(
            "Product pages of the embedded shop (its style sheet in the page) and of a shop in other "
            f"markup, and pages of {ITEMS:,} and {MANY:,} list items with a price each, opened directly, "
            "without a proxy. The edits are a line of text under the title and another price, so that each "
            f"look searches for the old one. Medians of {LOADS} loads, the first look timed from the moment "
            f"at which the browser is idle; and of {LOOKS} later looks that find nothing new, each after the "
            "page's own HTML was asked for; in brackets the fastest."
        ),
        notes=(
            "As for a guest, the browser loads the script once and keeps it; the time of the first page, on "
            "which it is compiled, is in the median's list like any other.",
            f"The goal of {GOAL_BYTES:,} bytes is for what stands in each page; the code is larger, and "
            "comes once for each browser.",
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
    wordy = item.replace("</p>", f"{' and some more' * 13}</p>")
    return {
        PRODUCT: html.replace(link[0], f"<style>{css}</style>"),
        "a shop in other markup": ForeignShop().page("harbour-desk-lamp"),
        LARGE: f"<!doctype html><title>Large</title><ol>{''.join(map(item.format, range(ITEMS)))}</ol>",
        "a page of 2 MB": f"<!doctype html><title>All</title>{''.join(map(wordy.format, range(MANY)))}",
    }


async def measured(context: BrowserContext, html: str, sees: Sees) -> tuple[float, float, list[float], float]:
    """Milliseconds of the start, the first look, each later look, and of writing the page."""
    script = f"{BEFORE}{LOADED}<script>{observer(WANTED, '/seen', sees)}</script>{AFTER}"
    body = re.sub("(?i)<!doctype html>", lambda found: found[0] + script, html, count=1)
    starts, firsts = [], []
    file = Response(FILE, media_type="text/javascript", headers=KEPT)
    async with pages({"/": body, "/seen": "", "/observer.js": file}) as url:
        page = await context.new_page()
        for _ in range(LOADS):
            async with page.expect_request("**/seen"):  # it does look
                await page.goto(url)
            await page.wait_for_function("self.took !== undefined")
            starts.append(await page.evaluate("self.start"))
            firsts.append(await page.evaluate("self.took"))
        times: dict[str, Any] = await page.evaluate(TIME, LOOKS if len(html) < 500_000 else LOOKS // 10)
        await page.close()
    first, whole = statistics.median(firsts), statistics.median(times["html"])
    return statistics.median(starts), first, times["look"], whole
