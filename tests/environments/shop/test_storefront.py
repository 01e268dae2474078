import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from environments.shop.catalogue import generate
from environments.shop.sessions import Sessions
from environments.shop.storefront import Storefront, amount, money

SHOP = Storefront(generate(0), Sessions())


def request(host: str = "shop.test", path: str = "/a.html", query: str = "", referer: str = "") -> Request:
    headers = [(b"host", host.encode("latin-1")), (b"referer", referer.encode())]
    scope = {"type": "http", "method": "GET", "scheme": "http", "server": ("127.0.0.1", 80), "path": path}
    return Request(scope | {"query_string": query.encode(), "headers": headers})


@given(st.integers(1, 10**9))
def test_money_and_amount_agree(cents: int) -> None:
    assert money(cents).replace("$", "").replace(",", "") == f"{float(amount(cents)):.2f}"
    assert not amount(cents).endswith(".")
    assert (amount(1150), amount(2000)) == ("11.5", "20")


def test_the_way_back_is_the_page_that_was_left() -> None:
    visit = SHOP.visit(request(path="/catalogsearch/result/", query="q=a+b?&p=2"))
    assert visit.origin(visit.uenc) == "http://shop.test/catalogsearch/result/?q=a+b?&p=2"


ELSEWHERE = ("http://evil.test/", "//evil.test", "http://shop.test.evil.test/", "javascript:alert(1)")


@pytest.mark.parametrize("elsewhere", [*ELSEWHERE, "http://shop.test/\r\nX: y"])
def test_the_way_back_never_leaves_the_shop(elsewhere: str) -> None:
    uenc = base64.b64encode(elsewhere.encode()).decode()
    assert SHOP.visit(request()).origin(uenc) == "http://shop.test/"
    if elsewhere.isprintable():
        assert SHOP.visit(request(referer=elsewhere)).origin("") == "http://shop.test/"


@given(st.text(max_size=50))
def test_any_uenc_gives_an_address_of_the_shop(uenc: str) -> None:
    assert SHOP.visit(request()).origin(uenc).startswith("http://shop.test/")


@pytest.mark.parametrize("host", ["", 'a"><script>', "a b", "a/b", "user@host", "a:b", "é.test"])
def test_a_malformed_host_never_gets_into_links(host: str) -> None:
    assert SHOP.visit(request(host=host)).base == "http://127.0.0.1:80/"


@pytest.mark.parametrize("host", ["shop.test", "127.0.0.1:8080", "[::1]:80", "my_shop"])
def test_links_use_the_host_that_was_asked(host: str) -> None:
    assert SHOP.visit(request(host=host)).base == f"http://{host}/"
