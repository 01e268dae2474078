"""What reads a page notices every function of the browser's that it uses and that the page replaces."""

import re

import pytest
import yaml

from environments.observe import Wanted
from environments.observer import observer
from interventions.apply.plan import Plan
from interventions.edits.in_browser import Spot
from interventions.html.inline_script import UNTOUCHED
from interventions.yaml.sitemap import load_site_map
from proxy.session import AllowList, Session
from tests.experiments.drawn_shop import SITE, DrawnShop
from tests.experiments.episodes.test_drawn_pages import Stage, stage
from tests.support import serve

pytestmark = pytest.mark.browser
__all__ = ["stage"]

# Counts what is called, but for what is known to be noticed, between two tasks of the page's own.
COUNT = """
const known = new Set(KNOWN), called = new Set();
const symbols = new Set([Symbol.iterator, Symbol.match, Symbol.matchAll, Symbol.replace]);
let counts = false;
for (const type of Object.getOwnPropertyNames(self)) {
  const { prototype } = typeof self[type] === "function" ? self[type] : {};
  for (const name of prototype && type !== "Promise" ? Reflect.ownKeys(prototype) : []) {
    const was = Object.getOwnPropertyDescriptor(prototype, name);
    if (known.has(name) || symbols.has(name) || name === "constructor" || !was.configurable) continue;
    for (const part of ["get", "value"]) {
      const { [part]: own } = was;
      if (typeof own !== "function" || Object.hasOwn(own, "prototype")) continue;
      was[part] = function () {
        if (counts) called.add(`${type}.${String(name)}`);
        return Reflect.apply(own, this, arguments);
      };
    }
    Object.defineProperty(prototype, name, was);
  }
}
draw().then(() => new Promise((done) => setTimeout(done, 500))).then(() => {
  app.querySelector("p.story").append("!");
  app.querySelector("h1").className = "name now";
  counts = true;
  setTimeout(() => { counts = false; document.title = "called " + [...called].sort().join(" "); }, 500);
});
"""


def known() -> set[str]:
    """The functions whose replacement is noticed."""
    return {
        name for names in re.findall(r'"([\w ]+)"', UNTOUCHED.partition("};")[0]) for name in names.split()
    }


async def test_no_function_is_forgotten(stage: Stage) -> None:
    wanted = Wanted((Spot("h1.name"), Spot("p.price")), own=True, cards=("li.card",), drawn=("h1.name",))
    shop = DrawnShop(script=COUNT.replace("KNOWN", str(sorted(known()))))
    async with serve(shop.app()) as address:
        slot = await stage.proxy.open_slot()
        (stage.folder / "site.yaml").write_text(yaml.safe_dump(SITE))
        site = load_site_map(str(stage.folder / "site.yaml"))
        for sees in ("page", "viewport"):
            script = observer(wanted, "/.souk/seen", sees)
            slot.session = Session(Plan(), site, AllowList.of(address), script=script, observed=True)
            async with stage.browsers.context(slot.url) as context:
                page = await context.new_page()
                async with page.expect_request("**/.souk/seen"):
                    await page.goto(f"{address}lamps/harbour-lamp")
                await page.wait_for_function("document.title.startsWith('called')")
                called = (await page.title()).split()[1:]
                assert not called, " ".join(called)
                assert not slot.session.failures
