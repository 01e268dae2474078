"""A shop that is not ours: Magento's names in a markup of its own, and scripts that do as they like."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from agents.base import Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.shop.design import ShopDesign
from interventions.html.numbers import figures
from interventions.yaml.yaml_source import parse_yaml

KEYS = ("harbour-desk-lamp", "cedar-reading-lamp")
NAMES = {"harbour-desk-lamp": "Harbour Desk Lamp", "cedar-reading-lamp": "Cedar Reading Lamp"}
NUDGE = "This product is a best seller!"
DESCRIPTION = "A warm light for long evenings."

MESSAGE = '<div class="message-success"><div data-bind="prepareMessageForHtml()">TEXT</div></div>'

WALL = """<title>One moment</title><p>Checking your browser</p>
<script>document.cookie = 'human=1; path=/'; location.reload()</script>"""
"""One that leads on by itself."""


@dataclass
class ForeignShop:
    """What it does is set by each test; `script` and `extra` may hold `KEY`."""

    names: dict[str, str] = field(default_factory=lambda: dict(NAMES))
    price: str = "$19.99"
    canonical: str = ""
    """The path that a page says is its own; empty: it says none."""
    moved: str = ""
    """Where the start address leads; empty: nowhere."""
    script: str = ""
    extra: str = ""
    head: str = ""
    message: str = "You added {name} to your shopping cart."
    status: int = 200
    button: str = "Add to Cart"
    press: str = ""
    """What the button does, as JavaScript; empty: the shop says its message."""
    reloads: bool = False
    """Whether a page is loaded anew when something is added to the cart."""
    markup: str = ""
    """The page of a product, in place of its own; it may hold `KEY` and `NAME`."""
    wall: str = ""
    """A page that comes first to whoever has no cookie `human`; empty: none. It may hold `PATH`."""
    asked: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        methods = ["GET", "POST"]
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=methods)])

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        self.asked.append(path)
        if self.wall and "human" not in request.cookies:
            return HTMLResponse(self.wall.replace("PATH", path))
        key = request.query_params.get("id", "") or next(
            (key for key in self.names if key in request.url.query), ""
        )
        key = key or next((key for key in self.names if key in path), "")
        if path.startswith("/raw/"):
            return PlainTextResponse(self.page(key, plain=True))
        if path.startswith("/go/"):
            return RedirectResponse(f"/untreated/{key}")
        if path.startswith("/bare/"):  # not even its markup says what it is
            return HTMLResponse(re.sub('<meta property="og:type"[^>]*>', "", self.page(key, plain=True)))
        if path.startswith(("/untreated/", "/p/")):
            return HTMLResponse(self.page(key, plain=True))
        if not key or path.startswith("/none/"):
            return HTMLResponse("<title>Not here</title>", status_code=404)
        if self.moved and "moved" not in request.query_params:
            target = self.moved.replace("KEY", key)
            if target.partition("?")[0] != path:
                return RedirectResponse(target)
        added = request.query_params.get("added")
        return HTMLResponse(self.page(key, added=bool(added)), status_code=self.status)

    def page(self, key: str, *, plain: bool = False, added: bool = False) -> str:
        """A product's page; `plain`: without scripts, and with no word whose page it is."""
        name, script = self.names[key], "" if plain else self.script.replace("KEY", key)
        if self.markup:
            return self.markup.replace("KEY", key).replace("NAME", name)
        canonical = self.canonical.replace("KEY", key)
        link = f'<meta property="og:url" content="{canonical}">' if canonical and not plain else ""
        said = json.dumps(self.message.format(name=name))
        message = MESSAGE.replace("TEXT", escape(json.loads(said))) if added else ""
        press = "location.search = 'added=1'" if self.reloads else f"say({escape(said)})"
        press = escape(self.press.replace("KEY", key)) or press
        return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<meta property="og:type" content="product">{link}{"" if plain else self.head.replace("KEY", key)}
<script>
function say(text) {{
  document.querySelector("#messages").innerHTML = `{MESSAGE}`;
  document.querySelector("#messages [data-bind]").textContent = text;
}}
</script></head><body>
<nav>{"" if plain else self.extra.replace("KEY", key)}</nav>
<div id="messages">{message}</div>
<main>
<div class="page-title-wrapper product"><h1 class="page-title"><span class="base">{name}</span></h1></div>
<div class="product-info-main">
  <div class="stock available"><span>In stock</span></div>
  <div class="product-reviews-summary">
    <div class="rating-summary"><div class="rating-result" title="80%"
      ><span style="width:80%"><span>80%</span></span></div></div>
    <div class="reviews-actions"><a class="action view" href="#reviews">12 Reviews</a></div>
  </div>
  <div class="price-box"><span class="price-wrapper" data-price-type="finalPrice"
    data-price-amount="{figures(self.price)[0].text}"
    ><span class="price">{self.price}</span></span></div>
  <div class="product-options-wrapper"><div class="options-list">
    <div class="choice">Red</div><div class="choice">Blue</div></div></div>
  <img class="gallery-placeholder__image" src="/picture.png" alt="a lamp" width="40" height="40">
  <button id="product-addtocart-button" onclick="{press}">{self.button}</button>
</div>
<div id="description">{DESCRIPTION}</div>
<div id="more"></div></main>
<script>{script}</script></body></html>"""


class Buyer:
    """Looks at every tab, scrolls where told, and buys what the last of them shows."""

    def __init__(self, *between: Action, first: int = 0) -> None:
        self._actions = [Action("tab_focus", (first,)), *between]
        self.seen: list[str] = []

    async def act(self, observation: Observation) -> Decision:
        self.seen.append(observation.html or observation.tree)
        if self._actions:
            return Decision("", "", self._actions.pop(0))
        found = re.search(r'<button bid="(\w+)"[^>]*>Add to Cart|"Add to Cart" \[bid=(\w+)', self.seen[-1])
        assert found, self.seen[-1]
        return Decision("", "", Action("click", (found[1] or found[2],)))


def live_experiment(
    folder: Path, name: str, address: str, products: Sequence[str], nudge: Mapping[str, Any], **more: Any
) -> Path:
    """The files of an experiment in a shop that is not ours, with a pair of products and one nudge."""
    header = "key,category,name,price,rating,reviews,url"
    (folder / "products.csv").write_text("\n".join([header, *products]) + "\n")
    (folder / "nudge.yaml").write_text(
        yaml.safe_dump({"interventions": [{"kind": "nudge", "direction": 1, **nudge}]})
    )
    data = {
        "name": name,
        "environment": address,
        "live": {"allow": [], "stop_before": ["place order"]},
        "goal": "Add the best lamp to the cart.",
        "options": {"catalogue": str(folder / "products.csv"), "set_size": 2, "sets": 1, "max_rating_gap": 1},
        "factors": {"nudge": {"interventions": str(folder / "nudge.yaml")}},
        **more,
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(data))
    return folder / f"{name}.yaml"


def experiment(
    folder: Path,
    shop: ForeignShop,
    address: str,
    edits: list[Mapping[str, Any]] | None = None,
    page: str = "",
    url: str = "/KEY.html",
    keyed: bool = True,
    pages: Sequence[str] = (),
    **more: Any,
) -> Path:
    """The files of an experiment in the shop, whose one nudge makes these edits.

    pages: the types of pages on which it makes them; none: all.
    url, keyed: what the catalogue says of where products are, and whether it has a column `key`.
    """
    rows = [
        f"{key if keyed else ''},Lamps,{name},{shop.price},80%,12,{url.replace('KEY', key)}"
        for key, name in shop.names.items()
    ]
    nudge = {
        "id": "praised",
        "family": "social proof",
        **({"pages": [*pages]} if pages else {}),
        "edits": edits or [{"insert_text": {"after": "product.title", "text": NUDGE}}],
    }
    return live_experiment(
        folder, "foreign", address, rows, nudge, **({"page": page} if page else {}), **more
    )


def design(path: Path) -> ShopDesign:
    return ShopDesign(parse_yaml(path.read_text(), str(path)))
