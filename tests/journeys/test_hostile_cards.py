"""Generated listings and attacks on the edits of their cards: the oracle is what the screen draws.

Each product has its own nudge and prices, so that a text tells whose it is.
"""

# ruff: noqa: E501 - scripts and markup stand as they run

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import placed, unchecked, untreated
from interventions.apply.plan import Plan, Treatment
from interventions.edits.base import Edit
from interventions.edits.insert_text import InsertText
from interventions.edits.set_price import SetPrice
from interventions.yaml.sitemap import SiteMap
from proxy.session import Session
from tests.journeys.screen import is_on_screen
from tests.journeys.test_hostile_pages import HIDING
from tests.journeys.treated import treated_by
from tests.support import size

pytestmark = pytest.mark.browser

URL = "http://boutique.test/lampes"
SITE = SiteMap.model_validate(
    {
        "name": "boutique",
        "pages": {"product": {"css": "#fiche"}, "listing": {"css": "#liste"}},
        "roles": {
            "product.title": "h1",
            "product.price": "#fiche b",
            "item": "li.carte",
            "item.link": {"css": "a.nom", "attribute": "href"},
            "item.title": "a.nom",
            "item.price": "b",
        },
    }
)
NAMES = ("Amber", "Birch", "Coral", "Dusk", "Ember")
NUDGES = {name: f"Praised {2030 + number} times" for number, name in enumerate(NAMES)}
OLD = {name: f"{11 + number}.95" for number, name in enumerate(NAMES)}
NEW = {name: f"{31 + number}.25" for number, name in enumerate(NAMES)}
EDITS: dict[str, tuple[Edit, ...]] = {
    name: (InsertText(after="product.title", text=NUDGES[name]), SetPrice(float(NEW[name]))) for name in NAMES
}
WANTED = ObservationQuery(own=True, cards=card_spots(EDITS["Amber"], SITE, all_kinds=True))
# `t` is the card of a product, `n` its nudge and `p` its price; `u` is another card.
ATTACKS = {
    "the nudge goes": "n.remove()",
    "the nudge is hidden": "n.style.cssText = 'HIDING'",
    "the nudge goes to another card": "u.append(n)",
    "the nudge says something else": "n.textContent = 'Nobody praised it'",
    "the price is old": "p.textContent = '$OLD'",
    "the price is hidden": "p.style.cssText = 'HIDING'",
    "the old price stands beside": "t.insertAdjacentHTML('beforeend', '<s>$OLD</s>')",
    "the old price is in capitals": "t.insertAdjacentHTML('beforeend', '<i>US$</i><i>OLD</i>')",
    "the card is as it was": "t.innerHTML = `<a class=nom href='/NAME'>NAME</a><b>$OLD</b>`",
    "the card is another kind": "t.outerHTML = `<li><a href='/NAME'>NAME</a><b>$OLD</b></li>`",
    "the card is hidden": "t.style.cssText = 'HIDING'",
    "the card is covered": "t.style.position = 'relative'; t.insertAdjacentHTML('beforeend', '<span style=\"position:absolute;inset:0;background:white\"></span>')",
    "something else comes": "t.insertAdjacentHTML('beforeend', '<p>Thank you</p>')",
    "the cards turn round": "t.parentElement.append(t)",
    "the old price is far below": "document.body.insertAdjacentHTML('beforeend', '<p style=\"margin-top:3000px\">$OLD</p>')",
}
HARMLESS = {"something else comes", "the cards turn round", "the old price is far below"}
Attack = tuple[str, int, str]


def listing(names: Sequence[str]) -> str:
    cards = "".join(
        f"<li class=carte><a class=nom href='/{name}'>{name}</a><p>As new</p><b>${OLD.get(name, '5.55')}</b></li>"
        for name in names
    )
    return f"<!doctype html><style>body {{ font: 16px sans-serif; background: white }}</style><ul id=liste>{cards}</ul>"


def script(attack: Attack, names: Sequence[str]) -> str:
    kind, number, hiding = attack
    name, other = names[number % len(names)], names[(number + 1) % len(names)]
    code = ATTACKS[kind].replace("HIDING", hiding).replace("OLD", OLD[name]).replace("NAME", name)
    card = "[...document.querySelectorAll('li')].find((each) => each.textContent.includes('{}'))"
    return f"""() => {{ const t = {card.format(name)}, u = {card.format(other)};
        const n = t.querySelector('.product-title-details'), p = t.querySelector('b');
        try {{ {code} }} catch {{ /* what is gone cannot change */ }} }}"""


async def missing(page: Page, names: Sequence[str], edited: Sequence[str]) -> list[str]:
    """The edited products that the screen shows, but not as planned."""
    return [
        name
        for name in edited
        if await is_on_screen(page, name)
        and (
            await is_on_screen(page, f"${OLD[name]}")
            or not await is_on_screen(page, NUDGES[name])
            or not await is_on_screen(page, f"${NEW[name]}")
        )
    ]


async def look(
    page: Page, html: str, edited: Sequence[str], scripts: Sequence[str] = ()
) -> tuple[ProductObservation, Session]:
    """A look at a treated listing after these scripts, with what happened."""
    plan = Plan(tuple(Treatment("all", name.lower(), EDITS[name]) for name in edited))
    body, session = treated_by(plan, html, SITE, URL, None)
    await page.set_content(body)
    for each in scripts:
        await page.evaluate(each)
    shown = await observe(page, View(screenshot=True), (), WANTED)
    return ProductObservation("", shown.html, shown.standing, URL), session


@settings(max_examples=size(12, 500), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    names=st.integers(2, len(NAMES)).map(lambda count: NAMES[:count]),
    edited=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    attacks=st.lists(
        st.tuples(st.sampled_from(sorted(ATTACKS)), st.integers(0, 4), st.sampled_from(HIDING)), max_size=2
    ),
)
async def test_a_card_that_lacks_its_edit_on_the_screen_does_not_count(
    names: tuple[str, ...], edited: list[str], attacks: list[Attack], page: Page
) -> None:
    edited = [name for name in edited if name in names]
    sight, session = await look(page, listing(names), edited, [script(each, names) for each in attacks])
    reason = untreated([sight], session, [name.lower() for name in names])
    if all(kind in HARMLESS for kind, *_ in attacks):
        assert (reason, unchecked([sight], session)) == ("", [])
        assert {place.product for place in placed([sight], session)} == {name.lower() for name in edited}
    if not reason:
        assert not await missing(page, names, edited)


async def test_cards_far_down_a_long_list_lack_nothing(page: Page) -> None:
    html = listing([*(f"Other {number}" for number in range(150)), "Amber"])
    sight, session = await look(page, html, ["Amber"])
    assert untreated([sight], session, ["amber"]) == ""
    sight, session = await look(page, html, ["Amber"], ["document.querySelector('li:last-child').remove()"])
    assert untreated([sight], session, ["amber"]).startswith("amber is gone")
