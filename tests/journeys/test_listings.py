"""Lists of the embedded shop that are cut and sorted, through the real proxy, in Chromium."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from environments.shop.catalogue import generate
from environments.shop.shop import Shop
from experiments.designs.shop.listing import ShowOnly
from experiments.executors.browser import Testbed, open_testbed
from experiments.treatment.card_check import card_spots
from experiments.treatment.list_order import order_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import untreated
from interventions.apply.plan import Plan, Treatment
from interventions.edits.base import Edit
from interventions.edits.insert_item import InsertItem
from interventions.edits.link_to import LinkTo
from interventions.edits.results import Results
from interventions.edits.sort_default import SortDefault
from interventions.yaml.sitemap import load_site_map
from proxy.session import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SITE: Final = load_site_map("embedded")
LIST: Final = next(each for each in generate().categories if not each.children).url
READ: Final = """() => ({control: document.querySelector("#sorter")?.selectedOptions[0].text,
  cards: [...document.querySelectorAll("ol.products > li")].map((card) => ({
    name: card.querySelector("a.product-item-link").innerText.trim(),
    link: new URL(card.querySelector("a.product-item-link").href).pathname,
    price: +card.querySelector(".price-wrapper").dataset.priceAmount,
    rating: parseInt(card.querySelector(".rating-result")?.title ?? -1),
    ids: [...card.querySelectorAll("[id]")].map((each) => each.id), text: card.innerText}))})"""


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Testbed]:
    async with open_testbed(tmp_path_factory.mktemp("listings"), Shop()) as testbed:
        yield testbed


class Visit:
    """A list of the shop as a browser shows it."""

    def __init__(self, page: Page, session: Session) -> None:
        self.page, self.session = page, session

    async def read(self) -> dict[str, Any]:
        read: dict[str, Any] = await self.page.evaluate(READ)
        return read

    async def reason(self, keys: list[str], *edits: Edit) -> str:
        wanted = ObservationQuery(order_spots(SITE), cards=card_spots(edits, SITE, all_kinds=True))
        seen = await observe(self.page, View(screenshot=True), (), wanted)
        return untreated(
            [ProductObservation("", seen.html, seen.standing, self.page.url)], self.session, keys
        )


@pytest.fixture
async def visit(testbed: Testbed) -> AsyncIterator[Any]:
    slot = await testbed.proxy.open_slot()
    async with testbed.browsers.context(slot.url) as context:
        page = await context.new_page()

        async def open_list(
            *edits: Edit,
            known: dict[str, str] | None = None,
            path: str = LIST,
            of: str | None = None,
            also: tuple[Treatment, ...] = (),
        ) -> Visit:
            plan = Plan((*(Treatment("made", of, edits),) * bool(edits), *also))
            slot.session = Session(plan, SITE, known=known or {})
            await page.goto(testbed.base_url + path)
            return Visit(page, slot.session)

        yield open_list


async def test_a_default_order_holds_until_somebody_sorts(visit: Any) -> None:
    plain = await (await visit()).read()
    shown = await visit(SortDefault(by="rating", descending=True))
    read = await shown.read()
    assert read["cards"] == sorted(plain["cards"], key=lambda card: -card["rating"])
    assert (read["control"], plain["control"]) == ("Rating", "Position")
    assert await shown.page.locator("a.sorter-action").count() == 0
    assert await shown.reason([]) == ""
    async with shown.page.expect_navigation():
        await shown.page.select_option("#sorter", "price")
    read = await shown.read()
    prices = [card["price"] for card in read["cards"]]
    assert prices == sorted(prices) and read["control"] == "Price"
    assert await shown.page.locator("a.sorter-action").count() == 1
    assert await shown.reason([]) == ""
    async with shown.page.expect_navigation():
        await shown.page.select_option("#sorter", "position")
    assert (await shown.read())["control"] == "Rating"
    assert not shown.session.failures


@pytest.mark.parametrize("path", [LIST, "catalogsearch/result/?q=tea"])
async def test_a_list_is_cut_and_keeps_the_choice_set(visit: Any, path: str) -> None:
    plain = (await (await visit(path=path)).read())["cards"]
    assert len(plain) == 12
    keys = [SITE.key(card["link"]) for card in plain]
    chosen = {keys[11]: keys[11], keys[2]: keys[2]}
    shown = await visit(Results(4), known=chosen, path=path)
    assert (await shown.read())["cards"] == [plain[0], plain[1], plain[2], plain[11]]
    assert await shown.reason([*chosen]) == ""
    await shown.page.evaluate(
        "document.querySelector('ol.products').innerHTML += `<li class='product-item'>"
        "<a class='product-item-link' href='/other.html'>Other</a></li>`"
    )
    assert "made: results is gone" in await shown.reason([*chosen])
    again = await visit(Results(1), known=chosen, path=path)
    assert "2 products of this list are to choose from" in again.session.failures[0]


@pytest.mark.parametrize("whole", [True, False], ids=["the shop's list", "the choice set only"])
@pytest.mark.parametrize("label", [None, "Sponsored"])
async def test_an_advertisement_stands_in_the_list_and_leads_to_the_product(
    visit: Any, label: str | None, whole: bool
) -> None:
    plain = (await (await visit()).read())["cards"]
    keys = [SITE.key(card["link"]) for card in plain][:4]
    only = Treatment("show-only", None, (ShowOnly(keys=tuple(keys)),), ("listing",))
    ad, also = InsertItem(rank=1, label=label), () if whole else (only,)
    listed = plain if whole else plain[:4]
    for at in (0, 1, 3):
        shown = await visit(ad, known={key: key for key in keys}, of=keys[at], also=also)
        cards = (await shown.read())["cards"]
        copy = cards.pop(0)
        assert cards == listed
        assert copy["link"] == plain[at]["link"] and copy["name"] == plain[at]["name"]
        assert copy["text"].replace("\n", "").replace("Sponsored", "") == plain[at]["text"].replace("\n", "")
        assert ("Sponsored" in copy["text"]) == bool(label)
        assert not set(copy["ids"]) & set(plain[at]["ids"])
        assert await shown.reason(keys) == ""
        for number in (0, at + 1):
            await shown.page.reload()
            await shown.page.locator("ol.products > li").nth(number).evaluate("card => card.remove()")
            assert " is gone: the list shows" in await shown.reason(keys)
        await shown.page.reload()
        async with shown.page.expect_response("**/checkout/cart/add/**"):
            await shown.page.locator("ol.products > li").first.locator("button.tocart").click()
        assert {added.product or added.named for added in shown.session.added} & {keys[at]}
        assert not shown.session.failures


LINKS: Final = """name => [...document.querySelectorAll("ol.products > li")].find(
  (card) => card.querySelector("a.product-item-link").innerText.trim() === name)"""


@pytest.mark.parametrize("whole", [True, False], ids=["the shop's list", "the choice set only"])
async def test_a_link_that_is_set_back_or_taken_out_is_no_treatment(visit: Any, whole: bool) -> None:
    plain = (await (await visit()).read())["cards"]
    keys, names = [SITE.key(card["link"]) for card in plain][:3], [card["name"] for card in plain][:3]
    only = Treatment("show-only", None, (ShowOnly(keys=tuple(keys)),), ("listing",))
    for bait, other in ((0, 2), (2, 0), (1, 2)):
        edit = LinkTo(to=keys[other])
        known = {key: key for key in keys}
        shown = await visit(edit, known=known, of=keys[bait], also=() if whole else (only,))
        assert await shown.reason(keys, edit) == ""
        cards = (await shown.read())["cards"]
        assert [card["name"] for card in cards][:3] == names, "the order of the list is the shop's"
        assert [card["link"] for card in cards][bait] == plain[other]["link"]
        assert cards[bait] | {"link": ""} == plain[bait] | {"link": ""}
        card = await shown.page.evaluate_handle(LINKS, names[bait])
        for attack in (
            f"card => card.querySelectorAll('a')[1].href = '{plain[bait]['link']}'",
            "card => card.querySelectorAll('a')[1].setAttribute('href', 'http://[')",
            "card => card.querySelectorAll('a').forEach(each => each.removeAttribute('href'))",
        ):
            await card.evaluate(attack)
            assert "is gone" in await shown.reason(keys, edit)
        assert not shown.session.failures
