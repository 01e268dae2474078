"""Every screen can be read and walked with the keyboard: contrast, focus, names, and no scrolling sideways.

The browser's own computed values are asked, by the rules of WCAG 2.2 AA.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from experiments.records.control import Runner
from experiments.records.reading.notes import write_note
from tests.experiments.viewer.made_run import (
    RUN,
    record,
    sqlite,
    stored,
    trial,
    viewing,
    with_order,
    with_sent_page,
)
from tests.support import usual

pytestmark = pytest.mark.browser

FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => top.slice(0, 3).map((each, i) => each * top[3] + under[i] * (1 - top[3]));
  const light = (color) => {
    const [r, g, b] = color.map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const above = [], its = (each) => getComputedStyle(each).backgroundColor;
    for (let each = element; each; each = each.parentElement) above.push(its(each));
    return above.reverse().map(rgba).reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "OPTION"].includes(element.tagName)) continue;
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const under = ground(element), ink = over(rgba(style.color), under);
    const [low, high] = [light(ink), light(under)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05), text = walker.currentNode.data.trim().slice(0, 40);
    if (ratio < (large ? 3 : 4.5)) found.push([text, ratio.toFixed(2)]);
  }
  return found;
}"""

NAMELESS = """() => {
  const silent = ["INPUT", "SELECT", "TEXTAREA", "IFRAME", "IMG"];
  const told = (each) => each.labels?.length || each.getAttribute("aria-label") || each.title || each.alt
    || (!silent.includes(each.tagName) && each.textContent.trim());
  const all = "a[href], button, input:not([type=hidden]), select, textarea, iframe, img, [role=region]";
  return [...document.querySelectorAll(all)].filter((each) => !told(each))
    .map((each) => each.outerHTML.slice(0, 100));
}"""

WATCH_FOCUS = """() => {
  window.visited = 0;
  window.unseen = [];
  addEventListener("focusin", () => {
    const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const inside = box.width > 0 && box.right > 0 && box.left < innerWidth;
    const seen = at === document.body || at.tagName === "IFRAME" || (outlined && inside);
    visited += 1;
    if (!seen) unseen.push(at.outerHTML.slice(0, 100));
  });
}"""
"""Notes what gets the focus, and what of it does not show this."""

WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = sqlite(tmp_path_factory.mktemp("readable"))
    made = [record(trial(number), text="W" * 200 + " ") for number in range(8)]
    failed = record(
        trial(8, outcome="infra_error", choice=None, reason="browser: it has crashed", attempts=3)
    )
    sent = with_sent_page(record(trial(9)))
    shown = [record(trial(10 + place, modality=name)) for place, name in enumerate(("html", "screenshot"))]
    written = [{"number": 0, "text": "I looked at both lamps, and took the first one."}]
    ordered = with_order(record(trial(12)), "W" * 200)
    records = stored(url, [*made, replace(failed, output=written), sent, *shown, ordered])
    write_note(records, RUN, made[1].trial.trial, "odd, it has read the price", "Look again.")
    Runner(RUN, trials=40, budget=0.01).begin(records)
    with viewing(records, url) as found:
        yield found


@pytest.fixture(scope="module", params=usual(itertools.product((400, 1280), ("dark", "light")), 1), ids=str)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    width, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(120_000)  # an answer is worked out by a process of its own
    yield page
    page.close()


def screens(address: str) -> dict[str, str]:
    """The addresses of all screens by their names."""
    trials = f"{address}/runs/{RUN}/trials"
    chosen, failed = f"{1:032x}", f"{8:032x}"
    return {
        "runs": f"{address}/",
        "run": f"{address}/runs/{RUN}",
        "answer": f"{address}/runs/{RUN}/answer",
        "interventions": f"{address}/runs/{RUN}/interventions",
        "trials": trials,
        "filtered": f"{trials}?condition=nudged&sort=-seconds&q=lamp",
        "tagged": f"{trials}?tag=odd&modality=",
        "nothing": f"{trials}?q=nowhere",
        "trial": f"{trials}/{chosen}",
        "source": f"{trials}/{chosen}?view=source",
        "sent": f"{trials}/{9:032x}",
        "sent source": f"{trials}/{9:032x}?view=source",
        "order": f"{trials}/{12:032x}",
        "failed": f"{trials}/{failed}",
        "twin": f"{trials}/{chosen}/twin",
        "missing": f"{trials}/{'f' * 32}",
    }


def test_every_screen_is_readable(page: Page, address: str) -> None:
    problems: dict[str, Any] = {}
    for name, url in screens(address).items():
        page.goto(url)
        for what, script in (("faint", FAINT), ("nameless", NAMELESS), ("wide", WIDE)):
            if found := page.evaluate(script):
                problems[f"{name}: {what}"] = found
        page.evaluate(WATCH_FOCUS)
        for _ in range(12):
            page.keyboard.press("Tab")
        visited, unseen = page.evaluate("[visited, unseen]")
        if unseen or not visited:
            problems[f"{name}: focus"] = unseen
        if not page.title() or page.locator("html[lang]").count() != 1 or page.locator("h1").count() != 1:
            problems[f"{name}: page"] = page.title()
    assert problems == {}
