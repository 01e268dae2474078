"""A review that is added, on the embedded shop's own pages, through the real proxy, in Chromium.

The oracle reads the reviews as the browser shows them, with and without the edit.
"""

from collections.abc import AsyncIterator
from typing import Final

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from environments.shop.catalogue import generate
from environments.shop.shop import Shop
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import placed, unchecked, untreated
from interventions.apply.plan import Plan, Treatment
from interventions.edits.review import Review
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from proxy.session import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SITE: Final = load_site_map("embedded")
PRODUCT: Final = next(each for each in generate().products if 10 < each.reviews < 20)
UNRATED: Final = next(each for each in generate().products if not each.reviews)
READ: Final = """() => [...document.querySelectorAll("li.review-item")].map((item) => ({
  text: item.querySelector(".review-content").innerText, stars: item.querySelector(".rating-result").title,
  width: item.querySelector(".rating-result > span").style.width,
  rating: item.querySelector("[itemprop=ratingValue]").textContent,
  author: item.querySelector("[itemprop=author]").innerText, heading: !!item.querySelector(".review-title"),
  ids: [...item.querySelectorAll("[id]")].map((each) => each.id)}))"""
TEXT: Final = 'Warm & "soft": <b>I</b> like it'
ADDED: Final = {
    "text": TEXT, "stars": "40%", "width": "40%", "rating": "40%", "author": "Æ. O’Neil", "heading": False,
}  # fmt: skip


def review(rank: int) -> Review:
    return Review(text=TEXT, stars=2, author="Æ. O’Neil", rank=rank)


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Testbed]:
    async with open_testbed(tmp_path_factory.mktemp("reviews"), Shop()) as testbed:
        yield testbed


async def look(page: Page, session: Session, edit: Review) -> ProductObservation:
    wanted = ObservationQuery(own=True, cards=card_spots((edit,), SITE, all_kinds=True))
    seen = await observe(page, View(screenshot=True), (), wanted)
    return ProductObservation(PRODUCT.key, seen.html, seen.standing, page.url)


async def opened(page: Page, url: str) -> list[dict[str, object]]:
    await page.goto(url)
    await page.click("#tab-label-reviews-title")
    await page.wait_for_selector("[data-loaded=true]")
    return await page.evaluate(READ)


@pytest.mark.parametrize("rank", [1, 4, 10, 99])
async def test_a_review_stands_at_its_rank_on_the_first_page_and_looks_like_the_others(
    rank: int, testbed: Testbed
) -> None:
    edit, url = review(rank), f"{testbed.base_url}{PRODUCT.key}.html"
    slot = await testbed.proxy.open_slot()
    async with testbed.browsers.context(slot.url) as context:
        page = await context.new_page()
        slot.session = Session(Plan(), SITE)
        plain = await opened(page, url)
        slot.session = session = Session(Plan((Treatment("told", PRODUCT.key, (edit,)),)), SITE)
        shown = await opened(page, url)
        at = min(rank - 1, len(plain))
        added = shown.pop(at)
        assert shown == plain and len(plain) == 10
        ids = added.pop("ids")
        assert added == ADDED and not set(ids) & {id for each in plain for id in each["ids"]}
        (receipt,) = session.receipts
        assert (receipt.edit, receipt.role, receipt.product) == ("review", "reviews.text", PRODUCT.key)
        await page.locator("li.review-item").nth(at).scroll_into_view_if_needed()
        sight = await look(page, session, edit)
        assert untreated([sight], session, [PRODUCT.key]) == "" and unchecked([sight], session) == []
        assert [(each.edit, each.why) for each in placed([sight], session)] == [("review", "")]
        await page.click("#customer-reviews a.action.next")
        await page.wait_for_function("document.querySelectorAll('li.review-item').length < 10")
        assert TEXT not in {each["text"] for each in await page.evaluate(READ)}
        assert untreated([await look(page, session, edit)], session, [PRODUCT.key]) == ""
    assert not session.failures


@pytest.mark.parametrize("script", ["e.remove()", "e.querySelector('.review-content').textContent = 'Bad'"])
async def test_a_review_that_scripts_undo_is_told(script: str, testbed: Testbed) -> None:
    edit, slot = review(1), await testbed.proxy.open_slot()
    slot.session = session = Session(Plan((Treatment("told", PRODUCT.key, (edit,)),)), SITE)
    async with testbed.browsers.context(slot.url) as context:
        page = await context.new_page()
        await opened(page, f"{testbed.base_url}{PRODUCT.key}.html")
        await page.evaluate(f"(() => {{ const e = document.querySelector('li.review-item'); {script} }})()")
        await page.locator("li.review-item").first.scroll_into_view_if_needed()
        reason = untreated([await look(page, session, edit)], session, [PRODUCT.key])
    assert reason.startswith("told: review is gone: no review says")


async def test_who_never_opens_the_reviews_is_treated_and_has_no_receipt(testbed: Testbed) -> None:
    edit, slot = review(1), await testbed.proxy.open_slot()
    slot.session = session = Session(Plan((Treatment("told", PRODUCT.key, (edit,)),)), SITE)
    async with testbed.browsers.context(slot.url) as context:
        page = await context.new_page()
        await page.goto(f"{testbed.base_url}{PRODUCT.key}.html")
        assert untreated([await look(page, session, edit)], session, [PRODUCT.key]) == ""
    assert not session.receipts


async def test_the_page_of_a_product_without_reviews_is_not_shown(testbed: Testbed) -> None:
    slot = await testbed.proxy.open_slot()
    slot.session = session = Session(Plan((Treatment("told", UNRATED.key, (review(1),)),)), SITE)
    async with testbed.browsers.context(slot.url) as context:
        page = await context.new_page()
        answer = await page.goto(f"{testbed.base_url}{UNRATED.key}.html")
    assert answer is not None and answer.status == 502
    assert "the product has no reviews" in session.failures[0]


def test_the_shipped_reviews_are_of_one_length() -> None:
    edits = [each.edits[0] for each in load_interventions("reviews", SITE).interventions]
    assert {(len(edit.text), edit.stars, edit.author) for edit in edits} == {(102, 5, "Robin M.")}
