"""The prices of a unit, such as 2,58 €/100 g: they follow the price, or the trial says that one did not."""

import pytest

from interventions.apply.consistency import disagreements, figures_on
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap

URL, KIND = "http://shop.test/oil", "text/html; charset=utf-8"
PRICES = {"name": "prices", "pages": {"product": "h1"}}
ROLES = {"product.title": "h1", "product.price": ".price"}
NAMED = SiteMap.model_validate({**PRICES, "roles": {**ROLES, "product.unit_price": ".unit"}})
NOT_NAMED = SiteMap.model_validate({**PRICES, "roles": ROLES})
CHEAP = Plan((Treatment("cheap", "oil", (edit_from_dict({"set_price": 9.5}),)),))


def page(text: str) -> str:
    language = "de" if "€" in text or "kr" in text else "en"
    return f"<html lang={language}><h1>Oil</h1><div><p class=price>{text}</p></div>"


def rewritten(text: str, site: SiteMap = NAMED) -> Rewrite:
    return rewrite(page(text).encode(), content_type=KIND, url=URL, plan=CHEAP, site=site)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("12,90 €</p><p class=unit>2,58 €/100 g", "9,50 €</p><p class=unit>1,90 €/100 g"),
        (
            "12,90 €</p><p class=unit>(2.580,00 € pro 100 kg)",
            "9,50 €</p><p class=unit>(1.900,00 € pro 100 kg)",
        ),
        ("$12.90</p><p class=unit>1 lb = $2.58", "$9.50</p><p class=unit>1 lb = $1.90"),
        ("950 kr</p><p class=unit>25 kr/st", "9,50 kr</p><p class=unit>0,25 kr/st"),
        ("12,90 € (2,58 €/100 g)", "9,50 € (1,90 €/100 g)"),
        ("12,90 €, je Liter 25,80 € / l", "9,50 €, je Liter 19,00 € / l"),
        ("$12.90 ($2.58 per 100 g)", "$9.50 ($1.90 per 100 g)"),
        ("12,90 €/kg", "9,50 €/kg"),
    ],
)
def test_the_price_of_a_unit_follows_the_price(sent: str, shown: str) -> None:
    done = rewritten(sent)
    assert done.body.decode() == page(shown)
    (receipt,) = done.receipts
    assert (receipt.before, receipt.after) == (sent.partition("<")[0], shown.partition("<")[0])


@pytest.mark.parametrize(
    "text",
    [
        "12,90 €</p><p class=unit>auf Anfrage",
        "0,00 €</p><p class=unit>2,58 €/100 g",
        "$10 – 20 pieces",
        "$10 (20 per pack)",
    ],
)
def test_what_cannot_follow_is_refused(text: str) -> None:
    with pytest.raises(EditFailed):
        rewritten(text)


@pytest.mark.parametrize("edited", [True, False])
def test_a_price_of_a_unit_that_kept_its_value_is_told(edited: bool) -> None:
    text = "12,90 €</p><p class=unit>2,58 €/100 g"

    def told(site: SiteMap) -> list[str]:
        sent, shown = (
            Page(body, KIND, Marks(frozenset()), URL)
            for body in (page(text).encode(), rewritten(text, site).body if edited else page(text).encode())
        )
        return disagreements(figures_on(shown, sent, site, 0))

    assert told(NAMED) == []
    line = (
        f"oil: price per unit, 2.58 before, is 1.90 as product.price on {URL}, "
        f"but 2.58 as the text beside product.price on {URL}"
    )
    assert told(NOT_NAMED) == ([line] if edited else [])
