"""Expressions of site maps run for a limited time on whatever a page gives; each test ends or times out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.engine import EditFailed
from interventions.errors import CannotEdit, UserError
from interventions.yaml.limited import TooSlow, find, fullmatch, is_slow, one_page, problem_of, search
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.interventions.rewriting import rewritten
from tests.interventions.shop_pages import HOST, KEY

pytestmark = pytest.mark.timeout(60)

SLOW = r"((?:[a-zA-Z .]+)+)[0-9]"
TEXT = "many letters and spaces " * 80
DATA: list[Any] = [[[[[[{"a": 1}] * 6] * 6] * 6] * 6] * 6] * 6
PAGE = f"""<html><body class="product"><h1>Oats</h1><p class="price">{TEXT}</p></body></html>"""


@pytest.fixture(autouse=True)
def less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interventions.yaml.limited.SECONDS", 0.25)


def site_map(folder: Path, yaml: str) -> SiteMap:
    file = folder / "shop.yaml"
    file.write_text("name: shop\npages: {product: body.product}\n" + yaml)
    return load_site_map(file)


def failure(site: SiteMap, body: str, content_type: str, url: str) -> str:
    with pytest.raises(EditFailed) as failed:
        rewritten(body, KEY, {"set_price": 1.5}, site=site, url=url, kind=content_type)
    return str(failed.value)


def test_a_slow_pattern_fails_the_page_and_names_its_key(tmp_path: Path) -> None:
    place = f"{{css: .price, pattern: '{SLOW}'}}"
    site = site_map(tmp_path, f"roles: {{product.price: {place}}}\n")
    reason = failure(site, PAGE, "text/html", f"{HOST}{KEY}.html")
    assert f"{tmp_path}/shop.yaml: roles.product.price[0].pattern: " in reason
    assert "takes longer than 0.25 s on this page; make it simpler" in reason


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "$..*..*..*",
        "$..[?count(@..*..*) > 9]",
        "$" + "[*,*,*]" * 9,
        f"$..[?search(@, '{SLOW.replace('?:', '')}')]",
    ],
)
def test_a_slow_json_path_fails_the_page_and_names_its_key(tmp_path: Path, path: str) -> None:
    data = f'data: [{{url: "*", items: "{path}", link: $.url, roles: {{price: $.price}}}}]\n'
    site = site_map(tmp_path, data)
    reason = failure(site, json.dumps([*DATA, [TEXT]]), "application/json", f"{HOST}api")
    assert "takes longer than 0.25 s" in reason
    assert "data[0].items" in reason or "search" in path


def test_the_expressions_of_a_page_share_one_second() -> None:
    with one_page():
        with pytest.raises(TooSlow):
            search(SLOW, TEXT[1:])
        with pytest.raises(TooSlow):
            search("(a)", "a")
        with pytest.raises(TooSlow):
            find("$..*", DATA)
    assert search("(a)", "a")


def test_what_was_too_slow_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooSlow):
        search(SLOW, TEXT[:-1] + ".")
    monkeypatch.setattr("interventions.yaml.limited.SECONDS", 1e9)
    with pytest.raises(TooSlow):
        search(SLOW, TEXT[:-1] + ".")


def test_a_pattern_that_the_data_give_is_limited_too() -> None:
    with pytest.raises(TooSlow):
        find("$[?search(@.text, @.pattern)]", [{"text": "x" * 1_500, "pattern": "(x+x+)+y"}])
    assert not find("$[?match(@.text, @.pattern)]", [{"text": "a", "pattern": "(a{9999}){9999}"}])
    assert not find("$[?match(@.text, @.pattern)]", [{"text": "a", "pattern": "("}])
    assert find("$[?match(@.text, @.pattern)]", [{"text": "a", "pattern": "."}])


def test_data_that_are_nested_too_deeply_cannot_be_edited() -> None:
    nested: Any = 1
    for _ in range(200):
        nested = [nested]
    with pytest.raises(CannotEdit, match=r"nested|recursion"):
        find("$..price", nested)


@pytest.mark.parametrize(
    "pattern",
    ["(x{2147483647})", "((((a{1000}){1000}){1000}){1000})", "(?=(?:x{9999}){9999})()", "(" * 900 + ")" * 900,
     "(" + "a" * 3_000 + ")", "(a{99999999999})", "("],
)  # fmt: skip
def test_monstrous_patterns_are_refused(tmp_path: Path, pattern: str) -> None:
    assert problem_of(pattern)
    with pytest.raises(UserError, match=r"roles\.product\.price\[0\]\.pattern|roles\.product\.price"):
        site_map(tmp_path, f"roles: {{product.price: {{css: .price, pattern: '{pattern}'}}}}\n")


def test_slow_patterns_are_known_beforehand(tmp_path: Path) -> None:
    roles = f"roles: {{product.price: {{css: .price, pattern: '{SLOW}'}}, product.name: h1}}\n"
    (found,) = site_map(tmp_path, roles).slow_expressions()
    assert found[0] == "roles.product.price[0].pattern"
    assert "takes too long" in found[1]


@pytest.mark.parametrize("name", ["onestopmarket", "schema-org"])
def test_no_shipped_pattern_is_slow(name: str) -> None:
    assert not list(load_site_map(name).slow_expressions())


PATTERNS = st.from_regex(
    r"\A(?:[a1$., /-]|\\[dwsDWSb]|\[[a-z0-9.,]{1,4}\]|\((?:\?:)?[a1.\\]{0,1}[a-z]{1,3}\)|\^|\$|\.)[*+?]?"
    r"(?:(?:[a1$., /-]|\\[dwsb]|\[\^[a-z0-9.,]{1,4}\]|\.)(?:[*+?]|\{[0-3],?[4-6]?\})?\??|\|){0,5}\Z"
)


@given(PATTERNS, st.text(alphabet="a1b$.,/ -\u00e9\u0131K\u0661\n", max_size=30))
def test_patterns_are_read_as_python_reads_them(pattern: str, text: str) -> None:
    if problem_of(pattern):
        return
    for ours, pythons in ((search, re.search), (fullmatch, re.fullmatch)):
        found, wanted = ours(pattern, text), pythons(pattern, text)
        assert (found and (found.span(), found.groups())) == (wanted and (wanted.span(), wanted.groups()))


def test_is_slow_ends_where_nothing_matches() -> None:
    assert is_slow("(?:(?:1,?)+)+x")
    assert not is_slow(r"\$([0-9,.]+)")
    assert regex.__version__
