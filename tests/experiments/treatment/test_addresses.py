"""Wherever its address leads, a product is treated, on its page and on its card."""

from pathlib import Path
from typing import Any

import pytest

from tests.experiments.foreign_shop import NUDGE, Buyer, ForeignShop
from tests.experiments.treatment.test_treatment_check import Place, carry_out, nudges, place, shop
from tests.support import usual

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
__all__ = ["place", "shop"]

ADDRESSES: dict[str, dict[str, Any]] = {
    "its key": {},
    "a prefix": {"page": "products/${key}"},
    "a prefix and a canonical link": {"page": "products/${key}", "canonical": "/products/KEY"},
    "an address with a path": {"prefix": "en/"},
    "another suffix": {"page": "${key}.php"},
    "another name of its own": {"page": "products/${key}", "canonical": "/catalog/KEY/view"},
    "a session in the path": {"moved": "/KEY.html;jsessionid=1A2B"},
    "a redirect": {"moved": "/en/KEY"},
    "a redirect to a query": {"moved": "/item?id=KEY", "canonical": "/KEY.html"},
    "an encoded address": {"page": "products/${key}", "moved": "/p/L%C3%A4mpchen%20f%C3%BCr%2D/KEY"},
    "a variant in the query": {"moved": "/products/KEY?variant=4711"},
    "another host's canonical link": {"page": "products/${key}", "canonical": "http://elsewhere.test/x"},
    "a query and a canonical link": {"page": "item?id=${key}", "canonical": "/KEY"},
    "a query": {"page": "product?id=${key}"},
    "a route in the query": {"page": "index.php?route=product/product&product_id=${key}"},
    "its full address": {"url": "BASEen/KEY"},
    "its full address, below the shop's": {"url": "BASEen/KEY.php", "prefix": "en/"},
    "its full address on another host": {"url": "https://shop.example/lamps/KEY.html?ref=7"},
    "its full address with a query": {"url": "BASEitem?id=KEY", "site": "by-id.yaml"},
    "nothing but its address": {"url": "BASEitem?lang=en&id=KEY", "site": "by-id.yaml", "keyed": False},
}
BY_ID = "name: by-id\nextends: onestopmarket\nquery: id\n"


@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("address", usual(ADDRESSES, 4))
async def test_wherever_its_address_leads_a_product_is_treated(
    address: str, control: bool, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    how = dict(ADDRESSES[address])
    if "site" in how:
        (tmp_path / how["site"]).write_text(BY_ID)
        how["site"] = str(tmp_path / how["site"])
    if "url" in how:
        how["url"] = how["url"].replace("BASE", place.address)
    shop.moved, shop.canonical = how.pop("moved", ""), how.pop("canonical", "")
    buyer = Buyer()
    trajectory, session, trial = await carry_out(place, tmp_path, buyer, control, **how)
    assert trajectory.outcome == "choice", trajectory.reason
    assert trajectory.choice == trial.products[0].key
    assert {r.product for r in session.receipts} == {product.key for product in trial.products}
    assert nudges(session) == ({trial.carrier} if trial.carrier else set())
    assert [NUDGE in html for html in buyer.seen] == [False, not control]


@pytest.mark.parametrize(
    "page", ["${key}.html", "lamps/${key}.php", "item?id=${key}", "index.php?r=p&pid=${key}"]
)
async def test_a_card_has_the_key_of_its_products_page(
    page: str, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    card = (
        '<li class="product-item"><a class="product-item-link" href="/{0}">{1}</a>'
        '<span class="price-wrapper" data-price-type="finalPrice">'
        '<span class="price">$19.99</span></span></li>'
    )
    rows = [card.format(page.replace("${key}", key), name) for key, name in shop.names.items()]
    shop.extra = f"<ol>{''.join(rows)}</ol>"
    buyer = Buyer()
    trajectory, session, trial = await carry_out(
        place, tmp_path, buyer, edits=[{"set_price": 9.99}], page=page
    )
    assert trajectory.outcome == "choice", trajectory.reason
    assert {(r.product, r.role) for r in session.receipts if r.edit == "set_price"} == {
        (trial.carrier, "product.price"), (trial.carrier, "item.price")
    }  # fmt: skip
    for html in buyer.seen:  # the carrier's card on both pages, beside the other's
        assert ("$9.99" in html, "$19.99" in html) == (True, True)
