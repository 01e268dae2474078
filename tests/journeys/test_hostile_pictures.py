"""Generated attacks on a product's picture: the oracle is the colour of the pixels on the screen."""

# ruff: noqa: E501 - scripts and markup stand as they run

import io
import random

import pytest
from PIL import Image
from playwright.async_api import Page
from starlette.responses import Response

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import untreated
from interventions.edits.set_image import SetImage
from interventions.yaml.sitemap import SiteMap
from tests.journeys.screen import colours
from tests.journeys.test_hostile_pages import HARMLESS, HIDING
from tests.journeys.treated import KEY, treated
from tests.support import Answer, pages, size

pytestmark = pytest.mark.browser

CASES = size(4, 60)
SITE = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "#fiche"}},
        "roles": {
            "product.image": [{"css": "#photo", "attribute": "src"}],
            "item": [{"css": "li.carte"}],
            "item.link": [{"css": "a", "attribute": "href"}],
        },
    }
)
CARDS = card_spots((), SITE, all_kinds=True)
OLD, NEW = (200, 30, 30), (30, 30, 200)
PAGE = """<!doctype html><html lang=en><head><title>Boutique</title><style>
body {{ margin: 8px; background: white; font: 16px sans-serif; height: 2600px }} {style}
</style></head><body><div id=haut>A shop</div>{above}<section id=fiche><h2>Lamp</h2>{picture}<p id=bas>Red</p></section>
{below}<script>{script}</script></body></html>"""
PLAIN = "<img id=photo src=/old.png width=60 height=60 alt=Lamp>"
HIDINGS = [style for style in HIDING if style != "filter: invert(1)"]  # it is the same picture
# `t` is the picture.
GALLERY = "const c = new Image(60, 60); c.src = t.src; t.replaceWith(c)"
ATTACKS = {
    "undo": "t.src = '/old.png'; await t.decode()",
    "another source": "t.srcset = '/old.png 1x, /old.png 2x'; await t.decode()",
    "replaced by style": "t.style.content = 'url(/old.png)'; await new Image(9, 9).decode.call(Object.assign(new Image(), {src: '/old.png'}))",
    "broken": "t.src = '/none.png'; await t.decode().catch(() => 0)",
    "gone": "t.remove()",
    "hide": "t.style.cssText += ';HIDING'",
    "hide around": "t.parentElement.style.cssText += ';HIDING'",
    "out of its box": "t.style.cssText += ';object-position: 500px; object-fit: none'",
    "cover": "document.body.insertAdjacentHTML('beforeend', '<div STATE style=\"position:fixed;inset:0;background:white\"></div>')",
    "cover through": "document.body.insertAdjacentHTML('beforeend', '<div style=\"position:fixed;inset:0;background:white;pointer-events:none\"></div>')",
    "beside": "const c = new Image(60, 60); c.src = '/old.png'; t.after(c); await c.decode()",
    "behind": "document.querySelector('#bas').style.cssText = 'background: url(/old.png); height: 60px'; const c = new Image(); c.src = '/old.png'; await c.decode()",
    "hide in a gallery": f"{GALLERY}; c.style.cssText = 'HIDING'",
    "a gallery with the old one": f"{GALLERY}; const d = new Image(60, 60); d.src = '/old.png'; c.after(d); await d.decode()",
    "a gallery of the old one": f"{GALLERY}; c.src = '/old.png'; await c.decode()",
    "below": "document.querySelector('#fiche').style.marginTop = '1500px'",
    "harmless": "t.style.cssText += ';HARMLESS'",
    "nothing": "",
}
HONEST = {
    "a gallery of scripts": {"script": f"const t = document.querySelector('#photo'); {GALLERY}"},
    "plain": {},
    "lazy": {"picture": "<img id=photo loading=lazy src=/old.png width=60 height=60 alt=Lamp>"},
    "lazy by a script": {
        "picture": "<img id=photo src=/old.png data-src=/old.png width=60 height=60 alt=Lamp>",
        "script": "const t = document.querySelector('#photo'); t.src = t.dataset.src",
    },
    "several sizes": {
        "picture": "<picture><source srcset='/old.png 1x, /old.png 2x'><img id=photo src=/old.png width=60 height=60></picture>"
    },
    "rounded": {"style": "#photo { border-radius: 30px; object-fit: cover }"},
    "a carousel": {
        "picture": f"<div style='width:60px;overflow:hidden'><div style='display:flex;width:300px'>{PLAIN}<img src=/side.png width=60></div></div>"
    },
    "pictures of others": {
        "below": "<ul><li class=carte><a href='/lampe?id=8'><img src=/old.png width=60 height=60></a></li></ul>"
    },
    "a sticky header": {
        "above": "<div style='position:sticky;top:0;background:white;height:40px;z-index:9'>Boutique</div>"
    },
    "under a link": {
        "style": "#fiche { position: relative }",
        "below": "<a href=# style='position:absolute;inset:0'></a>",
    },
}


def png(colour: tuple[int, int, int]) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (60, 60), colour).save(written, "PNG")
    return written.getvalue()


async def look(page: Page, view: View, script: str = "", **parts: str) -> tuple[str, bool, bool]:
    """Why a trial does not count; whether the screen shows the new picture, and the old one."""
    strike = f"const t = document.querySelector('#photo'); (async () => {{ {script} }})().then(() => {{ window.struck = true; }})"
    told = {"style": "", "above": "", "below": "", "picture": PLAIN, "script": ""} | parts
    told["script"] += (
        f";{strike}" if script or "script" not in parts else f"; {strike.replace('const t', 'const u')}"
    )
    answers: dict[str, Answer] = {
        path: Response(png(colour), media_type="image/png")
        for path, colour in (("/old.png", OLD), ("/new.png", NEW), ("/side.png", (30, 200, 30)))
    }
    async with pages(answers) as shop:
        url = f"{shop}{KEY}"
        answers["/lampe"], session = treated(PAGE.format(**told), SITE, SetImage("/new.png"), url=url)
        await page.goto(url)
        await page.wait_for_function("window.struck")
        wanted = ObservationQuery(
            tuple(SetImage("/new.png").spots(SITE)), own=True, pictures=True, cards=CARDS
        )
        seen = await observe(page, view, (), wanted)
        found = await colours(page)
        reason = untreated([ProductObservation(KEY, seen.html, seen.standing, url)], session, [KEY])
        return reason, found.get(NEW, 0) > 200, found.get(OLD, 0) > 200


async def test_a_picture_that_the_screen_does_not_show_does_not_count(page: Page) -> None:
    rng, wrong = random.Random(0), []
    for number in range(max(CASES, len(ATTACKS))):
        name = list(ATTACKS)[number % len(ATTACKS)]
        code = ATTACKS[name].replace("HIDING", rng.choice(HIDINGS)).replace("HARMLESS", rng.choice(HARMLESS))
        reason, new, old = await look(
            page, View(screenshot=True), code.replace("STATE", rng.choice(["", "inert"]))
        )
        if (not reason and (not new or old)) or (reason and name in ("harmless", "nothing")):
            wrong.append((name, code, reason, new, old))
    assert not wrong


async def test_without_pictures_an_agent_needs_the_address(page: Page) -> None:
    for name in ("undo", "another source", "gone"):
        assert (await look(page, View(), ATTACKS[name]))[0]
    assert not (await look(page, View(), ATTACKS["below"]))[0]


@pytest.mark.parametrize("shop", HONEST)
async def test_honest_pictures_count(page: Page, shop: str) -> None:
    reason, new, _ = await look(page, View(screenshot=True), **HONEST[shop])
    assert (reason, new) == ("", True)
