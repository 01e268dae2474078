"""Looks without words, in Chromium: what pictures show, what readers are given, and what a script undoes."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, PageObservation, observe
from environments.observation.views import VIEWS, Modality, View
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import NOT_GIVEN, placed, shows_on_own_page, sights, untreated
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import parse_yaml
from tests.journeys.treated import KEY, treated
from tests.support import usual

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SITE: Final = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "h1"}},
        "roles": {
            "product.title": [{"css": "h1"}],
            "item": [{"css": "li"}],
            "item.link": [{"css": "a", "attribute": "href"}],
            "item.title": [{"css": "b"}],
        },
    }
)
OWN: Final = """<!doctype html><html lang=en><head><title>Boutique</title><style>
h1, li { background: silver !important; padding: 8px }</style></head>
<body><h1 style="margin: 9px">Harbour Lamp</h1><p>$19.99</p></body></html>"""
CARDS: Final = (
    f"<ul><li><a href='/{KEY}'><b>Harbour Lamp</b></a></li><li><a href='/x'><b>Pier</b></a></li></ul>"
)
PAGES: Final = {
    "product.title": OWN,
    "item": OWN.replace("h1", "h2").replace("h2, li", "li").replace("<p>", f"{CARDS}<p>"),
}
LOOKS: Final[dict[str, Any]] = {
    "background": "yellow",
    "colour": "red",
    "border": "blue",
    "scale": 1.2,
    "opacity": 0.3,
    "blur": 1.5,
    "font": "monospace",
    "size": 12.5,
    "shadow": True,
}
ATTACKS: Final = {
    "": "",
    "t.style.display = 'block'": "",
    "t.removeAttribute('style')": "style is gone",
    "t.style.cssText += '; LOOK: initial !important'": "style is gone",
    "t.style.marginTop = '3000px'": "was not shown",
}


@pytest.mark.parametrize("role", PAGES)
@pytest.mark.parametrize("look", LOOKS)
async def test_a_look_is_in_the_picture_alone(look: str, role: str, page: Page) -> None:
    edit = edit_from_dict({"style": {"role": role, look: LOOKS[look]}})
    spots = tuple(edit.spots(SITE)) if shows_on_own_page(edit, SITE) else ()
    wanted = ObservationQuery(spots, cards=card_spots((edit,), SITE, all_kinds=False))
    key, url = (KEY, f"http://boutique.test/{KEY}") if spots else ("", "http://boutique.test/lampes")
    body, session = treated(PAGES[role], SITE, edit, url=url, product=key or None)

    async def look_at(markup: str, view: View, script: str = "") -> PageObservation:
        await page.goto("about:blank")  # marks are counted anew
        await page.set_content(markup)
        await page.evaluate(f"() => {{ const t = document.querySelector('h1, li'); {script} }}")
        return await observe(page, view, (), wanted)

    for view in (VIEWS["both"], VIEWS["html"]):
        plain, shown = await look_at(PAGES[role], view), await look_at(body, view)
        assert shown.html == plain.html, "no word of it"
        assert (shown.screenshot == plain.screenshot) != view.screenshot
        sight = ProductObservation(key, shown.html, shown.standing, url)
        assert {box.why == NOT_GIVEN for box in placed([sight], session)} == {not view.screenshot}
        for attack, reason in ATTACKS.items():
            script = attack.replace("LOOK", session.receipts[0].after.partition(":")[0])
            seen = await look_at(body, view, script)
            said = untreated([ProductObservation(key, seen.html, seen.standing, url)], session, [KEY])
            # A card that was never in view lacks nothing.
            is_wrong = reason and not (role == "item" and reason == "was not shown")
            assert (reason in said) if is_wrong else not said, (attack, view, said)


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Testbed]:
    async with open_testbed(tmp_path_factory.mktemp("looks"), Shop()) as testbed:
        yield testbed


@pytest.mark.parametrize("modality", usual(["screenshot", "html", "tree", "marks"], 2))
@pytest.mark.parametrize("nudge", usual(["scale-120", "image-blur", "card-faint", "text-colour"], 2))
async def test_a_card_of_the_shop(nudge: str, modality: Modality, testbed: Testbed, tmp_path: Path) -> None:
    experiment = {
        "name": "looks",
        "goal": "Add the best product to the cart.",
        "task": "listing",
        "observation": modality,
        "options": {"pairing": "price-adjacent", "set_size": 2, "sets": 1},
        "factors": {"nudge": {"interventions": "looks", "only": [nudge], "on": ["each"]}},
    }
    design = ShopDesign(parse_yaml(yaml.safe_dump(experiment), str(tmp_path / "x.yaml")))
    notes = [note for note in design.notes(["simulated:looker"]) if f"is given nothing of {nudge}" in note]
    assert bool(notes) != VIEWS[modality].screenshot
    episodes = ShopTrialRunner(design, testbed.base_url)
    trial, slot = next(design.trials(["simulated:looker"])), await testbed.proxy.open_slot()
    session = slot.session = episodes.session(trial)
    async with testbed.browsers.context(slot.url) as context:
        trajectory = await episodes.episode(trial, episodes.agent(trial), context, session)
    assert trajectory.outcome == "choice", trajectory.reason
    boxes = [
        box for box in placed(sights(trajectory, design, trial, session), session) if box.edit == "style"
    ]
    assert boxes
    assert all(
        (box.why == NOT_GIVEN) != VIEWS[modality].screenshot for box in boxes if box.why != "out of view"
    )
