"""An option that is chosen from the start, in Chromium: it is seen and sent, and a script undoes it."""

from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import VIEWS
from environments.shop.catalogue import generate
from environments.shop.shop import Shop
from experiments.executors.browser import open_testbed
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import untreated
from interventions.apply.engine import EditFailed
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.edits.set_default import SetDefault
from interventions.yaml.sitemap import SiteMap, load_site_map
from proxy.session import Session
from tests.journeys.treated import KEY, treated

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SITE: Final = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "h1"}},
        "roles": {"product.title": [{"css": "h1"}], "product.option": [{"css": "#list > *, #menu > option"}]},
    }
)
RADIOS: Final = "".join(f"<label><input type=radio name=c value={c}>{c}</label>" for c in ("Red", "Blue"))
PAGE: Final = f"""<!doctype html><html><body><h1>Lamp</h1><form><div id=list>{RADIOS}</div>
<select id=menu name=s><option>Choose</option><option>Small</option><option>Large</option></select></form>"""
ATTACKS: Final = {
    "": "",
    "list.querySelector('[value=Red]').checked = menu.options[1].selected = true": "was not shown",
    "list.innerHTML = `RADIOS`; menu.innerHTML = '<option>Small</option>'": "is gone",
    "const [f] = document.forms; f.innerHTML = f.innerHTML.replace(/ (checked|selected)=.../, '')": "is gone",
    "list.querySelector('[value=Red]').defaultChecked = menu.options[1].defaultSelected = true": "is gone",
}


@pytest.mark.parametrize("way", ["both", "tree", "screenshot"])
@pytest.mark.parametrize("value", ["Blue", "Large"])
async def test_it_is_chosen_and_seen(value: str, way: str, page: Page) -> None:
    edit = SetDefault(value=value)
    body, session = treated(PAGE, SITE, edit)
    for script, reason in ATTACKS.items():
        await page.set_content(body)
        await page.evaluate(f"() => {{ {script.replace('RADIOS', RADIOS)} }}")
        seen = await observe(page, VIEWS[way], (), ObservationQuery(tuple(edit.spots(SITE)), own=True))
        sight = ProductObservation(KEY, seen.html or seen.tree, seen.standing, as_tree=VIEWS[way].tree)
        said = untreated([sight], session, [KEY])
        assert (reason in said) if reason else not said, (script, said)


@pytest.mark.parametrize(
    ("body", "value", "reason"),
    [
        (PAGE, "Green", '0 options are "Green"; there are: Red, Blue, Choose, Small, Large'),
        (PAGE.replace("value=Red", "value=Red checked"), "Blue", "a default of its own"),
        (PAGE.replace("<option>C", "<option selected>C"), "Large", "a default of its own"),
        (PAGE.replace("value=Blue", "value=Blue disabled"), "Blue", "no option that can be chosen"),
        (PAGE.replace("<input type=radio", "<input type=checkbox"), "Blue", "no option that can be chosen"),
    ],
)
def test_what_cannot_be_chosen(body: str, value: str, reason: str) -> None:
    with pytest.raises(EditFailed, match=reason):
        treated(body, SITE, SetDefault(value=value))


async def test_who_leaves_it_buys_it(tmp_path: Path) -> None:
    product = next(each for each in generate().products if len(each.options) == 1 and each.in_stock)
    value = product.options[0].values[-1].title
    edit, site = edit_from_dict({"set_default": {"value": value}}), load_site_map("onestopmarket")
    async with open_testbed(tmp_path, Shop()) as testbed:
        slot = await testbed.proxy.open_slot()
        slot.session = Session(Plan((Treatment("chosen", product.key, (edit,)),)), site)
        async with testbed.browsers.context(slot.url) as context:
            page = await context.new_page()
            await page.goto(f"{testbed.base_url}{product.key}.html")
            assert " checked" in (await observe(page, VIEWS["html"], ())).html
            await page.click("#product-addtocart-button")
            await page.wait_for_selector("div.message-success")
            await page.goto(f"{testbed.base_url}checkout/cart/")
            assert value in await page.inner_text("#shopping-cart-table")
