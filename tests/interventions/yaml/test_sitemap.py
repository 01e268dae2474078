"""Site maps and product keys."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.errors import UserError
from interventions.yaml.sitemap import Place, SiteMap, load_site_map, product_key


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.test/crème-oats-12-oz.html",
        "HTTP://SHOP.test:7770/Cr%C3%A8me-Oats-12-oz.html?options=cart#reviews",
        "https://user@127.0.0.1/cr%c3%a8me-oats-12-oz.html/",
        "//shop.test//crème-oats-12-oz",
        "/crème-oats-12-oz.HTML",
        " crème-oats-12-oz\n",
    ],
)
def test_one_product_has_one_key(url: str) -> None:
    assert product_key(url) == "crème-oats-12-oz"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://shop.test/", ""),
        ("http://shop.test", ""),
        ("http://[::1/x", ""),
        ("/a/b.html", "a/b"),
        ("x.html.html", "x.html"),
    ],
)
def test_other_addresses(url: str, key: str) -> None:
    assert product_key(url) == key


@pytest.mark.parametrize(
    ("url", "query", "key"),
    [
        ("/item?id=7&ref=2#x", "id", "item?id=7"),
        ("/ITEM?ref=2&id=A%20B", "id", "item?id=a b"),
        ("index.php?route=product/product&product_id=42", "product_id", "index.php?product_id=42"),
        ("/shop/lamp.html?ref=2", "id", "shop/lamp"),
        ("/lamp.html;jsessionid=1A2B?ref=2", "", "lamp"),
    ],
)
def test_the_query_may_tell_the_product(url: str, query: str, key: str) -> None:
    site = SiteMap(name="own", query=query.split())
    assert site.key(url, "http://shop.test/") == key
    assert site.key(key) == key, "a key is its own address"


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    assert not product_key(text).startswith("/")


def test_a_map_can_override_another(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("""
name: own
extends: onestopmarket
pages:
  other: {title: Gone}
roles:
  product.title: h1
  product.price: [span.a, {css: b, attribute: content}]
""")
    site, base = load_site_map(own), load_site_map("onestopmarket")
    assert site.role("product.title") == (Place(css="h1"),)
    assert site.role("product.price") == (Place(css="span.a"), Place(css="b", attribute="content"))
    assert site.role("item.title") == base.role("item.title")
    assert list(site.pages) == ["other", *base.pages]
    third = tmp_path / "third.yaml"
    third.write_text("name: third\nextends: own.yaml\n")
    assert load_site_map(third).role("product.title") == (Place(css="h1"),)


MISTAKES = {
    "roles:\n  a.title: 'h1['": ':3: roles.a.title: "h1[" is not a CSS selector; check brackets and quotes',
    "roles: {a.title: {css: h1, atribute: x}}": 'a.title.atribute: unknown key; did you mean "attribute"?',
    "roles: {a b: h1}": ':2:1: roles: "a b" is no name for a role; write it like item or item.price',
    "pages: {shop: h1}": ':2:9: pages.shop: unknown value "shop"; use one of: cart, checkout, home, listing',
    "extends: nowhere": 'no site map "nowhere"; shipped: acp, embedded, onestopmarket, schema-org, ucp (or',
    "extends: map.yaml": "map.yaml: extends: the site map extends itself; remove this key",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(f"name: x\n{text}")
    with pytest.raises(UserError) as error:
        load_site_map(path)
    assert MISTAKES[text] in str(error.value)


def test_a_map_says_for_itself_what_it_wants_to_know_of_choices(tmp_path: Path) -> None:
    base = load_site_map("onestopmarket").choice
    (tmp_path / "mine.yaml").write_text("name: mine\nextends: onestopmarket\nchoice: {address: /thanks}\n")
    mine = load_site_map(tmp_path / "mine.yaml").choice
    assert (mine.address, mine.request, mine.message) == (("/thanks",), base.request, base.message)
    (tmp_path / "mine.yaml").write_text("name: mine\nextends: onestopmarket\nchoice: {request: []}\n")
    assert load_site_map(tmp_path / "mine.yaml").choice.request == ()


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ("{cart: rows}", 'choice.cart: "rows" is no kind of card of this map; did you mean "row"?'),
        ("{request: {path: '('}}", '4:20: choice.request.path: "(" is no regular expression'),
        ("{request: {path: a, field: $.}}", '4:29: choice.request.field: "$." is no JSONPath'),
        ("{message: {css: p, says: '${product}'}}", "choice.message.says: beside ${product} nothing is said"),
        ("{message: {css: 'p['}}", 'choice.message.css: "p[" is not a CSS selector'),
        ("{mesage: p}", 'choice.mesage: unknown key; did you mean "message"?'),
    ],
)
def test_a_mistake_in_the_rules_of_a_choice_is_one_line(tmp_path: Path, choice: str, problem: str) -> None:
    cards = "roles:\n  {row: tr, row.link: a}\n"
    (tmp_path / "map.yaml").write_text(f"name: mine\n{cards}choice: {choice}\n")
    with pytest.raises(UserError) as caught:
        load_site_map(tmp_path / "map.yaml")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
