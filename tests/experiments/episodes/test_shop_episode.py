"""What ends a trial: the product that is in the cart, the button that must not be pressed."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from playwright.async_api import BrowserContext, async_playwright

from environments.actions import Action
from environments.browser import find_browser
from environments.episode import Episode, Look
from environments.observation import Observation, Tab
from environments.stops import COMPARE_TABS, NOT_PRESSED, guard
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign, ShopTrial
from experiments.episodes.shop_episode import allowed, in_cart
from interventions.apply.plan import Plan
from interventions.yaml.yaml_source import parse_yaml
from tests.support import pages

ADDED = COMPARE_TABS[0]
SHOP = "http://shop.test/"


@pytest.fixture(scope="module")
def trial() -> ShopTrial:
    return next(ShopDesign(experiment_source("listing")).trials(["simulated:balanced"]))


def look(path: str, said: str) -> Look:
    tab = Tab("", f"{SHOP}{path}", True)
    return Look(Observation("", f'<div role="alert">{said}', (tab,)), tab.url, ADDED)


def test_on_its_own_page_a_product_is_known_by_the_address(trial: ShopTrial) -> None:
    key = trial.products[1].key
    assert in_cart(look(f"{key}.html?a=b", "You added it to your cart"), trial, key, Plan()) == key
    assert in_cart(look(f"{key}.html?a=b", "Nothing is said"), trial, key, Plan()) == key


def test_from_a_list_a_product_is_known_by_its_name(trial: ShopTrial) -> None:
    one, other = trial.products
    both = replace(trial, products=(replace(one, name="Oat & Rye"), replace(other, name='Oat & Rye, 8" tin')))
    said = "You  added Oat &amp; Rye, 8&quot; tin to your\n <a>cart</a>"
    assert in_cart(look("cookies.html", said), both, "cookies", Plan()) == other.key
    assert (
        in_cart(look("cookies.html", "You added Oat &amp; Rye to your cart"), both, "cookies", Plan())
        == one.key
    )


def test_what_the_shop_says_outweighs_the_page(trial: ShopTrial) -> None:
    one, other = trial.products
    both = replace(
        trial, products=(replace(one, name="Oat Cookies"), replace(other, name="Oat Cookies to Go"))
    )
    for said, choice in {
        "You added Oat Cookies to Go to your cart": other.key,
        "you added oat cookies to go to your cart": other.key,
        "You added Oat Cookies to your cart": one.key,
        "You added Oat Cookies.": one.key,
        "You added Oat Cookies to the basket": one.key,
        "You added Oat Cookies Large to your cart": "Oat Cookies Large",
        "You added Oat Cookies, Large to your cart": "Oat Cookies, Large",
        "You added Oat Cookies Large": "Oat Cookies Large",
        "You added Oat Cookies to your cart</div><div>You added Rye to your cart": "Rye",
        "You added this product to your cart": "page",
        "You added 1 item to your cart": "page",
    }.items():
        assert in_cart(look("cookies.html", said), both, "page", Plan()) == choice, said


def test_the_message_is_read_where_the_stop_condition_was_met(trial: ShopTrial) -> None:
    """It may be out of view, and another text of the page may say the same."""
    one, other = trial.products
    seen = look("cookies.html", f"Customers say: You added {other.name} to your cart")
    said = replace(seen, said=f"You added {one.name} to your cart.")
    assert in_cart(said, trial, "page", Plan()) == one.key


def test_another_product_is_named(trial: ShopTrial) -> None:
    assert (
        in_cart(look("cookies.html", "You added Red Lamp to your cart"), trial, "cookies", Plan())
        == "Red Lamp"
    )
    assert in_cart(look("red-lamp.html", "Thank you"), trial, "red-lamp", Plan()) == "red-lamp"


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
@pytest.mark.parametrize("kind", BUTTONS)
@pytest.mark.parametrize("way", ["click", "Enter in the form", "Enter on the button", "a script"])
async def test_what_is_named_is_never_pressed(kind: str, way: str, context: BrowserContext) -> None:
    asked: list[str] = []
    answers = {"/": PAY.format(button=BUTTONS[kind]), "/paid": "paid", "/more": "<title>More</title>more"}
    async with pages(answers) as url:
        context.on("request", lambda request: asked.append(request.url))
        episode = Episode(context, "Buy.", (*COMPARE_TABS, NOT_PRESSED))
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
