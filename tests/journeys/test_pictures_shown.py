"""Scrolled, resized and covered pages: an edit counts only where it stands in the picture that was sent.

The oracle is the picture itself: the edit's text has a colour of its own, whose pixels are counted.
"""

import io
import random

import pytest
from PIL import Image
from playwright.async_api import FloatRect, Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import VIEWS, View
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import untreated
from interventions.edits.insert_text import InsertText
from interventions.yaml.sitemap import SiteMap
from tests.journeys.treated import KEY, treated
from tests.support import Answer, pages, size

pytestmark = pytest.mark.browser

CASES = size(15, 500)
CORNER: FloatRect = {"x": 0, "y": 0, "width": 900, "height": 1_500}
"""Where the whole edit is, once nothing holds it."""
SITE = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "#fiche"}},
        "roles": {"product.title": [{"css": "h2"}]},
    }
)
WORDS = "Praised by everybody who reads"
EDIT = InsertText.model_validate({"after": "product.title", "text": WORDS})
PAGE = """<!doctype html><html lang=en><head><title>Boutique</title><style>
body {{ margin: 0; background: white; font: 16px sans-serif; height: 6000px }}
#fiche {{ position: absolute; top: {top}px; left: {left}px; width: {width}px }}
#box {{ height: {height}px; overflow: {overflow} }}
#fiche [class$="-details"] {{ font-size: {letters}px; color: #e00000 }}
#cover {{ position: fixed; background: white; left: {x}px; top: {y}px; width: {wide}px; height: {high}px }}
</style></head><body><section id=fiche><div id=box><h2>Lamp</h2></div></section>
<div id=cover></div></body></html>"""


def red(picture: bytes) -> int:
    """How many pixels are red, or reddish as the edges of letters are."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    return sum(
        count
        for count, (r, g, b) in image.getcolors(image.width * image.height) or ()
        if r > 180 and g < 140 and b < 140 and (r, g, b) != (198, 40, 40)
    )


def drawn(rng: random.Random) -> dict[str, object]:
    return {
        "top": rng.randrange(0, 2500),
        "left": rng.choice([0, 100, 500, 900, 1200]),
        "width": rng.choice([90, 300, 800]),
        "height": rng.choice(["500", "10", "40", "90"]),
        "overflow": rng.choice(["visible", "hidden"]),
        "letters": rng.choice([2, 5, 9, 12, 16, 30]),
        "x": rng.randrange(0, 900),
        "y": rng.randrange(0, 700),
        "wide": rng.choice([0, 200, 900]),
        "high": rng.choice([0, 30, 400]),
    }


async def look(page: Page, told: dict[str, object], view: View, scroll: int) -> tuple[str, int, int]:
    """Why a trial does not count; the red pixels of the picture that was sent, and of the whole edit."""
    answers: dict[str, Answer] = {}
    async with pages(answers) as shop:
        url = f"{shop}{KEY}"
        answers["/lampe"], session = treated(PAGE.format(**told), SITE, EDIT, url=url)
        await page.goto(url)
        await page.evaluate("(top) => scrollTo(0, top)", scroll)
        seen = await observe(page, view, (), ObservationQuery(tuple(EDIT.spots(SITE)), own=True))
        reason = untreated([ProductObservation(KEY, seen.html, seen.standing, url)], session, [KEY])
        await page.evaluate(
            """() => { cover.remove(); box.style.overflow = "visible"; scrollTo(0, 0);
            fiche.style.left = fiche.style.top = "0px" }"""
        )
        whole = await page.screenshot(full_page=True, clip=CORNER)  # the page has 6,000 pixels of white
        return reason, red(seen.screenshot), red(whole)


@pytest.mark.timeout(size(300, 1_500))
async def test_a_trial_counts_only_where_the_edit_is_in_the_picture(page: Page) -> None:
    rng, wrong, counted = random.Random(0), [], 0
    for _ in range(CASES):
        await page.set_viewport_size(
            {"width": rng.choice([400, 800, 1280]), "height": rng.choice([200, 500, 720])}
        )
        told, name = drawn(rng), rng.choice(["screenshot", "marks"])
        scroll = max(0, int(str(told["top"])) + rng.randrange(-800, 200))
        reason, sent, whole = await look(page, told, VIEWS[name], scroll)
        counted += not reason
        if not reason and sent < 0.35 * whole:
            wrong.append(("counted", told, scroll, name, sent, whole))
        if reason and whole > 200 and sent >= whole and int(str(told["letters"])) >= 9:
            wrong.append((reason, told, scroll, name, sent, whole))
    assert not wrong
    assert counted > CASES / 20
