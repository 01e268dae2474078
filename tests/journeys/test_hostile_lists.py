"""Generated attacks on the order of lists: the oracle is where the screen draws each product's name.

For an agent that gets no picture it is where the observation holds the name.

Honest lists have grids, carousels, strips of other products and the direction of reading of their language.
"""

# ruff: noqa: E501 - scripts and markup stand as they run

import random
from typing import NamedTuple

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from experiments.treatment.list_order import order_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import unchecked, untreated
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap
from tests.journeys.screen import place_of
from tests.journeys.test_hostile_pages import HIDING
from tests.journeys.treated import treated
from tests.support import size, usual

pytestmark = pytest.mark.browser

CASES = size(2, 25)
URL = "http://boutique.test/lampes"
SITE = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "#fiche"}, "listing": {"css": "#liste"}},
        "roles": {
            "item": [{"css": "li.carte"}],
            "item.link": [{"css": "a.nom", "attribute": "href"}],
            "item.name": [{"css": "a.nom"}],
        },
    }
)
NAMES = ("Amber", "Birch", "Coral", "Dusk", "Ember")
CARD = '<li class=carte><a class=nom href="/lampe?id={0}">{0}</a> <b>$9.99</b></li>'
PAGE = """<!doctype html><html{dir}><head><title>Boutique</title><style>
body {{ margin: 8px; background: white; font: 16px sans-serif }} ul {{ margin: 0; padding: 0 }} li {{ height: 40px; list-style: none }} {style}
</style></head><body>{above}<main><ul id=liste>{cards}</ul></main>{below}<script>{script}</script></body></html>"""


class Kind(NamedTuple):
    """An edit, the product that it is planned for (empty: all), the order, and how much of it has to hold."""

    edit: dict[str, object]
    product: str
    order: tuple[str, ...]
    first: int


KINDS = {
    "reorder to the top": Kind(
        {"reorder": {"rank": 1}}, "Dusk", ("Dusk", "Amber", "Birch", "Coral", "Ember"), 1
    ),
    "reorder down": Kind({"reorder": {"rank": 4}}, "Amber", ("Birch", "Coral", "Dusk", "Amber", "Ember"), 4),
    "shuffle": Kind({"reorder": {"shuffle": 3}}, "", ("Birch", "Amber", "Ember", "Coral", "Dusk"), 5),
    "swap": Kind({"swap": "lampe?id=Amber"}, "Coral", ("Coral", "Birch", "Amber", "Dusk", "Ember"), 3),
    "results": Kind({"results": 3}, "", ("Amber", "Birch", "Coral"), 3),
    "sort_default": Kind({"sort_default": {"by": "name", "descending": True}}, "", NAMES[::-1], 5),
}
# `t` is the card of the product, `list` what holds it; what scripts of shops do by themselves, too.
ATTACKS = {
    "put back": "list.append(...[...list.children].sort((a, b) => a.textContent < b.textContent ? -1 : 1))",
    "order": "list.style.display = 'grid'; t.style.order = t === list.children[0] ? 9 : -9",
    "reverse": "list.style.cssText = 'display: flex; flex-direction: column-reverse'",
    "reverse in rows": "list.style.cssText = 'display: flex; flex-direction: row-reverse; justify-content: flex-end'",
    "right to left": "list.style.cssText = 'display: flex; direction: rtl'",
    "absolute": "t.style.cssText = 'position: absolute; top: 400px'",
    "shifted": "t.style.cssText = 'transform: translateY(300px)'",
    "shifted up": "list.lastElementChild.style.cssText = 'position: relative; top: -170px'; list.style.paddingTop = '60px'",
    "hidden": "t.style.cssText = 'HIDING'",
    "gone": "t.remove()",
    "an advertisement first": "list.insertAdjacentHTML('afterbegin', t.outerHTML.replaceAll(t.querySelector('a').textContent, 'Fjord'))",
    "all hidden": "list.style.cssText = 'HIDING'",
    "floats": "for (const each of list.children) each.style.cssText = 'float: right; width: 100px'",
}
HONEST = {
    "plain": {},
    "a grid": {"style": "ul { display: grid; grid-template-columns: repeat(3, 1fr) }"},
    "cards of several heights": {
        "style": "ul { display: flex; flex-wrap: wrap } li { width: 40% } li:nth-child(2n) { height: 65px; padding-top: 9px }"
    },
    "a sticky header": {
        "above": "<div style='position:sticky;top:0;background:white;height:50px'>Boutique</div>"
    },
    "a carousel": {
        "style": "main { overflow: hidden; width: 300px } ul { display: flex; width: 2000px } li { width: 140px }"
    },
    "a carousel that wraps its slides": {
        "script": "for (const each of [...document.querySelectorAll('li.carte')]) { const box = document.createElement('div'); each.replaceWith(box); box.append(each); }"
    },
    "a strip of what was viewed": {
        "below": f"<aside><ul>{CARD.format('Ember')}{CARD.format('Amber')}</ul></aside>"
    },
    "a column of what was viewed": {
        "above": f"<aside style='float:left;width:200px'><ul>{CARD.format('Ember')}{CARD.format('Zinc')}</ul></aside>"
    },
    "the direction of reading": {"dir": " dir=rtl", "style": "ul { display: flex } li { width: 100px }"},
    "more comes later": {
        "script": f"document.querySelector('#liste').insertAdjacentHTML('beforeend', `{CARD.format('Fjord')}`)"
    },
    "the end is folded": {"style": "#liste li:nth-child(n + 5) { display: none }"},
}


def page_of(**parts: str) -> str:
    told = dict.fromkeys(("dir", "style", "above", "below", "script"), "") | parts
    return PAGE.format(cards="".join(map(CARD.format, NAMES)), **told)


async def look(
    page: Page, kind: Kind, html: str, view: View, names: tuple[str, ...] = (*NAMES, "Fjord")
) -> tuple[str, int, tuple[str, ...]]:
    """Why a trial does not count, what could not be checked, and those of `names` that are seen, in order."""
    product = f"lampe?id={kind.product.lower()}" if kind.product else None
    body, session = treated(html, SITE, edit_from_dict(kind.edit), of=product, url=URL, product=None)
    await page.goto("about:blank")
    await page.set_content(body)
    seen = await observe(page, view, (), ObservationQuery(order_spots(SITE)))
    sight = ProductObservation("", seen.html, seen.standing, URL)
    keys = [f"lampe?id={name.lower()}" for name in NAMES]
    if view.screenshot:
        places = {name: await place_of(page, name) for name in names}
        found = sorted((at[1] // 20, at[0], name) for name, at in places.items() if at)
    else:
        found = sorted((at, 0, name) for name in names if (at := seen.html.find(f">{name}<")) >= 0)
    shown = tuple(name for *_, name in found)
    return untreated([sight], session, keys), len(unchecked([sight], session)), shown


@pytest.mark.parametrize("kind", usual(KINDS, 2))
async def test_an_order_that_the_screen_does_not_show_does_not_count(page: Page, kind: str) -> None:
    made, rng = KINDS[kind], random.Random(kind)
    assert await look(page, made, page_of(), View(screenshot=True)) == ("", 0, made.order)
    wrong = []
    for _ in range(CASES):
        name = rng.choice(list(ATTACKS))
        code = ATTACKS[name].replace("HIDING", rng.choice(HIDING))
        moved = f"[...document.querySelectorAll('li')].find((each) => each.textContent.includes('{made.product or made.order[1]}'))"
        script = f"const t = {moved}, list = t.parentElement; {code}"
        reason, _, names = await look(page, made, page_of(script=script), View(screenshot=rng.random() < 0.5))
        if not reason and names[: made.first] != made.order[: made.first]:
            wrong.append((name, code, names))
    assert not wrong


@pytest.mark.parametrize("shop", usual(HONEST, 3))
async def test_honest_lists_count(page: Page, shop: str) -> None:
    grows = shop == "more comes later"
    for made in (each for each in KINDS.values() if not (grows and "results" in each.edit)):
        for view in (View(screenshot=True), View(), View(page="whole")):
            reason, not_checked, _ = await look(page, made, page_of(**HONEST[shop]), view, ())
            assert (reason, not_checked) == ("", 0)
