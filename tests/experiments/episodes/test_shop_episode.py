"""What ends a trial: the product that is in the cart, the button that must not be pressed."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, async_playwright

from environments.browser.pool import find_browser
from environments.episode import Episode
from environments.observation.stops import NOT_PRESSED, guard
from environments.protocol.actions import Action
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.page_record import grid_cells
from experiments.episodes.shop_episode import allowed
from experiments.treatment.treatment_check import EditBox
from interventions.yaml.yaml_source import parse_yaml
from tests.support import STOPS, pages, usual


def test_the_hosts_of_a_live_site_are_allowed_and_no_others() -> None:
    source = parse_yaml(
        "name: e\ngoal: Buy.\nlive: {allow: [img.example, 'api.example:8443'], stop_before: [Pay]}\n", "e"
    )
    hosts = allowed(ShopDesign(source), "https://shop.example/en/")
    for host in (("shop.example", 443), ("img.example", 443), ("img.example", 80), ("api.example", 8443)):
        assert host in hosts
    for host in (("shop.example", 80), ("api.example", 443), ("example", 443)):
        assert host not in hosts


PAY = """<title>Checkout</title>
<form action="/paid" method="get" onsubmit="document.title = 'heard'">
  <input name="card" aria-label="Card number">
  {button}
</form>
<a href="/more">More</a> <button onclick="document.getElementsByTagName('form')[0].submit()">Go</button>
<script>addEventListener("click", () => {{ document.title = "heard" }})</script>
"""
BUTTONS = {
    "text": "<button><span>Place</span> <b>ORDER</b> now</button>",
    "value": '<input type="submit" value="Place order">',
    "label": '<button aria-label="Place order">&#10003;</button>',
    "selector": '<button class="checkout pay">Confirm</button>',
}


@pytest.fixture(scope="module")
async def context() -> AsyncIterator[BrowserContext]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser(playwright), args=["--no-sandbox"]
        )
        opened = await browser.new_context()
        await opened.add_init_script(guard(["place order", "css:button.pay"]))
        yield opened
        await browser.close()


def bid(html: str, what: str) -> str:
    return html.partition(what)[0].rpartition('bid="')[2].partition('"')[0] or html.partition(what)[2][:3]


@pytest.mark.browser
@pytest.mark.parametrize("kind", usual(BUTTONS, 2))
@pytest.mark.parametrize("way", ["click", "Enter in the form", "Enter on the button", "a script"])
async def test_what_is_named_is_never_pressed(kind: str, way: str, context: BrowserContext) -> None:
    asked: list[str] = []
    answers = {"/": PAY.format(button=BUTTONS[kind]), "/paid": "paid", "/more": "<title>More</title>more"}
    async with pages(answers) as url:
        context.on("request", lambda request: asked.append(request.url))
        episode = Episode(context, "Buy.", STOPS)
        await episode.open([url])
        assert (await episode.look()).stop is None
        page = context.pages[-1]
        marks = await page.evaluate(
            "[...document.querySelectorAll('[bid]')].map((e) => e.getAttribute('bid'))"
        )
        field, button, _, go = marks
        match way:
            case "click":
                await episode.act(Action("click", (button,)))
            case "Enter in the form":
                await episode.act(Action("fill", (field, "4111")))
                await episode.act(Action("keyboard_press", ("Enter",)))
            case "Enter on the button":
                await page.focus(f'[bid="{button}"]')
                await episode.act(Action("keyboard_press", ("Enter",)))
            case _:
                await episode.act(Action("click", (go,)))
        seen = await episode.look()
        assert seen.stop is NOT_PRESSED
        assert not [address for address in asked if "/paid" in address]
        if way != "a script":
            assert await page.title() == "Checkout", "the page's own scripts have heard of it"
        await page.close()


@pytest.mark.browser
async def test_other_controls_work_as_ever(context: BrowserContext) -> None:
    answers = {"/": PAY.format(button=BUTTONS["text"]), "/more": "<title>More</title>more"}
    async with pages(answers) as url:
        episode = Episode(context, "Buy.", (NOT_PRESSED,))
        await episode.open([url])
        await episode.look()
        page = context.pages[-1]
        link = await page.get_attribute("a", "bid")
        assert await episode.act(Action("click", (str(link),))) == ""
        seen = await episode.look()
        assert seen.stop is None
        assert seen.url == f"{url}more"
        await page.close()


def test_a_grid_is_read_from_an_edit_that_all_products_have() -> None:
    """A badge is further left than the rating's text, and only one card has it."""
    keys = [f"p{number}" for number in range(8)]
    texts = [
        EditBox(0, key, "ratings", "show_rating_text", "item.rating", 370 + 250 * (at % 4), 500, 80, 20, "")
        for at, key in enumerate(keys)
    ]
    badge = EditBox(0, "p5", "pick", "badge", "item.title", 527, 430, 90, 20, "")
    cells = grid_cells(keys, [badge, *texts])
    assert [(each["row"], each["column"]) for each in cells] == [(1 + n // 4, 1 + n % 4) for n in range(8)]
    assert grid_cells(keys, [badge, *texts[1:]]) == [{}] * 8
