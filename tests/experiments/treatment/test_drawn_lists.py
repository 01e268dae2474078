"""Lists that keep only the visible rows and use them again: no edit comes to stand on another product."""

import random
from contextlib import AsyncExitStack
from typing import Any

import pytest
from playwright.async_api import Page

from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from interventions.yaml.yaml_source import parse_yaml
from proxy.session import Session
from tests.experiments.drawn_shop import NUDGE, SITE, DrawnShop, experiment
from tests.experiments.treatment.test_drawn_pages import Stage, stage
from tests.support import serve, size

pytestmark = pytest.mark.browser
__all__ = ["stage"]

ROWS, ALL = 8, 48
EDITS: list[dict[str, Any]] = [
    {"insert_text": {"after": "product.title", "text": NUDGE, "style": "badge"}},
    {"set_price": 949},
]

# Among the products are two that cost what the treated one is said to cost; with eight rows one of them comes
# to stand in the row of the treated one.
LIST = """
const all = Array.from({ length: ALL }, (_, number) => ({ slug: `lamp-${number}`, name: `Lamp ${number}`,
  cents: 1000 + 100 * number }));
all[3] = { slug: "harbour-lamp", name: "Harbour Lamp", cents: 129900 };
all[20] = { slug: "cedar-lamp", name: "Cedar Lamp", cents: 124900 };
for (const number of [11, 14]) all[number].cents = 94900;
app.innerHTML = `<ul class=lamps>${all.slice(0, ROWS).map(card).join("")}</ul>`;
const rows = [...app.querySelectorAll("li")].map((row) => ({ row, a: row.children[0], b: row.children[1] }));
const show = (start) => rows.forEach((each, number) => {
  const { slug, name, cents } = all[start + number];
  WRITE
});
"""
WAYS = {
    "in the same text nodes": """each.a.setAttribute("href", `/lamps/${slug}`);
        each.a.firstChild.data = name; each.b.firstChild.data = money(cents);""",
    "as new texts": """each.a.href = `/lamps/${slug}`;
        each.a.textContent = name; each.b.textContent = money(cents);""",
    "as new elements": """each.row.innerHTML = card({ slug, name, cents }).slice(15, -5);""",
    "in the order of the elements": """each.a.href = `/lamps/${slug}`; each.a.textContent = name;
        each.row.children[1].textContent = money(cents);""",
}
READ = """() => [...document.querySelectorAll("li")].map((row) =>
  [row.querySelector("a").pathname.split("/").pop(), row.innerText.replace(/\\s+/g, " ")])"""


async def begin(
    stage: Stage, stack: AsyncExitStack, url: str, address: str, edits: list[dict[str, Any]] = EDITS
) -> tuple[Page, Session]:
    file = experiment(stage.folder, address, SITE, edits)
    made = ShopDesign(parse_yaml(file.read_text(), str(file)))
    trial = next(each for each in made.trials(made.experiment.agents) if each.carrier == "harbour-lamp")
    slot = await stage.proxy.open_slot()
    slot.session = session = ShopTrialRunner(made, address).session(trial)
    context = await stack.enter_async_context(stage.browsers.context(slot.url))
    page = await context.new_page()
    await page.goto(url)
    return page, session


def list_shop(way: str) -> DrawnShop:
    script = LIST.replace("ALL", str(ALL)).replace("ROWS", str(ROWS)).replace("WRITE", WAYS[way])
    return DrawnShop(script=script)


@pytest.mark.thorough
@pytest.mark.parametrize("way", [way for way in WAYS if way != "in the order of the elements"])
async def test_rows_that_are_used_again_show_their_own_product(way: str, stage: Stage) -> None:
    chance = random.Random(way)
    async with serve(list_shop(way).app()) as address, AsyncExitStack() as stack:
        page, session = await begin(stage, stack, address, address)
        truth = {
            slug: name
            for slug, name in await page.evaluate(
                "all.map((each) => [each.slug, [each.name, money(each.cents)]])"
            )
        }
        starts = [0, 8, 0, 11, *(chance.randrange(ALL - ROWS) for _ in range(size(10, 100)))]
        for start in starts:
            await page.evaluate("(start) => { show(start); }", start)
            for slug, text in await page.evaluate(READ):
                name, price = truth[slug]
                treated = f"{name} {NUDGE} $949.00" if slug == "harbour-lamp" else f"{name} {price}"
                assert " ".join(text.split()) == treated, (start, slug)
        assert not session.failures
        assert {each.product for each in session.receipts} == {"harbour-lamp"}
        assert {(each.edit, each.role) for each in session.receipts} == {
            ("insert_text", "item.title"),
            ("set_price", "item.price"),
        }


async def test_what_is_written_into_an_insertion_fails(stage: Stage) -> None:
    """The rows' second element is now the nudge."""
    async with serve(list_shop("in the order of the elements").app()) as address, AsyncExitStack() as stack:
        page, session = await begin(stage, stack, address, address)
        assert not session.failures
        await page.evaluate("() => { show(8); }")
        (failure,) = session.failures
        assert "have written into what an edit has put in" in failure


COUNTDOWN = [{"countdown": {"text": "Only {time} left"}}]
CLOCK = "document.querySelector('[data-seconds]')"
ANOTHER = f"""() => {{ const {{ parentNode: all }} = {CLOCK};
  WHERE.append("for ever"); }}"""


async def test_a_clock_of_ours_goes_on(stage: Stage) -> None:
    async with serve(DrawnShop().app()) as address, AsyncExitStack() as stack:
        page, session = await begin(stage, stack, f"{address}lamps/harbour-lamp", address, COUNTDOWN)
        for shown in ("15:00", "14:59"):
            await page.wait_for_function(f"(shown) => {CLOCK}.textContent < shown", arg=shown)
        assert (await page.locator("main").inner_text()).startswith("Harbour Lamp\nOnly 14:5")
        assert not session.failures


@pytest.mark.parametrize("where", ["all", "all.querySelector('[data-seconds]')"])
async def test_what_others_write_into_a_clock_fails(where: str, stage: Stage) -> None:
    async with serve(DrawnShop().app()) as address, AsyncExitStack() as stack:
        page, session = await begin(stage, stack, f"{address}lamps/harbour-lamp", address, COUNTDOWN)
        await page.wait_for_function(CLOCK)
        await page.evaluate(ANOTHER.replace("WHERE", where))
        (failure,) = session.failures
        assert "have written into what an edit has put in" in failure


# Every 50 ms a card, the product's price, or the whole product is drawn anew.
BUSY = """
const cards = Array.from({ length: 1_000 }, (_, number) =>
  card({ slug: `lamp-${number}`, name: `Lamp ${number}`, cents: 1000 + number }));
const one = { slug: "harbour-lamp", name: "Harbour Lamp", cents: 129900 };
app.innerHTML = `${product(one)}<ul class=others>${cards.join("")}</ul>`;
let ticks = 0;
const tick = () => {
  ticks += 1;
  const main = app.querySelector("main");
  if (ticks % 3 === 0) app.querySelector(`li:nth-child(${ticks}) b`).textContent = money(ticks);
  if (ticks % 3 === 1) main.querySelector("p.price").textContent = money(one.cents);
  if (ticks % 3 === 2) main.outerHTML = product(one);
  setTimeout(tick, 50);
};
tick();
const frames = [];
const look = () => {
  const main = app.querySelector("main");
  if (main.checkVisibility({ opacityProperty: true })) frames.push(main.innerText);
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


async def test_a_large_page_that_never_rests_stays_edited(stage: Stage) -> None:
    async with serve(DrawnShop(script=BUSY).app()) as address, AsyncExitStack() as stack:
        page, session = await begin(stage, stack, f"{address}lamps/harbour-lamp", address)
        await page.wait_for_function("(most) => ticks >= most", arg=size(12, 100))
        frames = await page.evaluate("frames")
        assert frames
        for shown in frames:
            assert NUDGE in shown
            assert "$949.00" in shown
            assert "1,299" not in shown
        assert not session.failures
        made = {(each.product, each.role, each.before, each.after) for each in session.receipts}
        assert made == {
            ("harbour-lamp", "product.title", "", NUDGE),
            ("harbour-lamp", "product.price", "$1,299.00", "$949.00"),
        }
