"""Generated attacks on every kind of edit in pages that scripts draw: no trial counts that the screen belies.

The shop is that of the attacks on pages of HTML, but its script draws the page. It also undoes, hides,
covers, doubles or moves the edit, or draws anew: as it draws the page, once it is edited, each time that it
changes, later, when the agent presses or scrolls, or when the page shows the product again after another.
The oracle is the same too: what the screen shows at each look, or the observation where it has no picture.
"""

import json
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from playwright.async_api import BrowserContext

from agents.base import Decision
from environments.observation import settling
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from proxy.error_page import NOT_TREATED
from tests.experiments import drawn_shop
from tests.experiments.drawn_shop import DrawnShop
from tests.experiments.treatment.test_drawn_pages import Stage, carry_out, stage
from tests.journeys.screen import is_on_screen, is_read
from tests.journeys.test_hostile_pages import ATTACKS, KINDS, PAGE, SITE, Kind, attack
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(300, 1_800))]
__all__ = ["stage"]

CASES = size(6, 150)
CARRIER = "harbour-lamp"
MAP = SITE.model_dump(mode="json", exclude_defaults=True, exclude={"query"})
MAP |= {"drawn": True, "choice": drawn_shop.SITE["choice"]}
PARTS = PAGE.partition("<body>")[2].partition("<script>")[0]
STYLE = PAGE.partition("<style>")[2].partition("</style>")[0].replace("{{", "{").replace("}}", "}")
OTHER = {"Harbour Desk Lamp": "Cedar Lamp", "$19.99": "$17.50", "4.4": "3.9", "12": "7"}
SCRIPT = """
document.head.insertAdjacentHTML("beforeend", `<style>${STYLE}</style>`);
const isCarrier = () => slug() === "CARRIER";
const html = () => (isCarrier() ? PARTS : OTHERS) + `<button class=buy data-slug=${slug()}>Buy</button>`;
const all = { subtree: true, childList: true, characterData: true, attributes: true };
const moments = {};
let times = 0;
move = async () => {
  await load(`/api/lamps/${slug()}`);
  app.innerHTML = html();
  if (!isCarrier()) return;
  times += 1;
  moments[`drawing ${times}`]?.();
  await null; // now it has been edited
  moments[`drawn ${times}`]?.();
};
"""
MOMENTS = {
    "drawn": "moments['drawn 1'] = strike; move()",
    "as it is drawn": "moments['drawing 1'] = strike; move()",
    "edited": "new MutationObserver(() => { if (times) strike(); }).observe(app, all); move()",
    "each time": """let left = 60; const seen = new MutationObserver(() => {
        if (times && isCarrier() && left--) { window.struck = 0; strike(); seen.takeRecords(); } });
        seen.observe(app, all); move()""",
    "later": "addEventListener('later', () => setTimeout(strike, 15)); move()",
    "More": "addEventListener('click', (event) => { if (event.target.id === 'rien') strike(); }); move()",
    "scroll": "addEventListener('scroll', strike, { once: true }); move()",
    "there and back": "moments['drawn 2'] = strike; move()",
    "as it comes back": "moments['drawing 2'] = strike; move()",
}
DEEDS = {
    "later": ["later"],
    "More": ["More"],
    "scroll": ["scroll"],
    "there and back": ["cedar-lamp", CARRIER],
    "as it comes back": ["cedar-lamp", CARRIER],
}
"""What the agent does for a moment to come: it presses a text, or scrolls, or waits."""
REDRAWN = {
    "draws again": "app.innerHTML = html()",
    "asks and draws again": "await load(`/api/lamps/${slug()}`); app.innerHTML = html()",
    "draws a part again": """const made = document.createElement('div'); made.innerHTML = html();
        document.querySelector('#fiche').replaceWith(made.querySelector('#fiche'))""",
    "draws elements again": """const made = document.createElement('div'); made.innerHTML = html();
        for (const css of ['#fiche > h2', 'p.prix > b', 'p.notes', 'p.stock', 'ul.choix', 'div.texte'])
          document.querySelector(css)?.replaceWith(made.querySelector(css))""",
    "writes texts again": """const made = document.createElement('div'); made.innerHTML = html();
        for (const css of ['#fiche > h2', 'p.prix > b', 'p.notes > i', 'p.notes > u', 'div.texte'])
          document.querySelector(css).textContent = made.querySelector(css).textContent""",
    "takes out and puts back": """const at = document.querySelector('#fiche'), after = at.nextSibling;
        at.remove(); await null; after.before(at)""",
    "adds a part": "app.insertAdjacentHTML('beforeend', '<p>Sent in two days</p>')",
    "harmless": ATTACKS["harmless"],
    "nothing": "",
}
"""What honest shops do."""
OF_DRAWN = {
    "writes the old text": "for (const each of t.childNodes) if (each.data?.includes(NEW)) each.data = OLD",
    "draws the old text": "t.outerHTML = t.outerHTML.replace(NEW, OLD)",
    "puts a copy in its place": "const f = t.closest('#fiche'); f.replaceWith(f.cloneNode(true))",
    "draws again, with the old text": "app.innerHTML = html() + `<p>${OLD}</p>`",
    "draws again, and hides what is new": """document.head.insertAdjacentHTML('beforeend',
        '<style>[class*=-details] { HIDING }</style>');
        app.innerHTML = html()""",
    "draws a second page": "app.insertAdjacentHTML('beforeend', html().replaceAll(/ (id|class)=\\w+/g, ''))",
    "draws again elsewhere": "app.innerHTML = ''; document.body.insertAdjacentHTML('beforeend', html())",
}


class Witness:
    """An agent that notes at each look what the carrier's page shows, does its deeds, and buys."""

    def __init__(self, context: BrowserContext, kind: Kind, deeds: list[str], *, picture: bool) -> None:
        self._context, self._kind, self._picture = context, kind, picture
        self._deeds = ["first tab", *deeds, "look", "Buy"]
        self.new: list[bool] = []
        self.old: list[bool] = []

    async def act(self, observation: Observation) -> Decision:
        page = self._context.pages[observation.active_tab]
        if page.url.endswith(CARRIER) and await page.title() != NOT_TREATED:
            await page.wait_for_function("window.struck !== 1")
            for text, found in ((self._kind.new, self.new), (self._kind.old, self.old)):
                found.append(
                    await is_on_screen(page, text) if self._picture else is_read(observation.html, text)
                )
        deed = self._deeds.pop(0) if self._deeds else "look"
        match deed:
            case "first tab":
                return Decision("", "", Action("tab_focus", (0,)))
            case "later":
                await page.evaluate("dispatchEvent(new Event('later'))")
                await page.wait_for_function(f"window.struck === 2 || document.title === '{NOT_TREATED}'")
            case "scroll":
                return Decision("", "", Action("scroll", (0.0, 2.0)))
            case _:
                before, found, _ = observation.html.partition(f">{deed}</")
                if found:
                    bid = before.rpartition('bid="')[2].partition('"')[0]
                    return Decision("", "", Action("click", (bid,)))
        return Decision("", "", Action("scroll", (0.0, 0.0)))


class Case(NamedTuple):
    name: str
    kind: Kind
    script: str
    deeds: list[str]
    observation: dict[str, Any]
    honest: bool


def case(rng: random.Random, *, honest: bool) -> Case:
    """One case, by chance; `honest`: the page leaves its edits as they are."""
    word, kind = rng.choice(list(KINDS.items()))
    attacks: Mapping[str, str] = REDRAWN if honest else ATTACKS | OF_DRAWN
    name = rng.choice(list(REDRAWN)) if honest else ""
    # What draws anew each time that an edit is made takes each back, whatever it means to.
    moments = {when: code for when, code in MOMENTS.items() if when != "each time" or not honest}
    told, script, when = attack(kind, rng, name, attacks, moments)
    view = rng.choice(kind.views)
    observation = {"screenshot": True} if view.screenshot else {"page": view.page}
    others = PARTS
    for mine, its in OTHER.items():
        others = others.replace(mine, its)
    drawn = SCRIPT.replace("${STYLE}", STYLE).replace("PARTS", json.dumps(PARTS))
    drawn = drawn.replace("OTHERS", json.dumps(others)).replace("CARRIER", CARRIER)
    return Case(
        f"{word}: {told}, {observation}", kind, drawn + script, DEEDS.get(when, []), observation, honest
    )


async def trial(stage: Stage, made: Case) -> tuple[str, str, Witness]:
    witnesses = list[Witness]()

    def agent(context: BrowserContext) -> Witness:
        witnesses.append(Witness(context, made.kind, made.deeds, picture="screenshot" in made.observation))
        return witnesses[0]

    trajectory, _ = await carry_out(
        stage,
        DrawnShop(script=made.script),
        agent,
        site=MAP,
        edits=[made.kind.edit],
        observation=made.observation,
        limits={"steps": 7, "seconds": 60},
    )
    return trajectory.outcome or "", trajectory.reason, witnesses[0]


@pytest.mark.thorough
async def test_no_trial_counts_that_the_screen_belies(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "SETTLE_SECONDS", 1.5)
    rng, wrong = random.Random(12), []
    for number in range(CASES):
        made = case(rng, honest=number % 3 == 0)
        outcome, reason, seen = await trial(stage, made)
        new = seen.new if made.kind.new else [True]
        belied = outcome == "choice" and (not any(new) or any(seen.old))
        if belied or (made.honest and outcome != "choice"):
            wrong.append((made.name, outcome, reason, seen.new, seen.old))
    assert not wrong
