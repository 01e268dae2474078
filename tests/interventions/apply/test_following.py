"""Amounts beside a price, and prices of variants: they follow a new price, or it is told that they do not."""

from decimal import Decimal

import pytest

from interventions.apply.consistency import disagreements, figures_on
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.following import left_behind
from interventions.edits.showing import Earlier
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap
from tests.interventions.rewriting import HTML, LINK, plan_of, rewritten, site_of

URL = "http://shop.test/oil"
NAMES = ("saving", "instalment", "net_price", "cash_price", "unit_price")
SITE = site_of({"product.price": ".price", **{f"product.{name}": f".{name}" for name in NAMES}})
WITHOUT = site_of({"product.price": ".price"})
ROWS = {"row": "tr", "row.link": LINK, "row.price": ".each", "cart.total": ".total"}


def parsed(body: bytes) -> Page:
    return Page(body, HTML, Marks(frozenset()), URL)


def page(text: str) -> bytes:
    language = "de" if "€" in text or "kr" in text else "en"
    return f"<html lang={language}><h1>Oil</h1><div><p class=price>{text}</p></div>".encode()


def done(text: str, price: str, site: SiteMap = SITE) -> Rewrite:
    return rewritten(page(text), "oil", {"set_price": price}, site=site)


@pytest.mark.parametrize(
    ("price", "role", "sent", "shown"),
    [
        ("12", "saving", "$24.00 | You save $6.00 (20%)", "$12.00 | You save $18.00 (60%)"),
        ("12", "saving", "$24.00 | Save 20%", "$12.00 | Save 60%"),
        ("12", "saving", "$24.00 | -20%", "$12.00 | -60%"),
        (
            "12",
            "instalment",
            "$24.00 | 4 interest-free payments of 6.00",
            "$12.00 | 4 interest-free payments of 3.00",
        ),
        ("12", "instalment", "$24.00 | 0% APR from $2.00 a month", "$12.00 | 0% APR from $1.00 a month"),
        ("12", "net_price", "$24.00 | ($20.00 excl. VAT)", "$12.00 | ($10.00 excl. VAT)"),
        ("12", "cash_price", "$24.00 | $22.80 by bank transfer", "$12.00 | $11.40 by bank transfer"),
        ("9.5", "unit_price", "12,90 € | 2,58 €/100 g", "9,50 € | 1,90 €/100 g"),
        ("9.5", "unit_price", "12,90 € | (2.580,00 € pro 100 kg)", "9,50 € | (1.900,00 € pro 100 kg)"),
        ("9.5", "unit_price", "$12.90 | 1 lb = $2.58", "$9.50 | 1 lb = $1.90"),
        ("9.5", "unit_price", "950 kr | 25 kr/st", "9,50 kr | 0,25 kr/st"),
        ("9.5", "", "12,90 € (2,58 €/100 g)", "9,50 € (1,90 €/100 g)"),
        ("9.5", "", "12,90 €, je Liter 25,80 € / l", "9,50 €, je Liter 19,00 € / l"),
        ("9.5", "", "$12.90 ($2.58 per 100 g)", "$9.50 ($1.90 per 100 g)"),
        ("9.5", "", "12,90 €/kg", "9,50 €/kg"),
    ],
)
def test_amounts_with_a_role_follow_and_others_are_told(price: str, role: str, sent: str, shown: str) -> None:
    own, _, beside = sent.partition(" | ")
    text, after = (each.replace(" | ", f"</p><p class={role}>") for each in (sent, shown))
    result = done(text, price)
    assert result.body == page(after)
    (receipt,) = result.receipts
    assert (receipt.before, receipt.after) == (own, shown.partition(" | ")[0])
    if role:
        before, left = parsed(page(text)), parsed(done(text, price, WITHOUT).body)
        assert left_behind(before, SITE) == ""
        told = f"this amount near the price will not follow a new one: '{beside}'"
        assert told in left_behind(before, WITHOUT)
        lines = disagreements(figures_on(left, before, WITHOUT, 0))
        assert lines and all("the text beside product.price" in line for line in lines)


def test_an_amount_that_kept_its_value_is_told_with_both_values() -> None:
    text = "12,90 €</p><p class=unit_price>2,58 €/100 g"
    before, left = parsed(page(text)), parsed(done(text, "9.5", WITHOUT).body)
    assert disagreements(figures_on(before, before, WITHOUT, 0)) == []
    assert disagreements(figures_on(left, before, WITHOUT, 0)) == [
        f"oil: price per unit, 2.58 before, is 1.90 as product.price on {URL}, "
        f"but 2.58 as the text beside product.price on {URL}"
    ]


@pytest.mark.parametrize(
    ("text", "price", "reason"),
    [
        ("$24.00</p><p class=saving>Save 20%", "32", r"says that it is cheaper than 30\.00"),
        ("12,90 €</p><p class=unit_price>auf Anfrage", "9.5", None),
        ("0,00 €</p><p class=unit_price>2,58 €/100 g", "9.5", None),
        ("$10 – 20 pieces", "9.5", None),
        ("$10 (20 per pack)", "9.5", None),
    ],
)
def test_what_cannot_follow_is_refused(text: str, price: str, reason: str | None) -> None:
    with pytest.raises(EditFailed, match=reason):
        done(text, price)


def test_what_edits_have_made_one_is_told_as_the_shop_sent_it() -> None:
    data = [{"css": "script", "roles": {"price": "$.price"}}]
    site = site_of({"product.price": [".price", ".net"]}, data=data)
    prices = "<p class=price>$44.90</p><p class=net>$14.90</p>"
    body = f'<html lang=en><h1>Oil</h1>{prices}<script>{{"price": 44.9}}</script>'
    sent = parsed(body.encode())
    shown = parsed(rewritten(body, "oil", {"set_price": "14.90"}, site=site).body)
    found = figures_on(shown, sent, site, 0)
    assert {each.value for each in found} == {Decimal("14.90")}
    (line,) = disagreements(found)
    assert line == (
        f"oil: price is 44.90 as product.price on {URL}, but 14.90 as product.price on {URL} "
        "(as the shop sent them)"
    )


def test_two_lines_of_a_product_keep_their_difference() -> None:
    lines = "".join(f"<tr><td><a href=/oil>Oil</a><td class=each>{each} €" for each in ("64,90", "84,90"))
    body = f"<html lang=de><table>{lines}</table><p class=total>149,80 €</p>"
    site, url = site_of({"product.price": ".price", **ROWS}), "http://shop.test/cart"
    result = rewritten(body, "oil", {"set_price": "33.33"}, site=site, url=url)
    text = result.body.decode()
    assert "33,33 €" in text and "53,33 €" in text and "86,66 €" in text
    assert result.earlier["oil"] == Earlier(price=Decimal("64.90"), currency="EUR")


@pytest.mark.parametrize(
    ("shown", "after"),
    [("119,00 €", "33,33 €"), ("139,00 €", "53,33 €"), ("29,75 €", "8,33 €"), ("$152.90", "")],
)
def test_variants_keep_their_difference_and_other_currencies_are_refused(shown: str, after: str) -> None:
    body = f"<html lang=de><h1>Oil</h1><p class=price>{shown}</p>".encode()
    earlier = {"oil": Earlier(price=Decimal(119), currency="EUR")}

    def again() -> str:
        plan = plan_of("oil", {"set_price": "33.33"})
        return rewrite(
            body, content_type=HTML, url=URL, plan=plan, site=WITHOUT, earlier=earlier
        ).body.decode()

    if after:
        assert f">{after}<" in again()
    else:
        with pytest.raises(EditFailed, match="no amount in EUR, in which the new price is"):
            again()
