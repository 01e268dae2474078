"""`souk run` in shops that say in their own ways that a product is in the cart."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tests.experiments.command_line import forked_souk
from tests.experiments.foreign_shop import KEYS, ForeignShop, experiment
from tests.support import serve, usual

pytestmark = pytest.mark.browser

IDS = {key: str(number) for number, key in enumerate(KEYS, 17)}
CART = '<h1>Panier</h1><table class=cart><tr><td><a href="/{key}.html">Une lampe</a></table>'
FETCH = "fetch('{path}', {{method: 'POST', headers: {{'content-type': 'application/json'}}, body: '{body}'}})"
GRAPHQL = '{"query": "mutation { addItemToOrder(variantId: $id) { id } }", "variables": {"id": "ID"}}'


@dataclass
class SilentShop(ForeignShop):
    """Says nothing in Magento's words. Each product has an id of its own, which only its page tells."""

    head: str = '<meta name="sku" content="ID">'

    def page(self, key: str, *, plain: bool = False, added: bool = False) -> str:
        return super().page(key, plain=plain, added=added).replace("ID", IDS.get(key, ""))

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        if path == "/panier/ajouter":
            sku = (await request.form()).get("sku") or (await request.json())["variables"]["id"]
            return JSONResponse({"ok": sku in IDS.values()})
        if path.startswith("/panier/merci/"):
            return HTMLResponse("<h1>Merci</h1>")
        if path.startswith("/panier/avec/"):
            return RedirectResponse(f"/panier?avec={path.rpartition('/')[2]}")
        if path == "/panier":
            return HTMLResponse(CART.format(key=request.query_params["avec"]))
        if path == "/api/panier":
            return JSONResponse({"lignes": [{"lien": f"/{request.query_params['avec']}.html", "prix": 19}]})
        return await super().answer(request)


WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "form": (
        "const f = new FormData(); f.set('sku', 'ID'); fetch('/panier/ajouter', {method: 'POST', body: f})",
        {"choice": {"request": {"path": "/panier/ajouter", "field": "sku"}}},
    ),
    "graphql": (
        FETCH.format(path="/panier/ajouter", body=GRAPHQL),
        {
            "choice": {
                "request": {
                    "path": "/panier/ajouter",
                    "operation": "addItemToOrder",
                    "field": "$.variables.id",
                }
            }
        },
    ),
    "cart's page": (
        "location.assign('/panier/avec/KEY')",
        {
            "pages": {"cart": "table.cart"},
            "roles": {"ligne": "table.cart tr", "ligne.link": {"css": "a", "attribute": "href"}},
            "choice": {"cart": "ligne"},
        },
    ),
    "cart's data": (
        "fetch('/api/panier?avec=KEY')",
        {
            "data": [
                {"url": "/api/panier", "items": "$.lignes[*]", "link": "$.lien", "roles": {}, "cart": True}
            ],
        },
    ),
    "address": ("location.assign('/panier/merci/ID')", {"choice": {"address": r"/panier/merci/(\d+)"}}),
    "address by script": (
        "history.pushState({}, '', '/panier/merci/ID')",
        {"choice": {"address": r"/panier/merci/(\d+)"}},
    ),
    "message": (
        "document.querySelector('#more').innerHTML = '<p class=dit>' + document.title + ' : c’est fait</p>'",
        {"choice": {"message": {"css": "p.dit", "says": "${product} : c’est fait"}}},
    ),
}


async def run(file: Path) -> sqlite3.Connection:
    """Run two trials; return the database."""
    out = ("--db", "sqlite:///t.db", "--out", str(file.parent / "out"))
    ended = await run_in_threadpool(forked_souk, "run", str(file), "--limit", "2", *out, cwd=file.parent)
    assert ended.status == 0, ended.err
    return sqlite3.connect(file.parent / "t.db")


@pytest.mark.parametrize("way", usual(WAYS, 2))
async def test_the_choice_is_recorded(way: str, tmp_path: Path) -> None:
    press, site = WAYS[way]
    silence = {"request": [], "message": [], "refused": []}
    sku = {"product.id": {"css": "meta[name=sku]", "attribute": "content"}}
    text = {
        "name": "silent",
        "extends": "onestopmarket",
        **site,
        "roles": sku | site.get("roles", {}),
        "choice": silence | site.get("choice", {}),
    }
    (tmp_path / "silent.yaml").write_text(yaml.safe_dump(text))
    async with serve(SilentShop(press=press).app()) as address:
        file = experiment(tmp_path, ForeignShop(), address, site=str(tmp_path / "silent.yaml"))
        connection = await run(file)
    with closing(connection):
        rows = connection.execute(
            "SELECT outcome, choice, (SELECT url FROM steps WHERE steps.trial = trials.trial AND action LIKE "
            "'click%' ORDER BY step DESC LIMIT 1) FROM trials"
        ).fetchall()
    assert [outcome for outcome, _, _ in rows] == ["choice"] * 2
    assert all(f"/{choice}.html" in pressed_on for _, choice, pressed_on in rows), rows


async def test_what_stands_in_the_cart_before_the_agent_acts_is_no_choice_of_it(tmp_path: Path) -> None:
    """The site map's rule also holds for a request of every page, such as a search by GraphQL."""
    load = FETCH.format(path="/panier/ajouter", body=GRAPHQL)
    text = {
        "name": "silent",
        "extends": "onestopmarket",
        "choice": {"request": {"path": "/panier/ajouter"}, "message": [], "refused": []},
    }
    (tmp_path / "silent.yaml").write_text(yaml.safe_dump(text))
    async with serve(SilentShop(script=load).app()) as address:
        file = experiment(tmp_path, ForeignShop(), address, site=str(tmp_path / "silent.yaml"))
        out = ("--limit", "1", "--db", "sqlite:///t.db", "--out", str(tmp_path / "out"))
        ended = await run_in_threadpool(forked_souk, "run", str(file), *out, cwd=tmp_path)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        rows = connection.execute("SELECT outcome, reason, choice FROM trials").fetchall()
    assert [(outcome, choice) for outcome, _, choice in rows] == [("infra_error", None)], rows
    assert ended.status == 1
    assert "before the agent has acted" in ended.err + ended.out


async def test_a_site_map_that_knows_no_choice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mute.yaml").write_text("name: mute\nroles: {product.title: h1}\n")
    file = experiment(tmp_path, ForeignShop(), "http://127.0.0.1:9", site=str(tmp_path / "mute.yaml"))
    ended = await run_in_threadpool(forked_souk, "run", str(file), cwd=tmp_path)
    assert ended.status == 2
    assert "the site map mute does not say what puts a product into the cart" in ended.err


@pytest.mark.thorough
async def test_a_simulated_shopper_buys_by_the_roles_of_the_site_map(tmp_path: Path) -> None:
    """Nothing is called as in the embedded shop, and another price and another button stand on the page."""
    cart = "<p>Warenkorb: 0,00 €</p><button>In den Warenkorb</button>"
    shop = ForeignShop(price="1.299,00 €", button="Mitnehmen", extra=cart)
    async with serve(shop.app()) as address:
        file = experiment(tmp_path, ForeignShop(price="1299.00"), address)
        connection = await run(file)
    with closing(connection):
        assert connection.execute("SELECT DISTINCT outcome FROM trials").fetchall() == [("choice",)]
        thoughts = [row[0] for row in connection.execute("SELECT thought FROM steps WHERE thought != ''")]
    assert all("a price of 1,299.00, a rating of 80% and 12 reviews" in each for each in thoughts[:1])
