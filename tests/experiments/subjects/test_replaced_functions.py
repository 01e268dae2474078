"""What reads a page does so with the browser's own functions, whatever the page puts in their place."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from environments.browser.pool import run_browsers
from environments.guest_pages.observer import Sees, observer, observer_code
from environments.observation.observe import ObservationQuery
from interventions.apply.plan import Plan
from interventions.edits.in_browser import CardQuery, ElementQuery
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.session import Session
from tests.experiments.drawn_shop import SITE, DrawnShop
from tests.experiments.subjects.guest_place import SEEN, Place, at_leisure
from tests.experiments.subjects.test_observed_guests import CASES, REPORTED, carry_out
from tests.experiments.treatment.test_drawn_pages import Stage, stage
from tests.support import pages, serve, usual

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_driver")]
__all__ = ["stage"]

WANTED = ObservationQuery(
    (ElementQuery("h1.name"), ElementQuery("p.price"), ElementQuery("img", "src")),
    own=True,
    pictures=True,
    cards=(CardQuery("item", "li.card", ElementQuery("a", "href"), (ElementQuery("b"),)),),
    drawn=("h1.name",),
)
ONESTOPMARKET = load_site_map("onestopmarket")
VIEWS: tuple[Sees, ...] = ("page", "viewport")

REPLACE = """
const replace = (lie) => {
  const { apply: run, ownKeys } = Reflect, { defineProperty, getOwnPropertyDescriptor, hasOwn } = Object;
  const kinds = Object.getOwnPropertyNames(self).filter((name) => /^[A-Z]/.test(name) && name !== "Promise");
  const iterators = [[], new Map(), new Set(), "", "".matchAll(/x/g)].map((list) =>
    Object.getPrototypeOf(list[Symbol.iterator]()));
  const owners = [...iterators, ...kinds.map((kind) => self[kind]?.prototype), Math, JSON, document];
  for (const owner of owners) {
    for (const name of owner ? ownKeys(owner) : []) {
      const was = getOwnPropertyDescriptor(owner, name);
      if (!was.configurable || name === "constructor") continue;
      for (const part of ["get", "value"]) {
        const own = was[part];
        if (typeof own !== "function" || hasOwn(own, "prototype")) continue;
        was[part] = function () { return lie(name, () => run(own, this, arguments)); };
      }
      defineProperty(owner, name, was);
    }
  }
};
"""
"""Puts something else in the place of each function and property that all objects of a kind share."""

# Counts what is called between two tasks of the page's own.
COUNT = """
const called = [];
let counts = false;
replace((name, own) => {
  if (counts) called[called.length] = `${String(name)}`;
  return own();
});
draw().then(() => new Promise((done) => setTimeout(done, 500))).then(() => {
  app.querySelector("p.story").append("!");
  app.querySelector("h1").className = "name now";
  counts = true;
  setTimeout(() => { counts = false; console.log("called " + called.join(" ")); }, 500);
});
"""


@pytest.mark.thorough
async def test_no_function_is_forgotten(stage: Stage) -> None:
    shop = DrawnShop(script=REPLACE + COUNT)
    async with serve(shop.app()) as address:
        slot = await stage.proxy.open_slot()
        (stage.folder / "site.yaml").write_text(yaml.safe_dump(SITE))
        site = load_site_map(str(stage.folder / "site.yaml"))
        for sees in VIEWS:
            script = observer(WANTED, "/.souk/seen", sees)
            slot.session = Session(
                Plan(), site, AllowList.of(address), script=script, observer=observer_code(site)
            )
            async with stage.browsers.context(slot.url) as context:
                page = await context.new_page()
                said = page.expect_console_message(lambda each: each.text.startswith("called"))
                async with said as message, page.expect_request("**/.souk/seen"):
                    await page.goto(f"{address}lamps/harbour-lamp")
                called = (await message.value).text.split()[1:]
                assert not called, " ".join(dict.fromkeys(called))
                assert not slot.session.failures


SCOPE = """
const asked = new Set();
const scope = new Proxy({}, { has: (scope, name) => { asked.add(name); return false; } });
"""
UNFORGEABLE = {"document", "location", "undefined", "NaN"}


@pytest.mark.parametrize("sees", VIEWS)
async def test_no_global_name_is_forgotten(sees: Sees) -> None:
    script = f"{observer_code(ONESTOPMARKET)}; {observer(WANTED, '/seen', sees)}"
    html = f"""<!doctype html><script>{SCOPE}</script><script>with (scope) {{ {script} }}</script>
<script>asked.clear()</script><style>p {{ color: oklch(.5 .1 90) }} i::before {{ content: "9" }}</style>
<h1 class=name>Lamp</h1><p class=price>$9</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="">"""
    async with (
        pages({"/": html, "/seen": ""}) as url,
        run_browsers() as browsers,
        browsers.context(None) as context,
    ):
        page = await context.new_page()
        async with page.expect_request("**/seen"):
            await page.goto(url)
        async with page.expect_request("**/seen"):
            await page.evaluate("document.querySelector('p').append(' now')")
        async with page.expect_request("**/seen"):
            await page.evaluate("document.querySelector('p').append('!'), document.body.click()")
        assert set(await page.evaluate("[...asked]")) - UNFORGEABLE == set()


HONEST = ("honest", "hidden", "taken away", "the old price beside")
LIES = {
    "nothing": "() => undefined",
    "yes": "() => true",
    "zero": "() => 0",
    "a text": "() => 'none'",
    "an exception": "() => { throw new Error() }",
}
# What libraries of other days do, and what nobody does.
ADDED = {
    "texts of lists for JSON": "Array.prototype.toJSON = String.prototype.toJSON = () => 'none'",
    "an index": "Object.defineProperty(Array.prototype, '0', { configurable: true, set() {} })",
    "a method over another": "HTMLElement.prototype.checkVisibility = () => true",
    "a property over another": "Object.defineProperty(Element.prototype, 'parentElement', "
    "{ get: () => null, configurable: true })",
    "a property of the page": "Object.defineProperty(document, 'title', { get() {}, configurable: true })",
    "the size of the window": "var innerHeight = 0, innerWidth = 0, scrollY = 9999",
    "global names": "let Map = Array, Set = Array, getComputedStyle = () => ({}), Math = {}, NodeFilter = {}",
}
SCRIPTS = {name: f"{REPLACE} addEventListener('load', () => replace({lie}))" for name, lie in LIES.items()}
SCRIPTS |= {name: f"</script><script>{added}" for name, added in ADDED.items()}


@pytest.mark.thorough
@pytest.mark.parametrize(("case", "name"), usual(product(HONEST, SCRIPTS), 18))
async def test_what_is_replaced_changes_nothing(case: str, name: str, place: Place, tmp_path: Path) -> None:
    shop, reason = CASES[case]
    script = f"{shop.get('script', '')}; {SCRIPTS[name]}"
    record = await carry_out(place, tmp_path, "viewport", at_leisure, **shop | {"script": script})
    assert reason in record.trial.reason
    assert record.trial.outcome == ("treatment_failed" if reason else "choice"), record.trial.reason


async def test_what_cannot_be_set_aside_fails_the_trial(place: Place, tmp_path: Path) -> None:
    script = "Object.defineProperty(Element.prototype, 'closest', { value() {}, configurable: false })"
    record = await carry_out(place, tmp_path, script=script)
    assert record.trial.outcome == "treatment_failed"
    assert "the page's scripts have replaced closest" in record.trial.reason


async def test_what_is_set_aside_comes_back(place: Place, tmp_path: Path) -> None:
    script = "Element.prototype.closest = () => 7; Array.prototype.toJSON = () => 8"

    async def see(page: Any, urls: list[str]) -> None:
        for url in reversed(urls):
            await page.goto(url)
            await page.wait_for_function(REPORTED, arg=[SEEN, 0])
        assert await page.evaluate("[document.body.closest('p'), [].toJSON()]") in ([7, 8], 8)

    record = await carry_out(place, tmp_path, visit=see, script=script)
    assert record.trial.outcome == "choice", record.trial.reason
