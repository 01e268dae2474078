"""`souk catalogue import`: a running shop's listings as a table."""

import asyncio
import csv
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.responses import RedirectResponse
from typer.testing import CliRunner

from environments.shop.catalogue import generate
from environments.shop.server import shop as run_shop
from experiments.commands.catalogue import app
from experiments.designs.catalogue.importer import Importer, Progress, import_notes
from experiments.designs.catalogue.table import read_catalogue
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.errors import UserError
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.support import Answer, pages

SITE = load_site_map("onestopmarket")


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[str]:
    async with run_shop() as url:
        yield url


async def run(base: str, out: Path, *wanted: str, limit: int | None = None, site: SiteMap = SITE) -> Progress:
    importer = Importer(base, out, site, limit)
    shares = [progress.share async for progress in importer.run(wanted)]
    assert shares == sorted(shares)
    return importer.progress


def rows(out: Path) -> list[dict[str, str]]:
    with out.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def page(*entries: str) -> str:
    return f"<title>One Stop Market</title><nav class=navigation><ul>{''.join(entries)}</ul></nav>"


def listing(*keys: str, more: bool = False) -> str:
    cards = (
        f"""<li class="item product product-item"><strong class="product name product-item-name">
        <a class=product-item-link href="/{key}.html">{key.title()}</a></strong>
        <div class="price-box price-final_price"><span data-price-type=finalPrice class=price-wrapper
        data-price-amount=5><span class=price>$5.00</span></span></div>
        <form data-role=tocart-form action="/checkout/cart/add/product/1/"></form></li>"""
        for key in keys
    )
    following = '<a class="action next" href="?p=2">Next</a>' if more else ""
    return f"<body class=catalog-category-view><ol>{''.join(cards)}</ol>{following}</body>"


@pytest.mark.slow
async def test_the_embedded_shop_is_read_as_it_is(shop: str, tmp_path: Path) -> None:
    """And a catalogue of it holds the products that a choice set may have."""
    wanted = ("wine", "Over-Ear Headphones")
    out = tmp_path / "new" / "catalogue.csv"
    done = await run(shop, out, *wanted)
    names = {"Wine", "Over-Ear Headphones"}
    known = {item.key: item for item in generate().products if item.category in names and item.in_stock}
    assert done.complete
    assert done.products == done.added == len(known)
    assert {row["key"] for row in rows(out)} == known.keys()
    for row in rows(out):
        product = known[row["key"]]
        assert (row["name"], row["category"]) == (product.name, product.category)
        assert float(row["price"]) == product.price
        assert row["rating"] == str(product.rating or "")
        assert row["reviews"] == str(product.reviews or 0)
        assert row["has_options"] == str(bool(product.options)).lower()
    usable = {item.key: item for item in shop_products() if item.category in names and item.rating}
    assert {item.key: item for item in read_catalogue(out).products} == usable


@pytest.mark.thorough
@pytest.mark.slow
async def test_an_import_goes_on_where_it_stopped(shop: str, tmp_path: Path) -> None:
    """By pages, and after a line that was cut off."""
    whole, out = tmp_path / "whole.csv", tmp_path / "parts.csv"
    await run(shop, whole, "Wine", "Breads")
    first = await run(shop, out, "Wine", "Breads", limit=2)
    assert (first.fetched, first.complete) == (2, False)
    assert 0 < first.products < len(rows(whole))
    with out.open("ab") as file:
        file.write(b"Breads,cut o")
    later = [await run(shop, out, "Wine", "Breads", limit=2) for _ in range(3)]
    assert [done.complete for done in later] == [False, False, True]
    assert rows(out) == rows(whole)
    again = await run(shop, out, "Wine", "Breads")
    assert (again.complete, again.added, again.products) == (True, 0, len(rows(whole)))
    assert rows(out) == rows(whole)


@pytest.mark.slow
async def test_the_command_says_what_it_did(shop: str, tmp_path: Path) -> None:
    out = tmp_path / "wine.csv"
    arguments = ["import", shop.rstrip("/"), "--out", str(out), "--category", "wine"]
    first = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--limit", "2"])
    assert first.exit_code == 0, first.output
    assert "stopped after 2 pages (--limit); the same command goes on" in first.output
    second = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    kept = len(rows(out))
    assert f"{kept} products" in second.output
    assert "stopped" not in second.output
    assert files(tmp_path) == ["wine.csv"]


@pytest.mark.slow
async def test_categories_of_one_name(tmp_path: Path) -> None:
    """One that stands in the menu twice is read once; another of the name bears its department's too."""
    shown: dict[str, Answer] = {
        "/": page(
            "<li><a href=/phones.html>Phones</a><ul><li><a href=/phones/cases.html>Cases</a></li></ul></li>",
            "<li><a href=/work.html>Work</a><ul><li><a href=/work/cases.html>Cases</a></li>",
            "<li><a href=/work/lamps.html>Lamps</a></li></ul></li>",
            "<li><a href=/travel.html>Travel</a><ul><li><a href=/travel/cases.html>Cases</a></li></ul></li>",
        ),
        "/phones/cases.html": listing("ash", "elm"),
        "/work/cases.html": listing("elm", "ash", more=True),
        "/work/lamps.html": listing("oak"),
        "/travel/cases.html": listing("yew", "elm"),
    }
    out = tmp_path / "catalogue.csv"
    async with pages(shown) as url:
        done = await run(url, out)
        assert done.fetched == 5
        assert {row["key"]: row["category"] for row in rows(out)} == {
            "ash": "Cases",
            "elm": "Cases",
            "oak": "Lamps",
            "yew": "Travel / Cases",
        }
        assert (await run(url, out, "lamps")).added == 0
        # Page by page it is the same.
        for _ in range(4):
            parts = await run(url, tmp_path / "parts.csv", limit=2)
        assert parts.complete
        assert rows(tmp_path / "parts.csv") == rows(out)


def menu(link: str) -> dict[str, Answer]:
    return {"/": page(f"<li><a href={link}>Wine</a></li>")}


@pytest.mark.parametrize(
    ("answers", "wanted", "message"),
    [
        ({"/": "<title>Hello</title>"}, [], "no menu of categories"),
        (menu("/gone.html"), [], "the shop answers 404 Not Found; the same command goes on"),
        (menu("/wine.html"), ["Wines"], r'--category Wines: not in the menu of .*; did you mean "wine"\?'),
        (menu("http://127.0.0.2/wine.html"), [], r"the menu leads to 127\.0\.0\.2; set the shop's base URL"),
        ({"/": RedirectResponse("http://127.0.0.2/")}, [], "redirects to another host"),
    ],
)
async def test_what_is_no_shop_is_said_and_no_other_host_is_asked(
    answers: dict[str, Answer], wanted: list[str], message: str, tmp_path: Path
) -> None:
    async with pages(answers) as url:
        with pytest.raises(UserError, match=message):
            await run(url, tmp_path / "a.csv", *wanted)
    assert not (tmp_path / "a.csv").exists() or rows(tmp_path / "a.csv") == []


@pytest.mark.slow
async def test_what_is_no_address_or_no_file_of_ours(shop: str, tmp_path: Path) -> None:
    out = tmp_path / "notes.csv"
    for text in ("my notes", "a,b\n1,2\n"):
        out.write_text(text)
        with pytest.raises(UserError, match=r"--out .*notes\.csv: not written by an import; choose another"):
            await run(shop, out)
        assert out.read_text() == text
    out.unlink()
    for address, message in (
        ("shop.example", "not the address of a shop; write it like"),
        (str(httpx.URL(shop).copy_with(port=1)), "is the shop running"),
    ):
        with pytest.raises(UserError, match=message):
            await run(address, out)


@pytest.mark.slow
async def test_any_shop_is_read_from_the_addresses_of_its_listings(tmp_path: Path) -> None:
    lamps = """<body class=shelf><div class=lamp><a href="/a/7-one">One</a><b>€ 1.049,95</b>
    <i>4,5 von 5</i></div>
    <div class=lamp><a href="/a/8-two">Two</a><b>€ 59,00</b><i>4 von 5</i></div></body>"""
    (tmp_path / "map.yaml").write_text(
        "name: lamps\npages: {listing: body.shelf}\nroles:\n  item: div.lamp\n"
        "  item.link: {css: a, attribute: href}\n  item.name: a\n  item.price: b\n"
        "  item.rating: {css: i, scale: 5}\n"
    )
    site, out = load_site_map(tmp_path / "map.yaml"), tmp_path / "lamps.csv"
    wanted = ["Lamps=/k/lamps", "Lamps=/k/lamps?page=2"]
    async with pages({"/k/lamps": lamps}) as base:
        done = await run(f"{base}/", out, *wanted, site=site)
        assert (done.complete, done.products, done.added) == (True, 2, 2)
        found = [(row["key"], row["category"], row["price"], row["rating"]) for row in rows(out)]
        assert found == [("a/7-one", "Lamps", "1049.95", "90"), ("a/8-two", "Lamps", "59.00", "80")]
        assert [row["url"] for row in rows(out)] == [f"{base}{row['key']}" for row in rows(out)]
        assert [*import_notes(out, site)] == ["2 ratings, in percent; read as out of 5"]
        bare = tmp_path / "bare.yaml"
        bare.write_text((tmp_path / "map.yaml").read_text().partition("  item.price")[0])
        address, bare_out = "Lamps=/k/lamps", tmp_path / "bare.csv"
        arguments = ["import", base, "--out", str(bare_out), "--site", str(bare), "--category", address]
        ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert ended.exit_code == 0, ended.exception
        told = " ".join(ended.output.split())
        for part in ("price", "rating"):
            assert f"no product has a {part}: the site map lamps finds none (item.{part}" in told
    async with pages({"/k/lamps": "<p>Nothing here"}) as base:
        with pytest.raises(UserError, match="finds no products listed there"):
            await run(f"{base}/", tmp_path / "new.csv", *wanted, site=site)


@pytest.mark.slow
async def test_what_cards_do_not_show_is_read_from_the_products_pages(tmp_path: Path) -> None:
    listing = (
        "<body class=shelf><div class=lamp><a href=/a/7-one>One</a><b>€ 12<sup>95</sup></b></div></body>"
    )
    page = "<h1>One</h1><b>€ 12<sup>95</sup></b><i>4,5 von 5</i><u>31 Meinungen</u>"
    (tmp_path / "map.yaml").write_text(
        "name: lamps\npages: {listing: body.shelf, product: h1}\nroles:\n  item: div.lamp\n"
        "  item.link: {css: a, attribute: href}\n  item.name: a\n  item.price: b\n"
        "  product.rating: {css: i, scale: 5}\n  product.reviews: u\n"
    )
    site, out = load_site_map(tmp_path / "map.yaml"), tmp_path / "lamps.csv"
    async with pages({"/k/lamps": listing, "/a/7-one": page}) as base:
        await run(f"{base}/", out, "Lamps=/k/lamps", site=site)
    (row,) = rows(out)
    assert (row["price"], row["rating"], row["reviews"]) == ("12.95", "90", "31")
