"""A shop whose pages scripts draw, in many ways: its HTML holds no product, or is soon drawn over."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tests.experiments.foreign_shop import live_experiment

LAMPS: Final = {"harbour-lamp": ("Harbour Lamp", 129900), "cedar-lamp": ("Cedar Lamp", 124900)}
STORY: Final = "A warm light for long evenings."

SITE: Final[dict[str, Any]] = {
    "name": "drawn",
    "drawn": True,
    "pages": {"product": "main.product", "listing": "ul.lamps"},
    "roles": {
        "page.body": "body",
        "product.title": "h1.name",
        "product.name": "h1.name",
        "product.price": "p.price",
        "product.stock": "p.stock",
        "product.description": "p.story",
        "product.add_to_cart": "button.buy",
        "item": "li.card",
        "item.link": {"css": "a", "attribute": "href"},
        "item.title": "a",
        "item.name": "a",
        "item.price": "b.cost",
    },
    "choice": {"request": {"path": "/api/cart", "field": "lamp"}},
}
DATA: Final = [
    {
        "url": "/api/lamps*",
        "items": "$..[?@.cents]",
        "link": {"path": "$.slug", "page": "/lamps/${value}"},
        "roles": {"name": "$.name", "price": {"path": "$.cents", "factor": 100}},
    }
]

LIBRARY: Final = """
const app = document.querySelector("#app");
const slug = () => location.pathname.split("/").pop();
const money = (cents) => (cents / 100).toLocaleString("en-US", { style: "currency", currency: "USD" });
const load = async (path) => (await fetch(path)).json();
const inner = ({ slug, name, cents }) => `<h1 class=name>${name}</h1><p class=price>${money(cents)}</p>
  <p class=stock>In stock</p><p class=story>STORY</p><button class=buy data-slug=${slug}>Buy</button>`;
const product = (lamp) => `<main class=product>${inner(lamp)}</main>`;
const card = ({ slug, name, cents }) =>
  `<li class=card><a href="/lamps/${slug}">${name}</a> <b class=cost>${money(cents)}</b></li>`;
const draw = async () => {
  const found = await load(slug() ? `/api/lamps/${slug()}` : "/api/lamps");
  app.innerHTML = slug() ? product(found) : `<ul class=lamps>${found.map(card).join("")}</ul>`;
};
addEventListener("click", (event) => {
  const [at] = event.composedPath();
  if (at.matches?.("button.buy")) {
    fetch("/api/cart", { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ lamp: at.dataset.slug }) });
  }
  if (at.matches?.("a.move, li.card a")) {
    event.preventDefault();
    history.pushState(null, "", at.href);
    move();
  }
});
addEventListener("popstate", () => move());
let move = draw;
const put = (html, done) => {
  const within = document.createElement("div");
  within.innerHTML = html;
  app.append(within);
  const scripts = [...within.querySelectorAll("script")];
  for (const script of scripts) {
    const made = document.createElement("script");
    made.text = script.text;
    document.head.append(made);
    made.parentNode.removeChild(made);
    script.remove();
  }
  done(scripts.length);
};
"""

KINDS: Final = {
    "shell": "draw();",
    "late": "setTimeout(draw, 150);",
    "hydrated": "load(`/api/lamps/${slug()}`).then((lamp) => { app.innerHTML = product(lamp); });",
    "drawn again and again": """load(`/api/lamps/${slug()}`).then((lamp) => {
        let times = 0;
        const again = () => { app.innerHTML = product(lamp); if (++times < 15) setTimeout(again, 20); };
        again(); });""",
    "texts again and again": """draw().then(async () => {
        const { name, cents } = await load(`/api/lamps/${slug()}`);
        let times = 0;
        const again = () => {
          app.querySelector("h1").firstChild.data = name;
          app.querySelector("p.price").textContent = money(cents);
          if (++times < 15) setTimeout(again, 20);
        };
        again(); });""",
    "keyed": """load("/api/lamps").then((lamps) => {
        app.innerHTML = product(lamps.find((lamp) => lamp.slug !== slug()));
        const { name, cents } = lamps.find((lamp) => lamp.slug === slug());
        app.querySelector("button").dataset.slug = slug();
        app.querySelector("h1").firstChild.data = name;
        app.querySelector("p.price").firstChild.data = money(cents); });""",
    "in parts": """draw().then(async () => {
        const price = app.querySelector("p.price"), story = app.querySelector("p.story");
        price.remove(); story.remove();
        setTimeout(() => app.querySelector("h1").after(price), 60);
        setTimeout(() => price.after(story), 120); });""",
    "many text nodes": """load(`/api/lamps/${slug()}`).then((lamp) => {
        const made = document.createElement("div");
        made.innerHTML = product(lamp);
        made.querySelector("p.price").firstChild.splitText(1).splitText(2).before(document.createComment(""));
        made.querySelector("p.story").firstChild.splitText(5);
        app.append(made); });""",
    "shadow": """customElements.define("a-lamp", class extends HTMLElement {
        async connectedCallback() {
          const root = this.attachShadow({ mode: "open" });
          root.innerHTML = product(await load(`/api/lamps/${slug()}`));
        } });
        app.innerHTML = "<a-lamp></a-lamp>";""",
    "shadow, upgraded late": """app.innerHTML = "<a-lamp></a-lamp>";
        load(`/api/lamps/${slug()}`).then((lamp) => {
        class Lamp extends HTMLElement {
          connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = product(lamp); }
        }
        customElements.define("a-lamp", Lamp); });""",
    "declarative shadow": "",
    "twice": """draw().then(() => {
        app.querySelector("h1").before(app.querySelector("p.price").cloneNode(true)); });""",
    "an old library": "String.prototype.at = () => ''; draw();",
    # As jQuery puts HTML into a page: it runs the scripts in it, and takes each away afterwards.
    "a piece of HTML": """draw().then(async () => {
        put(await (await fetch(`/pieces/${slug()}`)).text(), ran => { if (ran !== 1) app.remove(); }); });""",
    "a page within": """draw().then(async () => {
        put(await (await fetch("/pages/own")).text(), ran => { if (ran !== 2) app.remove(); }); });""",
    "a cart on the page": """draw(); addEventListener("click", ({ target: { dataset: { slug } } }) => {
        if (slug) setTimeout(() => { app.insertAdjacentHTML("beforeend",
          `<p class=in-cart>1 x <a href="/lamps/${slug}">in your cart</a></p>`); }, 50); });""",
    # Shops that undo what is done
    "the nudge goes at once": """draw(); new MutationObserver(() =>
        document.querySelectorAll("[class*=-details]").forEach((each) => each.remove()))
        .observe(document, { subtree: true, childList: true });""",
    "the nudge is hidden": """draw().then(() => document.head.insertAdjacentHTML("beforeend",
        "<style>[class*=-details] { opacity: 0 }</style>"));""",
    "the old price beside": """draw().then(() => app.querySelector("p.story").insertAdjacentHTML("afterend",
        `<p>Before: ${money(OLD_CENTS)}</p>`));""",
    "no price": "draw().then(() => app.querySelector('p.price').remove());",
    "never drawn": "",
}

UNDONE: Final = frozenset(
    {"the nudge goes at once", "the nudge is hidden", "the old price beside", "no price", "never drawn"}
)

NUDGE, NEW, STORY_NOW = "Only two left", "$949.00", "A cold light for long evenings."
EDITS = [
    {"insert_text": {"after": "product.title", "text": NUDGE, "style": "badge"}},
    {"set_price": 949},
    {"remove": "product.stock"},
    {"replace_text": {"in": "product.description", "from": "warm", "to": "cold"}},
]


@dataclass
class DrawnShop:
    """What its pages do is one of KINDS; `hydrated` and `declarative shadow` send the product in HTML too.

    `script`: what they do instead.
    """

    kind: str = "shell"
    script: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    bought: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        path, key = request.url.path, request.url.path.rpartition("/")[2]
        if path == "/api/cart":
            self.bought.append((await request.json())["lamp"])
            return JSONResponse({"ok": True})
        if path.startswith("/api/lamps/"):
            return JSONResponse(lamp(key)) if key in LAMPS else Response(status_code=404)
        if path == "/api/lamps":
            return JSONResponse([lamp(each) for each in LAMPS])
        if path.startswith("/pieces/"):
            return HTMLResponse("<p>Sent in two days.</p><script>window.two = 2;</script>")
        if path == "/pages/own":
            return HTMLResponse("<!doctype html><p>Sent in two days.</p><script>window.two = 2;</script>")
        return HTMLResponse(self.page(key), headers=self.headers)

    def page(self, key: str) -> str:
        sent = ""
        if key in LAMPS and self.kind in ("hydrated", "declarative shadow"):
            name, cents = LAMPS[key]
            sent = (
                f"<main class=product><h1 class=name>{name}</h1><p class=price>${cents / 100:,.2f}</p>"
                f"<p class=stock>In stock</p><p class=story>{STORY}</p>"
                f"<button class=buy data-slug={key}>Buy</button></main>"
            )
            if self.kind == "declarative shadow":
                sent = f"<a-lamp><template shadowrootmode=open>{sent}</template></a-lamp>"
        others = "".join(f'<a class=move href="/lamps/{each}">{each}</a> ' for each in LAMPS)
        script = f"{LIBRARY}\n{self.script or KINDS[self.kind]}".replace("STORY", STORY)
        script = script.replace("OLD_CENTS", json.dumps(LAMPS.get(key, ("", 0))[1]))
        return (
            f'<!doctype html><html lang=en><head><meta charset="utf-8"><title>Lamps</title></head>'
            f"<body><nav>{others}</nav><div id=app>{sent}</div><script>{script}</script></body></html>"
        )


def lamp(key: str) -> dict[str, Any]:
    name, cents = LAMPS[key]
    return {"slug": key, "name": name, "cents": cents}


# Every text that is drawn on the page, in open shadow trees too. The reader shares nothing with the engine.
READ = """() => {
  const said = [];
  const read = (node, seen) => {
    if (node.nodeType === 3) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const boxes = [...range.getClientRects()];
      if (seen && boxes.some((box) => box.width > 0 && box.height > 0)) said.push(node.data);
    }
    if (node.nodeType === 1) {
      const style = getComputedStyle(node);
      seen = style.visibility === "visible" && node.checkVisibility({ opacityProperty: true });
      if (["SCRIPT", "STYLE"].includes(node.tagName)) return;
    }
    for (const child of (node.shadowRoot ?? node).childNodes) read(child, seen);
  };
  read(document.body, true);
  return [location.pathname, said.join("").replace(/\\s+/g, " ")];
}"""


class Glance(NamedTuple):
    """What the reader saw at a look: whose page, and its texts."""

    product: str
    text: str
    frames: Sequence[str] = ()
    """Its texts at each frame before, where they were read."""

    def is_treated(self, old: str) -> bool:
        shown = all(each in self.text for each in (NUDGE, NEW, STORY_NOW))
        return shown and not any(each in self.text for each in (old, "In stock", STORY))


def experiment(
    folder: Path, address: str, site: dict[str, Any], edits: list[dict[str, Any]], **more: Any
) -> Path:
    """The files of an experiment in the shop, whose one nudge makes these edits."""
    rows = [f"{key},Lamps,{name},{cents / 100},80%,12,/lamps/{key}" for key, (name, cents) in LAMPS.items()]
    nudge = {"id": "few", "family": "scarcity", "edits": edits}
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    own = {"site": str(folder / "site.yaml"), "page": "lamps/${key}", "limits": {"steps": 5, "seconds": 60}}
    return live_experiment(folder, "drawn", address, rows, nudge, **(own | more))
