"""Whatever a page's script does to the edits: the check says what Playwright reads on the page."""

import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.async_api import Page

from environments.browser.pool import run_browsers
from environments.observation.observe import Wanted, observe
from environments.observation.views import View
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import Sight
from experiments.treatment.treatment_check import shows_on_own_page, untreated
from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.insert_text import InsertText
from interventions.edits.remove import Remove
from interventions.edits.set_price import SetPrice
from interventions.edits.set_reviews import SetReviews
from interventions.yaml.sitemap import load_site_map
from proxy.session import Session
from proxy.shown_page import ShownPage
from tests.interventions.shop_pages import HOST, HTML, KEY, product_page
from tests.support import pages, size

SITE = load_site_map("onestopmarket")
NUDGE = "Only two left"
OLD, NEW = "$19.99", "$9.99"
EDITS = (
    InsertText(after="product.title", text=NUDGE),
    SetPrice(9.99),
    SetReviews(43),
    Remove("product.stock"),
)
WANTED = Wanted(
    tuple(spot for edit in EDITS if shows_on_own_page(edit, SITE) for spot in edit.spots(SITE)),
    own=True,
    cards=card_spots(EDITS, SITE, all_kinds=True),
)
HERE = "document.querySelector"
SCRIPTS = {
    "the nudge goes": f"{HERE}('.product-title-details')?.remove()",
    "the nudge goes to the end": f"{HERE}('main').append({HERE}('.product-title-details') ?? '')",
    "the nudge goes before the title": f"{HERE}('main').prepend({HERE}('.product-title-details') ?? '')",
    "the nudge is hidden": f"{HERE}('.product-title-details')?.style.setProperty('display', 'none')",
    "the nudge says more": f"{HERE}('.product-title-details')?.append(' in 2030')",
    "the nudge stands elsewhere": f"{HERE}('main').insertAdjacentHTML('beforeend', '<p>{NUDGE}</p>')",
    "the nudge comes again": f"""{HERE}('.page-title-wrapper').insertAdjacentHTML('afterend',
        '<h2 class="product-title-details">{NUDGE}</h2>')""",
    "the price is old": f"{HERE}('span.price').textContent = '{OLD}'",
    "the price is another": f"{HERE}('span.price').textContent = '$29.99'",
    "the price is new": f"{HERE}('span.price').textContent = '{NEW}'",
    "the price is old for programs": f"{HERE}('span.price-wrapper').dataset.priceAmount = '19.99'",
    "the price goes": f"{HERE}('span.price').remove()",
    "the old price stands elsewhere": f"{HERE}('main').insertAdjacentHTML('beforeend', '<p>Now {OLD}</p>')",
    "a longer price stands elsewhere": f"{HERE}('main').insertAdjacentHTML('beforeend', '<p>1{OLD}9</p>')",
    "the new price stands elsewhere": f"{HERE}('main').insertAdjacentHTML('beforeend', '<p>Now {NEW}</p>')",
    "the reviews are old": f"{HERE}('a.action.view').textContent = '12 Reviews'",
    "the counter is old": f"{HERE}('span.counter:not(.qty)').textContent = '12'",
    "the stock is back": f"{HERE}('div.stock').innerHTML = '<span>In stock</span>'",
    "something else comes": f"{HERE}('main').insertAdjacentHTML('beforeend', '<p>Thank you</p>')",
}


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with run_browsers() as browsers, browsers.context(None) as context:
        yield await context.new_page()


async def reading(page: Page) -> set[str]:
    """Which edits the page does not show, as Playwright finds it."""
    following = "xpath=//div[contains(@class, 'page-title-wrapper')]/following-sibling::*"
    nudges = page.locator(f"{following}[normalize-space(.) = '{NUDGE}' and contains(@class, '-details')]")
    seen = [await each.is_visible() for each in await nudges.all()]
    prices = await page.locator("div.product-info-main span.price").all_text_contents()
    amount = await page.locator("span.price-wrapper").get_attribute("data-price-amount")
    reviews = await page.locator("a.action.view").all_text_contents()
    reviews += await page.locator("a#tab-label-reviews-title span.counter").all_text_contents()
    text = await page.locator("body").inner_text()
    shown = {
        "nudge": any(seen),
        "price": [price.strip() for price in prices] == [NEW] and amount == "9.99",
        "reviews": all(re.findall(r"\d+", each) == ["43"] for each in reviews),
        "old price": not re.search(r"(?<![\d.,])19\.99(?!\d)", text),
        "stock": await page.locator("div.stock > span").count() == 0,
    }
    return {name for name, is_shown in shown.items() if not is_shown}


@settings(max_examples=size(15, 500), deadline=None, suppress_health_check=list(HealthCheck))
@given(done=st.lists(st.sampled_from(sorted(SCRIPTS)), max_size=3))
async def test_the_check_says_what_the_page_shows(done: list[str], page: Page) -> None:
    plan = Plan((Treatment("all", KEY, EDITS),))
    treated = rewrite(product_page(), content_type=HTML, url=f"{HOST}{KEY}.html", plan=plan, site=SITE)
    session = Session(plan, SITE)
    session.note_receipts(treated.receipts)
    session.note_page(ShownPage(f"{HOST}{KEY}.html", HTML, treated.body, KEY))
    async with pages({"/": treated.body}) as url:
        await page.goto(url)
        for name in done:
            await page.evaluate(
                f"() => {{ try {{ {SCRIPTS[name]} }} catch {{}} }}"
            )  # what is gone cannot change
        shown = await observe(page, View(page="whole"), (), WANTED)
        plain = await observe(page, View(page="whole"), ())
        missing = await reading(page)
    assert shown.html == plain.html, "the agent is given the same, whatever is read besides"
    reason = untreated([Sight(KEY, shown.html, shown.standing)], session, [KEY])
    assert bool(reason) == bool(missing), (reason, missing)
