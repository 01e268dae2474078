"""Cards through real mitmproxy, in place of pages and in them, answered by programs and in real Chromium."""

import re

import httpx
import pytest
from playwright.async_api import Page as Tab

from environments.browser.pool import run_browsers
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.cards.card import Card, LetterAnswer, NumberAnswer
from interventions.cards.page import ANSWER_PATH
from interventions.edits.ask import Ask
from interventions.edits.registry import edit_from_dict, edit_to_dict
from interventions.edits.remove import Remove
from interventions.files.battery import load_battery
from interventions.files.schema import load_interventions
from proxy.allow_list import AllowList
from proxy.card_run import CardRun
from proxy.cards import MAX_FORM_BYTES
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.proxy.upstream import PAGE, SITE, upstream
from tests.support import pages

NAVIGATION = {"accept": "text/html"}
CARDS_URL = "http://cards.souk.test/"
BUY = Card(
    id="buy",
    look="shop",
    question="Would you buy this for $95?",
    answer=LetterAnswer(labels={"A": "Yes", "B": "No"}),
)
WTP = Card(id="wtp", look="shop", question="How much at most?", answer=NumberAnswer(unit="$"), retries=1)


def hotels() -> Card:
    template = load_interventions("hotels")["hotel-choice"].card
    assert template is not None
    return template.example_card("hotel-choice")


def asked(*cards: Card, url: str = CARDS_URL) -> Session:
    return Session(Plan(), SITE, AllowList.of(url), cards=CardRun(cards or (BUY, WTP)))


def plans(product: str, *cards: Card) -> list[Plan]:
    """As a trial has them: without its price, with the question after its title."""
    no_price = Treatment("no-price", product, (Remove("product.price_box"),), ("product",))
    return [Plan((no_price, Treatment(card.id, product, (Ask(card=card),), ("product",)))) for card in cards]


def run_of(session: Session) -> CardRun:
    assert session.cards is not None
    return session.cards


async def answer(
    client: httpx.AsyncClient, card: object, text: str, url: str = CARDS_URL, **headers: str
) -> httpx.Response:
    form = {"card": str(card), "answer": text}
    return await client.post(url.rstrip("/") + ANSWER_PATH, data=form, headers=headers)


# Cards in place of pages


async def test_cards_are_asked_one_after_the_other(slot: Slot, client: httpx.AsyncClient) -> None:
    session = slot.session = asked()
    for path in ("", "any/where.html?x=1"):
        shown = await client.get(CARDS_URL + path, headers=NAVIGATION)
        assert shown.status_code == 200
        assert BUY.question in shown.text
        assert shown.headers["cache-control"] == "no-store"
    done = await answer(client, 0, "b", referer=f"{CARDS_URL}any/where.html?x=1")
    assert (done.status_code, done.headers["location"]) == (303, "/any/where.html?x=1")
    second = await client.get(CARDS_URL, headers=NAVIGATION)
    assert WTP.question in second.text
    assert BUY.question not in second.text
    await answer(client, 1, "$12.50")
    last = await client.get(CARDS_URL, headers=NAVIGATION)
    assert "Thank you" in last.text
    cards = run_of(session)
    assert [(given.card, given.text, given.value, given.reason) for given in cards.answers] == [
        (0, "b", "B", ""),
        (1, "$12.50", 12.5, ""),
    ]
    assert cards.done
    assert cards.current == 2
    receipts = [(r.intervention, r.edit, r.role, r.page_type, r.matches, r.after) for r in session.receipts]
    assert receipts == [(card.id, "card", "page.body", "card", 1, card.question) for card in (BUY, BUY, WTP)]
    bodies = [page.body for page in session.pages]
    assert bodies == [shown.content, shown.content, second.content, last.content]
    assert session.receipts[0].page_hash_after != session.receipts[2].page_hash_after
    assert session.failures == session.upstream_errors == []


async def test_no_shop_is_asked_of_anything(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(PAGE) as origin:
        session = slot.session = asked(url=origin.url)
        page = await client.get(f"{origin.url}oats.html", headers=NAVIGATION)
        icon = await client.get(f"{origin.url}favicon.ico", headers={"sec-fetch-dest": "image"})
        posted = await client.post(f"{origin.url}cart", data={"a": "b"})
    assert BUY.question in page.text
    assert (icon.status_code, posted.status_code) == (404, 405)
    assert origin.requests == []
    assert len(session.receipts) == len(session.pages) == 1


async def test_an_answer_counts_once(slot: Slot, client: httpx.AsyncClient) -> None:
    session = slot.session = asked(BUY, WTP.model_copy(update={"answer": BUY.answer}))
    for number in (0, 0, 0):
        assert (await answer(client, number, "A")).status_code == 303
    for number in (7, 0):
        await answer(client, number, "A")
    cards = run_of(session)
    assert [(given.card, given.value) for given in cards.answers] == [(0, "A")]
    await answer(client, 1, "B")
    assert (await answer(client, 2, "B")).status_code == 303
    assert [(given.card, given.value) for given in cards.answers] == [(0, "A"), (1, "B")]


async def test_long_and_strange_answers(slot: Slot, client: httpx.AsyncClient) -> None:
    session = slot.session = asked(WTP)
    await answer(client, 0, "x" * 1000)
    await client.post(CARDS_URL[:-1] + ANSWER_PATH, content=b"card=0&answer=%00%ff%ed%a0%80",
                      headers={"content-type": "application/x-www-form-urlencoded"})  # fmt: skip
    first, second = run_of(session).answers
    assert first.text == "x" * 1000
    assert second.text.encode()
    assert "\0" not in second.text
    for content, kind, status in (
        (b"card=0&answer=" + b"1" * MAX_FORM_BYTES, "application/x-www-form-urlencoded", 413),
        (b'{"card": 0, "answer": "5"}', "application/json", 400),
        (b"answer=5", "application/x-www-form-urlencoded", 400),
        (b"card=0", "application/x-www-form-urlencoded", 400),
        (b"card=-1&answer=5", "application/x-www-form-urlencoded", 400),
        ("card=²&answer=5".encode(), "application/x-www-form-urlencoded", 400),
    ):
        response = await client.post(
            CARDS_URL[:-1] + ANSWER_PATH, content=content, headers={"content-type": kind}
        )
        assert response.status_code == status
    assert (await client.get(CARDS_URL[:-1] + ANSWER_PATH)).status_code == 405
    assert len(run_of(session).answers) == 2


@pytest.mark.parametrize(
    ("header", "value"),
    [
        *(("sec-fetch-site", site) for site in ("cross-site", "same-site")),
        *(("origin", site) for site in ("http://evil.test", "https://cards.souk.test", "null", "http://[x")),
    ],
)
async def test_other_sites_cannot_answer(slot: Slot, client, header: str, value: str) -> None:
    session = slot.session = asked()
    assert (await answer(client, 0, "A", **{header: value})).status_code == 403
    assert run_of(session).answers == []
    assert (await answer(client, 0, "A", origin="http://cards.souk.test")).status_code == 303


@pytest.mark.parametrize(
    ("referrer", "location"),
    [
        ("http://evil.test/x", "/"),
        ("http://cards.souk.test//evil.test/x", "/evil.test/x"),
        ("http://cards.souk.test/\\evil.test", "/evil.test"),
        ("nonsense", "/"),
        ("http://[", "/"),
    ],
)
async def test_the_way_back_leads_nowhere_else(slot: Slot, client, referrer: str, location: str) -> None:
    slot.session = asked()
    assert (await answer(client, 0, "A", referer=referrer)).headers["location"] == location


async def test_what_is_not_allowed_shows_no_card(slot: Slot, client: httpx.AsyncClient) -> None:
    session = slot.session = asked()
    refused = await client.get("http://other.test/", headers=NAVIGATION)
    assert refused.status_code == 403
    assert (await answer(client, 0, "A", "http://other.test/")).status_code == 403
    assert run_of(session).answers == session.receipts == []


async def test_a_card_that_cannot_be_shown_fails_closed(slot: Slot, client: httpx.AsyncClient) -> None:
    session = slot.session = asked(Card.model_construct(id="broken"))
    shown = await client.get(CARDS_URL, headers=NAVIGATION)
    assert shown.status_code == 502
    assert "could not be prepared" in shown.text
    assert len(session.failures) == 1
    assert session.receipts == []


async def test_in_the_place_of_a_shop(proxy: Proxy) -> None:
    slot = await proxy.open_slot(reverse="http://shop.test")
    session = slot.session = asked(BUY, url="http://shop.test/")
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        shown = await client.get(f"{slot.url}/x", headers=NAVIGATION)
        done = await answer(client, 0, "A", slot.url, origin=slot.url, referer=f"{slot.url}/x")
    assert BUY.question in shown.text
    assert (done.status_code, done.headers["location"]) == (303, "/x")
    assert run_of(session).done


# Cards in pages


async def test_a_question_stands_in_the_page(slot: Slot, client: httpx.AsyncClient) -> None:
    price = '</div><div class="product-info-main"><div class="price-box">$3</div></div>'
    async with pages({"/oats.html": PAGE.replace("</div>", price, 1)}) as url:
        session = slot.session = Session(Plan(), SITE, AllowList.of(url))
        session.cards = CardRun((BUY, WTP), plans("oats", BUY, WTP))
        first = await client.get(f"{url}oats.html", headers=NAVIGATION)
        await answer(client, 0, "A", url)
        second = await client.get(f"{url}oats.html", headers=NAVIGATION)
        await answer(client, 1, "much", url)
        told = await client.get(f"{url}oats.html", headers=NAVIGATION)
        await answer(client, 1, "5", url)
        last = await client.get(f"{url}oats.html", headers=NAVIGATION)
    for page, card, number in ((first, BUY, 0), (second, WTP, 1), (told, WTP, 1)):
        assert card.question in page.text
        assert f'name="card" value="{number}"' in page.text
        assert f'action="{url[:-1]}{ANSWER_PATH}"' in page.text
        assert "$3" not in page.text
        assert "All about oats." in page.text
    assert ("cannot be taken" in second.text, "cannot be taken" in told.text) == (False, True)
    assert "Thank you" in last.text
    remove = ("no-price", "remove", "product.price_box", "product", "oats")
    asks = [(name, "ask", "product.title", "product", "oats") for name in ("buy", "wtp")]
    receipts = [(r.intervention, r.edit, r.role, r.page_type, r.product) for r in session.receipts[:4]]
    assert receipts == [remove, asks[0], remove, asks[1]]
    assert [given.value for given in session.cards.answers] == ["A", None, 5]


def edited(page: str, plan: Plan) -> Rewrite:
    url = "http://shop.test/oats.html"
    return rewrite(page.encode(), content_type="text/html", url=url, plan=plan, site=SITE)


def test_ask_is_plain_data_and_asks_on_the_products_own_page_only() -> None:
    edit = Ask(card=BUY, number=1, problem="No.")
    assert edit_from_dict(edit_to_dict(edit)) == edit
    with pytest.raises(ValueError, match="a card with alternatives is a page of its own"):
        Ask(card=hotels())
    plan = Plan((Treatment("buy", "oats", (edit,)),))
    inside = PAGE.replace('<div class="page-title-wrapper', '<form><div class="page-title-wrapper')
    for page, reason in (
        (inside, "a form cannot stand"),
        (PAGE.replace("page-title-wrapper", "x"), "nothing on"),
    ):
        with pytest.raises(EditFailed, match=reason):
            edited(page, plan)


def test_the_page_may_have_a_policy_and_another_base() -> None:
    base = '<base href="http://cdn.test/">'
    policy = """<meta http-equiv="Content-Security-Policy" content="style-src 'self'">"""
    page = PAGE.replace("<meta charset", base + policy + "<meta charset", 1)
    plan = Plan((Treatment("wtp", "oats", (Ask(card=WTP),)),))
    done = edited(page, plan)
    text = done.body.decode()
    assert 'action="http://shop.test/.souk/answer"' in text
    form = text[text.index("<form") : text.index("</form>")]
    styles = set(re.findall('style="([^"]*)"', form))
    assert styles == set(done.inline.styles)
    assert len(styles) >= 3


# In Chromium, by keyboard


async def press(tab: Tab, name: str) -> None:
    """Go to the button by keyboard, and press it."""
    button = tab.get_by_role("button", name=name, exact=True)
    for _ in range(60):
        await tab.keyboard.press("Tab")
        if await button.evaluate("e => e === document.activeElement"):
            break
    async with tab.expect_navigation():
        await tab.keyboard.press("Enter")


@pytest.mark.browser
async def test_a_person_answers_pages_of_their_own(proxy: Proxy, slot: Slot) -> None:
    letters, number = load_battery().card("framing", "control"), load_battery().card("anchoring", "control")
    session = slot.session = asked(hotels(), letters, number)
    async with run_browsers(proxy.spki) as browsers, browsers.context(slot.url) as context:
        tab = await context.new_page()
        await tab.goto(CARDS_URL)
        await press(tab, "Choose Hyatt Place Alder Walk")
        assert await tab.inner_text("h1") == letters.question
        await press(tab, "B: No")
        await tab.get_by_label("Your answer").focus()
        await tab.keyboard.type("many")
        await press(tab, "Submit answer")
        assert "one number only" in await tab.get_by_role("alert").inner_text()
        await tab.get_by_label("Your answer").focus()
        await tab.keyboard.type("28")
        async with tab.expect_navigation():
            await tab.keyboard.press("Enter")
        assert await tab.inner_text("h1") == "Thank you"
        await tab.go_back()
        assert await tab.inner_text("h1") == "Thank you"
    assert [(g.card, g.text, g.value) for g in run_of(session).answers] == [
        (0, "B", "B"), (1, "B", "B"), (2, "many", None), (2, "28", 28),
    ]  # fmt: skip
    assert session.failures == session.upstream_errors == []
