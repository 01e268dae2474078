"""Cards in real Chromium without scripts: what they show, how they are answered; no text breaks out."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Route, sync_playwright
from playwright.sync_api import Page as Tab
from selectolax.lexbor import LexborHTMLParser

from environments.browser.pool import find_browser
from interventions.cards.card import Alternative, Card, LetterAnswer
from interventions.cards.page import ANSWER_PATH, render_fragment, render_page, thanks_page
from interventions.files.battery import load_battery
from interventions.files.schema import load_interventions

URL = "http://shop.test/"
HOTEL = load_interventions("hotels")["hotel-choice"].card
ANCHORING = load_battery().card("anchoring", "control", persona="user")
LOSS = load_battery().card("loss-aversion", "treatment")
LONG = {
    "id": "long", "name": "DoubleTree by Hilton Chandler Landing at the Garment District", "stars": 5,
    "neighborhood": "Meatpacking District", "score": 8.9, "reviews": 12034, "cancellation": 1, "breakfast": 1,
    "room": "Deluxe King Room (1 king bed)", "price": 1250,
    "amenities": "Free WiFi; Fitness center; Restaurant; Rooftop terrace; Spa",
}  # fmt: skip


def hotels(count: int) -> Card:
    assert HOTEL is not None
    known = [*HOTEL.example.alternatives, LONG]
    return HOTEL.fill({}, [known[n % 3] for n in range(count)], id="hotel-choice")


class Shop:
    """Shows one page, and keeps what is asked for and posted."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        tab.route("**/*", self.answer)

    def show(self, body: bytes) -> Tab:
        self.body, self.asked, self.posted = body, list[str](), list[dict[str, str]]()
        self.tab.goto(URL)
        return self.tab

    def answer(self, route: Route) -> None:
        request, body = route.request, self.body
        self.asked.append(request.url)
        if request.method == "POST":
            self.posted.append(dict(parse_qsl(request.post_data or "", keep_blank_values=True)))
            body = b"<!doctype html><title>posted</title>"
        route.fulfill(body=body, content_type="text/html; charset=utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shop(browser: Browser) -> Shop:
    return Shop(
        browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 720}).new_page()
    )


@pytest.fixture(scope="module")
def measured(browser: Browser) -> Shop:
    """With a tab in which the test itself, but no page, needs scripts."""
    return Shop(browser.new_context(viewport={"width": 1280, "height": 720}).new_page())


def squeeze(text: str) -> str:
    return " ".join(text.split())


# What is shown


@pytest.mark.browser
@pytest.mark.parametrize("count", [2, 3, 6])
def test_the_page_has_the_values_of_the_prompt_and_no_others(shop: Shop, count: int) -> None:
    card = hotels(count)
    tab = shop.show(render_page(card, action=ANSWER_PATH))
    expected = [[value for _, value in item.facts] for item in card.alternatives]
    labels = [[label for label, _ in item.facts[1:]] for item in card.alternatives]
    items = tab.locator("ul.alternatives > li").all()
    assert [
        [*(item.locator("h2").all_inner_texts()), *item.locator("dd").all_inner_texts()] for item in items
    ] == (expected)
    assert [item.locator("dt").all_inner_texts() for item in items] == labels
    # And nothing besides: no other text in an alternative, nor on the page.
    for item, facts in zip(items, card.alternatives, strict=True):
        words = squeeze(
            " ".join([facts.facts[0][1], *(word for fact in facts.facts[1:] for word in fact), "Choose"])
        )
        assert squeeze(item.inner_text()) == words
    assert card.intro in tab.inner_text("main")
    assert tab.inner_text("h1") == card.question == tab.title()
    prompt = card.prompt
    assert all(f"{label}: {value}" in prompt for item in card.alternatives for label, value in item.facts)


@pytest.mark.browser
@pytest.mark.parametrize(("count", "scrolls"), [(2, False), (3, False), (6, True)])
def test_alternatives_stand_side_by_side_and_look_alike(measured: Shop, count: int, scrolls: bool) -> None:
    measured.tab.set_viewport_size({"width": 1280, "height": 720})
    measured.show(render_page(hotels(count), action=ANSWER_PATH))
    items = measured.tab.locator("ul.alternatives > li").all()
    boxes = [box for item in items if (box := item.bounding_box())]
    assert len({round(box["width"]) for box in boxes}) == 1
    rows = {round(box["y"]) for box in boxes}
    assert len(rows) == (1 if count <= 3 else 2)
    assert len({(round(box["y"]), round(box["height"])) for box in boxes}) == len(rows)
    # The same facts stand at the same height, and are drawn the same way.
    for part in ("h2", "dt", "dd", "button"):
        drawn = measured.tab.locator(f"li:nth-child(-n+3) {part}").evaluate_all(
            """elements => elements.map(e => { const s = getComputedStyle(e);
               return [s.color, s.backgroundColor, s.fontSize, s.fontWeight, s.borderColor].join() })"""
        )
        size = len(drawn) // min(count, 3)
        assert drawn[:size] * min(count, 3) == drawn
    heights = measured.tab.locator("li:nth-child(-n+3) dt").evaluate_all(
        "es => es.map(e => e.getBoundingClientRect().y)"
    )
    size = len(heights) // min(count, 3)
    assert [round(y) for y in heights] == [round(y) for y in heights[:size]] * min(count, 3)
    assert (measured.tab.evaluate("document.documentElement.scrollHeight") > 720) == scrolls
    assert measured.tab.evaluate("document.documentElement.scrollWidth") == 1280
    assert measured.asked == [URL]  # no script, font or picture


@pytest.mark.browser
def test_a_telephone_shows_one_below_the_other(measured: Shop) -> None:
    measured.tab.set_viewport_size({"width": 390, "height": 844})
    for card in (hotels(3), ANCHORING, LOSS):
        measured.show(render_page(card, action=ANSWER_PATH))
        assert measured.tab.evaluate("document.documentElement.scrollWidth") == 390
    measured.show(render_page(hotels(3), action=ANSWER_PATH))
    boxes = [
        box for item in measured.tab.locator("ul.alternatives > li").all() if (box := item.bounding_box())
    ]
    assert len({box["x"] for box in boxes}) == 1


CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const shade = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; }
    return [255, 255, 255]; };
  const read = 'p, h1, h2, dt, dd, button, label, span, [role=alert]';
  return [...document.querySelectorAll(read)].map((e) => {
    const [a, b] = [shade(channels(getComputedStyle(e).color)), shade(ground(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 80)]; });
}"""


@pytest.mark.browser
@pytest.mark.parametrize("look", ["booking", "shop", "survey"])
def test_texts_stand_out_from_their_ground(measured: Shop, look: str) -> None:
    for card in (hotels(2), ANCHORING, LOSS):
        body = render_page(card.model_copy(update={"look": look}), action=ANSWER_PATH, problem="Not so.")
        measured.show(body)
        found = measured.tab.evaluate(CONTRAST)
        assert found
        assert [entry for entry in found if entry[0] < 4.5] == []


@pytest.mark.browser
def test_a_rule_stands_for_dashes(shop: Shop) -> None:
    tab = shop.show(render_page(ANCHORING, action=ANSWER_PATH))
    assert tab.locator("hr").count() == 1
    assert "---" not in tab.inner_text("body")
    assert tab.get_attribute("html", "lang") == "en"


# How it is answered, by keyboard


@pytest.mark.browser
@pytest.mark.parametrize(("presses", "letter"), [(1, "A"), (2, "B"), (3, "C")])
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_hotel_is_chosen_with_the_keyboard(shop: Shop, presses: int, letter: str, key: str) -> None:
    card = hotels(3)
    tab = shop.show(render_page(card, action=ANSWER_PATH, number=4))
    for _ in range(presses):
        tab.keyboard.press("Tab")
    with tab.expect_navigation():
        tab.keyboard.press(key)
    assert shop.posted == [{"card": "4", "answer": letter}]
    tab.go_back()
    name = card.alternatives["ABC".index(letter)].facts[0][1]
    assert tab.get_by_role("button", name=f"Choose {name}", exact=True).get_attribute("value") == letter


@pytest.mark.browser
@pytest.mark.parametrize("fragment", [False, True])
def test_a_number_is_written_with_the_keyboard(shop: Shop, fragment: bool) -> None:
    body = (
        b"<!doctype html><meta charset=utf-8>" + render_fragment(ANCHORING, action=ANSWER_PATH).encode()
        if fragment
        else render_page(ANCHORING, action=ANSWER_PATH)
    )
    tab = shop.show(body)
    assert tab.get_by_label("Your answer").get_attribute("type") == "text"
    tab.keyboard.press("Tab")
    tab.keyboard.type("27,5 % ä")
    tab.keyboard.press("Tab")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert shop.posted == [{"card": "0", "answer": "27,5 % ä"}]


@pytest.mark.browser
@pytest.mark.parametrize("fragment", [False, True])
def test_letters_are_buttons_with_their_labels(shop: Shop, fragment: bool) -> None:
    page = render_fragment(LOSS, action="/x").encode() if fragment else render_page(LOSS, action="/x")
    tab = shop.show(page)
    assert tab.locator("button").all_inner_texts() == [
        "A: A sure loss of $100.",
        "B: A chance of 50% to lose $200, and of 50% to lose $0.",
    ]
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert shop.posted == [{"card": "0", "answer": "B"}]


@pytest.mark.browser
def test_the_last_page(shop: Shop) -> None:
    tab = shop.show(thanks_page())
    assert tab.inner_text("h1") == "Thank you"
    assert tab.locator("form").count() == 0


# Texts of any kind

HOSTILE = (
    st.sampled_from(
        [
            "</form><form action=//evil.test>", "<script>document.title='x'</script>", "${price}",
            "{{ 7 * 7 }}", "{% raw %}", '" autofocus onfocus=x="', "&amp;&lt;", "<!--",
            "]]>", "\x00\x1b[31m", "\u202e", "</title><b>", "--", "a\r\nb", "\ud800",
        ]
    )
    | st.text(max_size=30)
)  # fmt: skip


@given(
    st.lists(HOSTILE, min_size=10, max_size=10), st.sampled_from(["booking", "shop", "survey"]), st.booleans()
)
def test_whatever_a_card_says_is_text_and_the_form_stays_intact(
    texts: list[str], look: str, alternatives: bool
) -> None:
    def item(key: str) -> Alternative:
        return Alternative.model_construct(key=key, facts=((texts[2], texts[3]), (texts[4], texts[5])))

    card = Card.model_construct(
        id="x", look=look, system="", intro=texts[0], question=texts[1], reply="", max_tokens=2, retries=0,
        alternatives=(item("A"), item("B")) if alternatives else (),
        answer=LetterAnswer.model_construct(labels={"A": texts[6], "B": texts[7]}),
    )  # fmt: skip
    pages = [render_page(card, action=ANSWER_PATH, problem=texts[8])]
    if not alternatives:
        pages.append(render_fragment(card, action=ANSWER_PATH, problem=texts[8]).encode())
    for body in pages:
        tree = LexborHTMLParser(body)
        assert [form.attributes["action"] for form in tree.css("form")] == [ANSWER_PATH]
        assert [button.attributes["value"] for button in tree.css("form button")] == ["A", "B"]
        assert len(tree.css("form input[type=hidden]")) == 1
        assert not tree.css("script, iframe, img, b, [onfocus], [autofocus]")
        assert tree.css_first("[role=alert]") is not None or not texts[8]
        shown = squeeze(clean(tree.css_first("#souk-question").text()))
        assert shown == squeeze(clean(texts[1]))
        if alternatives:
            for item in tree.css("ul.alternatives > li"):
                assert squeeze(clean(item.css_first("h2").text())) == squeeze(clean(texts[3]))
                assert squeeze(clean(item.css_first("dd").text())) == squeeze(clean(texts[5]))


def clean(text: str) -> str:
    return re.sub(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]|\r", " ", text)
