"""Amounts beside a price, and prices of variants: they follow a new price, or it is told that they do not."""

from decimal import Decimal

import pytest

from interventions.apply.consistency import disagreements, figures_on
from interventions.apply.engine import EditFailed, rewrite
from interventions.apply.following import left_behind
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.edits.showing import Earlier
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap

URL, KIND = "http://shop.test/oil", "text/html; charset=utf-8"
BARE = {"name": "amounts", "pages": {"product": "h1"}}
NAMES = ("saving", "instalment", "net_price", "cash_price")
ROLES = {"product.price": ".price", **{f"product.{name}": f".{name}" for name in NAMES}}
SITE = SiteMap.model_validate({**BARE, "roles": ROLES})
WITHOUT = SiteMap.model_validate({**BARE, "roles": {"product.price": ".price"}})
CART = SiteMap.model_validate(
    {
        "name": "cart",
        "pages": {"product": "h1"},
        "roles": {
            "product.price": ".price",
            "row": "tr",
            "row.link": {"css": "a", "attribute": "href"},
            "row.price": ".each",
            "cart.total": ".total",
        },
    }
)


def plan(price: str) -> Plan:
    return Plan((Treatment("new", "oil", (edit_from_dict({"set_price": price}),)),))


def page(body: bytes, url: str = URL) -> Page:
    return Page(body, KIND, Marks(frozenset()), url)


def made(body: str, price: str, site: SiteMap = SITE) -> str:
    whole = f"<html lang=en><h1>Oil</h1><div>{body}</div>".encode()
    return rewrite(whole, content_type=KIND, url=URL, plan=plan(price), site=site).body.decode()


@pytest.mark.parametrize(
    ("role", "before", "after"),
    [
        ("saving", "You save $6.00 (20%)", "You save $18.00 (60%)"),
        ("saving", "Save 20%", "Save 60%"),
        ("saving", "-20%", "-60%"),
        ("instalment", "4 interest-free payments of 6.00", "4 interest-free payments of 3.00"),
        ("instalment", "0% APR from $2.00 a month", "0% APR from $1.00 a month"),
        ("net_price", "($20.00 excl. VAT)", "($10.00 excl. VAT)"),
        ("cash_price", "$22.80 by bank transfer", "$11.40 by bank transfer"),
    ],
)
def test_amounts_with_a_role_follow_and_others_are_told(role: str, before: str, after: str) -> None:
    body = f"<p class=price>$24.00</p><p class={role}>{before}</p>"
    assert after in made(body, "12")
    sent = page(f"<html lang=en><h1>Oil</h1><div>{body}</div>".encode())
    assert left_behind(sent, SITE) == ""
    assert f"this amount near the price will not follow a new one: '{before}'" in left_behind(sent, WITHOUT)
    left = page(made(body, "12", WITHOUT).encode())
    lines = disagreements(figures_on(left, sent, WITHOUT, 0))
    assert lines and all("the text beside product.price" in line for line in lines)


def test_a_price_that_saves_nothing_is_refused() -> None:
    with pytest.raises(EditFailed, match=r"says that it is cheaper than 30\.00"):
        made("<p class=price>$24.00</p><p class=saving>Save 20%</p>", "32")


def test_what_edits_have_made_one_is_told_as_the_shop_sent_it() -> None:
    data = [{"css": "script", "roles": {"price": "$.price"}}]
    site = SiteMap.model_validate({**BARE, "roles": {"product.price": [".price", ".net"]}, "data": data})
    prices = "<p class=price>$44.90</p><p class=net>$14.90</p>"
    body = f'<html lang=en><h1>Oil</h1>{prices}<script>{{"price": 44.9}}</script>'
    sent = page(body.encode())
    shown = page(rewrite(body.encode(), content_type=KIND, url=URL, plan=plan("14.90"), site=site).body)
    found = figures_on(shown, sent, site, 0)
    assert {each.value for each in found} == {Decimal("14.90")}
    (line,) = disagreements(found)
    assert line == (
        f"oil: price is 44.90 as product.price on {URL}, but 14.90 as product.price on {URL} "
        "(as the shop sent them)"
    )


def test_two_lines_of_a_product_keep_their_difference() -> None:
    lines = "".join(f"<tr><td><a href=/oil>Oil</a><td class=each>{each} €" for each in ("64,90", "84,90"))
    body = f"<html lang=de><table>{lines}</table><p class=total>149,80 €</p>".encode()
    done = rewrite(body, content_type=KIND, url="http://shop.test/cart", plan=plan("33.33"), site=CART)
    text = done.body.decode()
    assert "33,33 €" in text and "53,33 €" in text and "86,66 €" in text
    assert done.earlier["oil"] == Earlier(price=Decimal("64.90"), currency="EUR")


@pytest.mark.parametrize(
    ("shown", "after"),
    [("119,00 €", "33,33 €"), ("139,00 €", "53,33 €"), ("29,75 €", "8,33 €"), ("$152.90", "")],
)
def test_variants_keep_their_difference_and_other_currencies_are_refused(shown: str, after: str) -> None:
    body = f"<html lang=de><h1>Oil</h1><p class=price>{shown}</p>".encode()
    earlier = {"oil": Earlier(price=Decimal(119), currency="EUR")}

    def again() -> str:
        return rewrite(
            body, content_type=KIND, url=URL, plan=plan("33.33"), site=WITHOUT, earlier=earlier
        ).body.decode()

    if after:
        assert f">{after}<" in again()
    else:
        with pytest.raises(EditFailed, match="no amount in EUR, in which the new price is"):
            again()
