"""Prices whose whole part and cents stand in elements of their own."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.consistency import disagreements, sightings
from interventions.apply.engine import EditFailed
from interventions.edits.in_browser import Element, ElementQuery, PageElements, PagePlaces
from interventions.edits.registry import edit_from_dict
from interventions.edits.showing import Change
from interventions.errors import UserError
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import parse_yaml, validate
from tests.interventions.rewriting import Edit, read, rewritten

URL = "http://shop.test/"
PARTS = """\
    - {css: .price-whole, part: whole}
    - {css: .price-fraction, part: fraction}
"""
MAP = f"""\
name: split
pages: {{product: h1, cart: .row}}
roles:
  product.price:
    - .offscreen
{PARTS}
  row: .row
  row.link: {{css: a, attribute: href}}
  row.quantity: .quantity
  row.price:
{PARTS}
  row.subtotal: .sum
  cart.total: .total
"""


def load(text: str) -> SiteMap:
    return validate(parse_yaml(text, "split.yaml"), SiteMap)


SITE = load(MAP)
BARE = load(MAP.replace("    - .offscreen\n", ""))
CART = load(MAP.replace("product: h1, ", ""))


def price(whole: str = "1,299", cents: str = "00", sign: str = "$", point: str = ".") -> str:
    return f"""<span><span class=offscreen>{sign}{whole}{point}{cents}</span><span aria-hidden=true>
<i>{sign}</i> <b class=price-whole>{whole}<u>{point}</u></b>
<sup class=price-fraction>{cents}</sup></span></span>"""


def page(shown: str) -> bytes:
    return f"<!doctype html><meta charset=utf-8><h1>Lamp</h1><p>{shown}</p>".encode()


@pytest.mark.parametrize(
    ("new", "whole", "cents"),
    [("1049.50", "1,049.", "50"), ("949", "949.", "00"), ("12345.05", "12,345.", "05")],
)
def test_each_part_is_written_in_its_place(new: str, whole: str, cents: str) -> None:
    result = rewritten(page(price()), "lamp", {"set_price": new}, site=SITE)
    assert read(result.body, ".price-whole") == [whole]
    assert read(result.body, ".price-fraction") == [cents]
    assert read(result.body, ".offscreen") == [f"${whole}{cents}"]
    assert [(r.before, r.after, r.matches) for r in result.receipts] == [("$1,299.00", f"${whole}{cents}", 3)]
    assert b"1,299" not in result.body


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        (price("1.299", "00", "€", ","), "1049.50", "1.049,50"),
        (price("1\u202f299", "00", "€", ","), "12345.5", "12 345,50"),
        (price("١٬٢٩٩", "٠٠", "", "٫"), "1049.5", "١٬٠٤٩٫٥٠"),
        (price("999", "00", "", ""), "949.5", "949.50"),
    ],
)
def test_receipts_tell_the_whole_price_without_a_copy_of_it(old: str, new: str, after: str) -> None:
    result = rewritten(page(old), "lamp", {"set_price": new}, site=BARE)
    (receipt,) = result.receipts
    assert receipt.after == after
    assert read(result.body, ".price-whole")[0].rstrip(".,٫") + read(result.body, ".price-fraction")[0] == (
        after[:-3] + after[-2:]
    )


def test_a_price_without_cents_may_lack_their_element() -> None:
    body = page("<b class=price-whole>1,299</b>")
    assert read(rewritten(body, "lamp", {"set_price": "949"}, site=BARE).body, ".price-whole") == ["949"]
    with pytest.raises(EditFailed, match="shows 1 whole parts of the price, and cents for 0"):
        rewritten(body, "lamp", {"set_price": "949.50"}, site=BARE)


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (price("1,299.00"), '"1,299.00." is no whole part of a price'),
        (price(cents="–"), 'no figure in "–"'),
        (price(cents="5"), "more decimals than the page shows"),
        (price() + "<sup class=price-fraction>99</sup>", "shows 1 whole parts of the price, and cents for 2"),
    ],
)
def test_what_is_no_split_price_is_refused(old: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        rewritten(page(old), "lamp", {"set_price": "949.55"}, site=BARE)


def test_the_struck_price_needs_the_whole_price_in_one_element() -> None:
    after = rewritten(page(price()), "lamp", {"strike_price": {"was": 1500}}, site=SITE).body
    assert read(after, "del") == ["was $1,500.00"]
    with pytest.raises(EditFailed, match="the price stands in two elements"):
        rewritten(page(price()), "lamp", {"strike_price": {"was": 1500}}, site=BARE)


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.integers(1, 5))
def test_a_cart_of_split_prices_adds_up(old: int, new: int, quantity: int) -> None:
    def cart(cents: int) -> bytes:
        whole, rest = f"{cents / 100:,.2f}".split(".")
        return page(
            f"""<div class=row><a href=/lamp>Lamp</a>{price(whole, rest)}<i class=quantity>{quantity}</i>
<b class=sum>${cents * quantity / 100:,.2f}</b></div><b class=total>${cents * quantity / 100 + 5:,.2f}</b>"""
        )

    cheaper: Edit = {"set_price": str(Decimal(new) / 100)}
    after = rewritten(cart(old), "lamp", cheaper, site=CART, url=f"{URL}cart").body
    expected = cart(new)
    for css in (".price-whole", ".price-fraction", ".sum", ".total"):
        assert read(after, css)[0].replace(",", "") == read(expected, css)[0].replace(",", "")
    seen = sightings(after, content_type="text/html", url=f"{URL}cart", site=CART)
    assert [(s.product, s.value) for s in seen] == [("lamp", Decimal(new) / 100)]
    assert disagreements(seen) == []


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (("$1,049.50", "1,049.", "50"), ""),
        (("$1,049.50", "1,299.", "50"), "product.price shows"),
        (("$1,049.50", "1,049.", "00"), "product.price shows"),
        (("$1,299.00", "1,299.", "00"), "product.price shows"),
    ],
)
def test_the_browser_has_to_show_both_parts(texts: tuple[str, ...], problem: str) -> None:
    spots = [ElementQuery(place.css) for place in SITE.role("product.price")]
    standing = {spot: (Element(text, text),) for spot, text in zip(spots, texts, strict=True)}
    edit = edit_from_dict({"set_price": "1049.50"})
    verdict = edit.stands(PagePlaces(SITE, PageElements(standing)), [Change(3, "$1,299.00", "$1,049.50")])
    assert verdict is not None
    assert verdict.problem.startswith(problem)
    assert bool(verdict.problem) == bool(problem)


@pytest.mark.parametrize("part", ["whole", "fraction"])
def test_one_part_alone_is_refused(part: str) -> None:
    lines = [line for line in MAP.splitlines() if f"part: {part}" not in line]
    other = {"whole": "fraction", "fraction": "whole"}[part]
    with pytest.raises(
        UserError, match=f"product.price: part: {other} stands alone; name the places of both"
    ):
        load("\n".join(lines))


def test_only_prices_have_parts() -> None:
    with pytest.raises(UserError, match="only the places of a price or a subtotal have the key part"):
        load(MAP.replace("cart.total: .total", "cart.total: [{css: a, part: whole}]"))
