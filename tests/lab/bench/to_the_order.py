"""Rewriting a checkout with five edits of the way to an order, against fifteen edits of a product's page."""

import re

import httpx

from environments.shop.server import shop
from interventions.apply.engine import PlaceMemory, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from tests.lab.bench.page import Page, product_page
from tests.lab.bench.result import Result
from tests.lab.bench.timing import in_turn, rows, times_as_many

REPETITIONS = 50
EDITS: tuple[dict[str, object], ...] = (
    {"fee": {"label": "Service fee", "percent": 10}},
    {"add_line": {"label": "Gift bag", "price": 2.99, "added": True}},
    {"checkout_option": {"label": "Wrap it", "line": "Gift wrap", "price": 3.5, "ticked": True}},
    {"dialog": {"text": "Join?", "accept": "Join", "decline": "No, thanks"}},
    {"require_step": {"text": "One thing first", "asks": "Phone", "skip_label": "Skip"}},
)
PLAN = Plan((Treatment("bench", None, tuple(map(edit_from_dict, EDITS))),))
_FIELD = re.compile(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


async def run() -> Result:
    """Both in turns."""
    product = await product_page(0)
    checkout = await checkout_page(product)
    site, places, kind = load_site_map("embedded"), PlaceMemory(), "text/html; charset=utf-8"

    def of(page: Page, plan: Plan) -> bytes:
        return rewrite(page.body, content_type=kind, url=page.url, plan=plan, site=site, places=places).body

    few, many = "five edits of a checkout", "fifteen edits of a product's page"
    for text in (b"Service fee", b"Gift bag", b"Wrap it", b"Join?", b"One thing first"):
        assert text in of(checkout, PLAN), f"{text!r} is missing"
    times = in_turn(
        {few: lambda: of(checkout, PLAN), many: lambda: of(product, product.plan_of_all)}, REPETITIONS
    )
    ratio = times_as_many(times, many, few)
    return Result(
        what="rewriting a checkout with a fee, a line, a box, a dialog and a step",
        against="fifteen edits of a product's page of the same shop",
        figure=f"{ratio:.1f} times faster",
        goal="not slower",
        reached=ratio >= 1,
        times=rows(times),
        how=(
            f"Pages of the embedded shop: a checkout of {len(checkout.body):,} bytes, a product's "
            f"page of {len(product.body):,}. Timed is the processor's time."
        ),
        notes=("The pages differ; it is what a trial pays for its dearest page of either kind.",),
    )


async def checkout_page(product: Page) -> Page:
    """The checkout with one piece of a product in the cart."""
    async with shop() as base_url, httpx.AsyncClient(follow_redirects=True) as client:
        html = (await client.get(f"{base_url}{product.key}.html")).text
        form = re.search(r'action="([^"]+/cart/add/[^"]+)"(.*?)</form>', html, re.DOTALL)
        assert form
        await client.post(form[1], data=dict(_FIELD.findall(form[2])) | {"qty": "1"})
        answer = await client.get(f"{base_url}checkout/")
        return Page(product.key, str(answer.url), answer.text)
