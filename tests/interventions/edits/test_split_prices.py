"""Prices whose whole part and cents stand in elements of their own."""

from decimal import Decimal
from pathlib import Path

import pytest
from babel.numbers import format_decimal, get_decimal_symbol
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.consistency import disagreements, sightings
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.in_browser import Element, Spot, Standing, There
from interventions.edits.registry import edit_from_dict
from interventions.edits.showing import Change
from interventions.errors import UserError
from interventions.html.numbers import NumberUsage, read_figure
from interventions.yaml.sitemap import SiteMap, load_site_map

URL = "http://shop.test/lamp"
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
WITHOUT_COPY = MAP.replace("    - .offscreen\n", "")


@pytest.fixture
def site(tmp_path: Path) -> SiteMap:
    return load(tmp_path, MAP)


@pytest.fixture
def bare(tmp_path: Path) -> SiteMap:
    return load(tmp_path, WITHOUT_COPY)


def load(folder: Path, text: str) -> SiteMap:
    (folder / "split.yaml").write_text(text)
    return load_site_map(folder / "split.yaml")


def price(whole: str = "1,299", cents: str = "00", sign: str = "$", point: str = ".") -> str:
    return f"""<span><span class=offscreen>{sign}{whole}{point}{cents}</span><span aria-hidden=true>
<i>{sign}</i> <b class=price-whole>{whole}<u>{point}</u></b>
<sup class=price-fraction>{cents}</sup></span></span>"""


def page(shown: str) -> bytes:
    return f"<!doctype html><meta charset=utf-8><h1>Lamp</h1><p>{shown}</p>".encode()


def run(body: bytes, site: SiteMap, amount: object, url: str = URL, edit: str = "set_price") -> Rewrite:
    plan = Plan((Treatment("the-id", "lamp", (edit_from_dict({edit: amount}),)),))
    return rewrite(body, content_type="text/html", url=url, plan=plan, site=site)


def shown(body: bytes, css: str) -> list[str]:
    return [" ".join(node.text().split()) for node in LexborHTMLParser(body).css(css)]


@pytest.mark.parametrize(
    ("new", "whole", "cents"),
    [("1049.50", "1,049.", "50"), ("949", "949.", "00"), ("12345.05", "12,345.", "05")],
)
def test_each_part_is_written_in_its_place(site: SiteMap, new: str, whole: str, cents: str) -> None:
    result = run(page(price()), site, new)
    assert shown(result.body, ".price-whole") == [whole]
    assert shown(result.body, ".price-fraction") == [cents]
    assert shown(result.body, ".offscreen") == [f"${whole}{cents}"]
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
def test_receipts_tell_the_whole_price_without_a_copy_of_it(
    bare: SiteMap, old: str, new: str, after: str
) -> None:
    result = run(page(old), bare, new)
    (receipt,) = result.receipts
    assert receipt.after == after
    assert shown(result.body, ".price-whole")[0].rstrip(".,٫") + shown(result.body, ".price-fraction")[0] == (
        after[:-3] + after[-2:]
    )


def test_a_price_without_cents_may_lack_their_element(bare: SiteMap) -> None:
    body = page("<b class=price-whole>1,299</b>")
    assert shown(run(body, bare, "949").body, ".price-whole") == ["949"]
    with pytest.raises(EditFailed, match="shows 1 whole parts of the price, and cents for 0"):
        run(body, bare, "949.50")


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (price("1,299.00"), '"1,299.00." is no whole part of a price'),
        (price(cents="–"), 'no figure in "–"'),
        (price(cents="5"), "more decimals than the page shows"),
        (price() + "<sup class=price-fraction>99</sup>", "shows 1 whole parts of the price, and cents for 2"),
    ],
)
def test_what_is_no_split_price_is_refused(bare: SiteMap, old: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        run(page(old), bare, "949.55")


def test_the_struck_price_needs_the_whole_price_in_one_element(site: SiteMap, bare: SiteMap) -> None:
    after = run(page(price()), site, {"was": 1500}, edit="strike_price").body
    assert shown(after, "del") == ["was $1,500.00"]
    with pytest.raises(EditFailed, match="the price stands in two elements"):
        run(page(price()), bare, {"was": 1500}, edit="strike_price")


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.integers(1, 5))
def test_a_cart_of_split_prices_adds_up(old: int, new: int, quantity: int) -> None:
    def cart(cents: int) -> bytes:
        whole, rest = f"{cents / 100:,.2f}".split(".")
        return page(
            f"""<div class=row><a href=/lamp>Lamp</a>{price(whole, rest)}<i class=quantity>{quantity}</i>
<b class=sum>${cents * quantity / 100:,.2f}</b></div><b class=total>${cents * quantity / 100 + 5:,.2f}</b>"""
        )

    site = SITE_WITHOUT_COPY
    after = run(cart(old), site, str(Decimal(new) / 100), "http://shop.test/cart").body
    expected = cart(new)
    for css in (".price-whole", ".price-fraction", ".sum", ".total"):
        assert shown(after, css)[0].replace(",", "") == shown(expected, css)[0].replace(",", "")
    seen = sightings(after, content_type="text/html", url="http://shop.test/cart", site=site)
    assert [(s.product, s.value) for s in seen] == [("lamp", Decimal(new) / 100)]
    assert disagreements(seen) == []


SITE_WITHOUT_COPY = SiteMap.model_validate(
    {
        "name": "split",
        "pages": {"cart": ".row"},
        "roles": {
            "row": ".row",
            "row.link": {"css": "a", "attribute": "href"},
            "row.quantity": ".quantity",
            "row.price": [
                {"css": ".price-whole", "part": "whole"},
                {"css": ".price-fraction", "part": "fraction"},
            ],
            "row.subtotal": ".sum",
            "cart.total": ".total",
        },
    }
)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (("$1,049.50", "1,049.", "50"), ""),
        (("$1,049.50", "1,299.", "50"), "product.price shows"),
        (("$1,049.50", "1,049.", "00"), "product.price shows"),
        (("$1,299.00", "1,299.", "00"), "product.price shows"),
    ],
)
def test_the_browser_has_to_show_both_parts(site: SiteMap, texts: tuple[str, ...], problem: str) -> None:
    spots = [Spot(place.css) for place in site.role("product.price")]
    standing = {spot: (Element(text, text),) for spot, text in zip(spots, texts, strict=True)}
    edit = edit_from_dict({"set_price": "1049.50"})
    verdict = edit.stands(There(site, Standing(standing)), [Change(3, "$1,299.00", "$1,049.50")])
    assert verdict is not None
    assert verdict.problem.startswith(problem)
    assert bool(verdict.problem) == bool(problem)


@pytest.mark.parametrize("part", ["whole", "fraction"])
def test_one_part_alone_is_refused(tmp_path: Path, part: str) -> None:
    lines = [line for line in MAP.splitlines() if f"part: {part}" not in line]
    other = {"whole": "fraction", "fraction": "whole"}[part]
    with pytest.raises(
        UserError, match=f"product.price: part: {other} stands alone; name the places of both"
    ):
        load(tmp_path, "\n".join(lines))


def test_only_prices_have_parts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only the places of a price or a subtotal have the key part"):
        load(tmp_path, MAP.replace("cart.total: .total", "cart.total: [{css: a, part: whole}]"))


@pytest.mark.parametrize(
    ("markup", "price", "shown"),
    [
        ("<span>¥</span><b>1,299</b>", "1049.5", "1,050"),
        ("<td>¥<td><b>1,299</b>", "1049.5", "1,050"),
        ("<b>12</b> <i>KWD</i>", "9.125", "9.125"),
        ("<b>12.500</b> <i>KWD</i>", "9.5", "9.500"),
        ("<b>12</b> <i>€</i>", "9.5", "9.50"),
        (
            "<b>1,299</b><p>or 5 USD, and much more to read here, so that it is no part of the price at all",
            "9.5",
            "9.50",
        ),
    ],
)
def test_the_currency_stands_beside_the_element_of_the_price(markup: str, price: str, shown: str) -> None:
    site = SiteMap.model_validate({"name": "s", "pages": {"product": "h1"}, "roles": {"product.price": "b"}})
    plan = Plan((Treatment("p", "lamp", (edit_from_dict({"set_price": price}),)),))
    html = (
        f"<h1>Lamp</h1><table><tr>{markup}</table>"
        if markup.startswith("<td")
        else f"<h1>x</h1><div>{markup}</div>"
    )
    done = rewrite(html.encode(), content_type="text/html", url=URL, plan=plan, site=site)
    assert LexborHTMLParser(done.body).css_first("b").text() == shown


LANGUAGES = ("en_US", "de_DE", "fr_FR", "de_CH", "es_ES", "nb_NO", "it_IT", "nl_NL", "en_IN")
RAISED = ("<sup>CC</sup>", "<span class=cents>CC</span>", "<i>SIGN</i><small>CC</small>", "SIGN<sup>CC</sup>")


@example("es_ES", "<sup>CC</sup>", 100, 100_000, False)
@example("it_IT", "<sup>CC</sup>", 100, 100_000, False)
@given(
    st.sampled_from(LANGUAGES),
    st.sampled_from(RAISED),
    st.integers(100, 99_999_999),
    st.integers(100, 99_999_999),
    st.booleans(),
)
def test_raised_cents_are_written_in_the_page_s_format(
    language: str, markup: str, old: int, new: int, before: bool
) -> None:
    def written(price: int) -> str:
        sign = get_decimal_symbol(language)
        whole = format_decimal(price // 100, "#,##0", locale=language)
        if language == "en_IN":
            whole = format_decimal(price // 100, locale=language)
        if language in ("es_ES", "it_IT") and price < 1_000_000:  # they group from five digits
            whole = str(price // 100)
        shown = f"{whole}{markup.replace('CC', f'{price % 100:02}').replace('SIGN', sign)}"
        return f"€ {shown}" if before else f"{shown} €"

    site = SiteMap.model_validate({"name": "s", "pages": {"product": "h1"}, "roles": {"product.price": "b"}})
    html = "<!doctype html><html lang={}><meta charset=utf-8><h1>Lamp</h1><b>{}</b>"
    page, expected = (html.format(language.replace("_", "-"), written(price)) for price in (old, new))
    (seen,) = sightings(page.encode(), content_type="text/html", url=URL, site=site)
    assert seen.value == Decimal(old) / 100
    done = run(page.encode(), site, str(Decimal(new) / 100))
    assert done.body.decode() == expected
    (receipt,) = done.receipts
    assert read_figure(receipt.before, NumberUsage(language)) == Decimal(old) / 100
    assert read_figure(receipt.after, NumberUsage(language)) == Decimal(new) / 100


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ("<b>12</b><sup>99</sup> €", 'the cents stand behind the element of "12"; name both, with part'),
        ("<b>12</b> <sup class=cents><i>99</i></sup>", "the cents stand behind the element"),
        ("<b>$10<sup>99</sup> and $20<sup>99</sup></b>", "shows several prices, and the edit has one"),
        ("<b>$10 – 20 pieces</b>", "shows several prices, and the edit has one"),
        ("<b>$1<i>299</i></b>", "spread over several elements; name each with part"),
        ("<b>$<i>1,</i>299.00</b>", "spread over several elements; name each with part"),
    ],
)
def test_what_is_no_one_price_is_refused(markup: str, reason: str) -> None:
    site = SiteMap.model_validate({"name": "s", "pages": {"product": "h1"}, "roles": {"product.price": "b"}})
    with pytest.raises(EditFailed, match=reason):
        run(f"<!doctype html><meta charset=utf-8><h1>Lamp</h1>{markup}".encode(), site, "9.50")


def test_a_price_with_raised_cents_is_struck_as_it_was() -> None:
    site = SiteMap.model_validate({"name": "s", "pages": {"product": "h1"}, "roles": {"product.price": "b"}})
    edits = tuple(edit_from_dict(edit) for edit in ({"set_price": "9.50"}, {"strike_price": {}}))
    html = "<!doctype html><html lang=de><meta charset=utf-8><h1>Lamp</h1><b>12<sup>99</sup> €</b>".encode()
    plan = Plan((Treatment("p", "lamp", edits),))
    done = rewrite(html, content_type="text/html", url=URL, plan=plan, site=site).body
    assert shown(done, "b") == ["950 €"]
    assert shown(done, "del") == ["was 12,99 €"]
