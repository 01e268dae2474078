"""A text behind a label, in Chromium: nobody sees it until the label is pressed, and then everybody does."""

from typing import Final

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import VIEWS
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import untreated
from interventions.edits.registry import edit_from_dict
from tests.journeys.screen import is_on_screen, is_read
from tests.journeys.test_hostile_pages import PAGE, SITE
from tests.journeys.treated import KEY, treated

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT: Final = "A warm light for long evenings."
BEHIND: Final = {
    "": "",
    "d.open = true": "",
    "d.replaceWith(...d.childNodes)": "is gone",
    "d.after(d.lastChild)": "is gone",
    "d.lastChild.remove()": "is gone",
    "d.firstChild.textContent = 'Less'": "is gone",
}


@pytest.mark.parametrize("way", ["both", "tree"])
async def test_it_is_seen_only_once_it_is_opened(way: str, page: Page) -> None:
    edit = edit_from_dict({"collapse": {"role": "product.description", "label": "Details"}})
    body, session = treated(PAGE.format(script=""), SITE, edit)
    view, wanted = VIEWS[way], ObservationQuery(tuple(edit.spots(SITE)), own=True)
    for script, reason in BEHIND.items():
        await page.set_content(body)
        await page.evaluate(f"() => {{ const d = document.querySelector('details'); {script} }}")
        seen = await observe(page, view, (), wanted)
        sight = ProductObservation(KEY, seen.html or seen.tree, seen.standing, as_tree=not seen.html)
        assert reason in (said := untreated([sight], session, [KEY])) and bool(reason) == bool(said)
        if script in ("", "d.open = true"):
            assert is_read(seen.html or seen.tree, TEXT) == bool(script)
            assert await is_on_screen(page, TEXT) == bool(script)
            await page.click("summary")
            assert await is_on_screen(page, TEXT) != bool(script)
