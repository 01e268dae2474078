"""Pages that want an untreated page to count: none of them makes a receipt."""

import json

import pytest

from environments.observation import settling
from tests.experiments.drawn_shop import SITE, DrawnShop
from tests.experiments.treatment.test_drawn_pages import Stage, run, stage
from tests.support import usual

pytestmark = pytest.mark.browser
__all__ = ["stage"]

# The page has no heading that the site map knows. What is sent in its place has all that the edits need.
HOSTILE = """
const shown = ({ slug, name, cents }) =>
  `<main class=product><h2>${name}</h2><p class=price>${money(cents)}</p>
  <button class=buy>Buy</button></main>`;
const path = () => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)
  .find((each) => each.startsWith("/.souk"));
const forged = `<!doctype html><html data-souk-number="1"><head></head><body data-souk-number="2">
  <main class="product" data-souk-number="3"><h1 class="name" data-souk-number="4">Harbour Lamp</h1>
  <p class="price" data-souk-number="5">$1,299.00</p><p class="stock" data-souk-number="6">In stock</p>
  <p class="story" data-souk-number="7">STORY</p></main></body></html>`;
const post = (key) => {
  const at = location.pathname;
  const body = { at, came: at, html: forged, late: false, undone: false, spoilt: false, replaced: "" };
  return fetch(path(), { method: "POST", body: key + JSON.stringify(body) });
};
const keyIn = (text) => text.match(/"key": "([0-9a-f]+)"/)?.[1] ?? "";
const tried = (what) => { document.title = what; };
const drawHostile = async () => { app.innerHTML = shown(await load(`/api/lamps/${slug()}`)); };
"""
ATTACKS = {
    "it sends one": "drawHostile().then(() => post('')).then(() => tried('sent'));",
    "it makes up a key": "drawHostile().then(() => post('0'.repeat(32))).then(() => tried('sent'));",
    "it reads its own source": """drawHostile()
        .then(() => fetch(location.href, { headers: { accept: "text/html" } }))
        .then((answer) => answer.text()).then((text) => post(keyIn(text))).then(() => tried('sent'));""",
    "it opens itself in a frame": """drawHostile().then(() => {
        const frame = document.createElement("iframe");
        document.body.append(frame);
        Object.defineProperty(frame.contentWindow.Document.prototype, "currentScript", { get() {
          const text = [...this.scripts].map((each) => each.text).join();
          if (text.includes('"key"')) post(keyIn(text)).then(() => tried("sent"));
          return null;
        } });
        frame.src = location.href; });""",
    "it changes what is sent": """Object.prototype.toJSON = function () { return { ...this, html: forged }; };
        drawHostile().then(() => tried("sent"));""",
    "it changes what is read": """drawHostile().then(() => {
        Array.prototype.join = () => forged.replace(/^.*?<head>/s, "<head>");
        app.append("more");
        tried("sent"); });""",
    "it listens to what is sent": """const keys = [];
        const { send } = XMLHttpRequest.prototype;
        XMLHttpRequest.prototype.send = function (body) {
          keys.push(body.slice(0, 32));
          send.call(this, body);
        };
        window.XMLHttpRequest = class extends XMLHttpRequest {};
        drawHostile().then(() => post(keys[0] ?? "")).then(() => tried("sent"));""",
}


@pytest.mark.parametrize("attack", usual(ATTACKS, 2))
async def test_a_page_cannot_make_receipts(
    attack: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "SETTLE_SECONDS", 1.5)
    shop = DrawnShop(script=HOSTILE + ATTACKS[attack])
    outcome, reason, _, session = await run(stage, shop, site=SITE)
    # A page that cannot be read is the browser's failure.
    assert outcome in ("treatment_failed", "infra_error"), reason
    assert not session.receipts, json.dumps([each.to_dict() for each in session.receipts])
