"""The page that is rewritten and proxied: a product page of the embedded shop, as large as real ones are."""

import itertools
import re
from dataclasses import dataclass

import httpx

from environments.shop.catalogue import generate
from environments.shop.server import shop
from interventions.apply.plan import Plan, Treatment
from interventions.edits.insert_text import InsertText
from interventions.edits.registry import edit_from_dict
from interventions.edits.set_price import SetPrice
from interventions.edits.set_rating import SetRating
from interventions.edits.set_reviews import SetReviews

TEXT = "This product has been purchased by 50,000+ customers"
PRICE = "1234.50"
RATING = "41"
REVIEWS = "7"

_WORD = re.compile(r"<li>(\w+)")
_ITEM = '<li class="item review-item"'
_CONTAINER = re.compile(r'id="product-review-container"[^>]* data-url="([^"]+)">')


@dataclass(frozen=True, slots=True)
class Page:
    """A product's page as the shop sends it, with its product's key."""

    key: str
    url: str
    html: str

    @property
    def body(self) -> bytes:
        """What goes over the wire."""
        return self.html.encode()

    @property
    def plan(self) -> Plan:
        """Four edits: a line of text under the title, another price, rating and number of reviews."""
        edits = (
            InsertText(after="product.title", text=TEXT),
            SetPrice(PRICE),
            SetRating(RATING),
            SetReviews(REVIEWS),
        )
        return Plan((Treatment("bench", self.key, edits),))

    @property
    def plan_of_all(self) -> Plan:
        """The same four, and every other edit that a product's page without options can carry."""
        word = _WORD.findall(self.html.partition('id="description"')[2])[0]
        others: tuple[dict[str, object], ...] = (
            {"set_title": "Plain Oat Cookies"},
            {"set_stock": "Only 2 left in stock"},
            {"set_image": "/media/plain.svg"},
            {"set_attribute": {"role": "product.image", "name": "alt", "value": "Oat cookies"}},
            {"replace_text": {"in": "product.description", "from": word, "to": "Plain"}},
            {"strike_price": {}},
            {"badge": {"text": "Best seller"}},
            {"countdown": {"after": "product.price_box"}},
            {"show_rating_text": {}},
            {"remove": "product.sku"},
        )
        more = Treatment("more", self.key, tuple(edit_from_dict(edit) for edit in others))
        banner = Treatment("banner", None, (edit_from_dict({"banner": {"text": "Free returns"}}),))
        return Plan((*self.plan.treatments, more, banner))


async def product_page(size: int) -> Page:
    """The page of the product with the most reviews, with its review list, repeated up to `size` bytes."""
    product = max(generate().products, key=lambda product: product.reviews)
    async with shop() as base_url, httpx.AsyncClient() as client:
        url = f"{base_url}{product.key}.html"
        html = (await client.get(url)).text
        container = _CONTAINER.search(html)
        assert container
        reviews = (await client.get(f"{container[1]}?limit=50")).text
    start, end = html[: container.end()], html[container.end() :]
    opening, *items = reviews.partition("</ol>")[0].split(_ITEM)
    closing = reviews[reviews.index("</ol>") :]
    wanted = size - sum(len(part.encode()) for part in (start, opening, closing, end))
    padding = ""
    for item in itertools.cycle(items):
        if len(padding.encode()) + len((_ITEM + item).encode()) > wanted:
            break
        padding += _ITEM + item
    return Page(product.key, url, start + opening + padding + closing + end)
