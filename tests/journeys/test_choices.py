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
from starlette.responses import HTMLResponse, JSONResponse, Response

from tests.experiments.command_line import Ended, forked_souk
from tests.experiments.foreign_shop import KEYS, ForeignShop, experiment
from tests.support import serve

pytestmark = pytest.mark.browser

IDS = {key: str(number) for number, key in enumerate(KEYS, 17)}
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
        return await super().answer(request)


WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "form": (
        "const f = new FormData(); f.set('sku', 'ID'); fetch('/panier/ajouter', {method: 'POST', body: f})",
        {"request": {"path": "/panier/ajouter", "field": "sku"}},
    ),
    "address by script": (
        "history.pushState({}, '', '/panier/merci/ID')",
        {"address": r"/panier/merci/(\d+)"},
    ),
}
"""What the button does, and the rule for it; further ones: tests/proxy/test_choices.py."""


async def run(shop: SilentShop, choice: dict[str, Any], folder: Path) -> tuple[Ended, list[tuple[Any, ...]]]:
    """Run two trials by a site map with these rules; what became of them, and where was pressed."""
    text = {
        "name": "silent",
        "extends": "onestopmarket",
        "roles": {"product.id": {"css": "meta[name=sku]", "attribute": "content"}},
        "choice": {"request": [], "message": [], "refused": []} | choice,
    }
    (folder / "silent.yaml").write_text(yaml.safe_dump(text))
    async with serve(shop.app()) as address:
        file = experiment(folder, ForeignShop(), address, site=str(folder / "silent.yaml"))
        out = ("--limit", "2", "--db", "sqlite:///t.db", "--out", str(folder / "out"))
        ended = await run_in_threadpool(forked_souk, "run", str(file), *out, cwd=folder)
    with closing(sqlite3.connect(folder / "t.db")) as connection:
        rows = connection.execute(
            "SELECT outcome, choice, (SELECT url FROM steps WHERE steps.trial = trials.trial AND action LIKE "
            "'click%' ORDER BY step DESC LIMIT 1) FROM trials"
        ).fetchall()
    return ended, rows


@pytest.mark.parametrize("way", WAYS)
async def test_the_choice_is_recorded(way: str, tmp_path: Path) -> None:
    press, choice = WAYS[way]
    ended, rows = await run(SilentShop(press=press), choice, tmp_path)
    assert ended.status == 0, ended.err
    assert [outcome for outcome, _, _ in rows] == ["choice"] * 2
    assert all(f"/{choice}.html" in pressed_on for _, choice, pressed_on in rows), rows


async def test_what_stands_in_the_cart_before_the_agent_acts_is_no_choice_of_it(tmp_path: Path) -> None:
    """The site map's rule also holds for a request of every page, such as a search by GraphQL."""
    load = FETCH.format(path="/panier/ajouter", body=GRAPHQL)
    rule = {"request": {"path": "/panier/ajouter"}}
    ended, rows = await run(SilentShop(script=load), rule, tmp_path)
    assert {(outcome, choice) for outcome, choice, _ in rows} == {("infra_error", None)}, rows
    assert ended.status == 1
    assert "before the agent has acted" in ended.err + ended.out


async def test_a_site_map_that_knows_no_choice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mute.yaml").write_text("name: mute\nroles: {product.title: h1}\n")
    file = experiment(tmp_path, ForeignShop(), "http://127.0.0.1:9", site=str(tmp_path / "mute.yaml"))
    ended = await run_in_threadpool(forked_souk, "run", str(file), cwd=tmp_path)
    assert ended.status == 2
    assert "the site map mute does not say what puts a product into the cart" in ended.err
