import pytest

from interventions.errors import UserError
from proxy.session import AllowList


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:7770/", "127.0.0.1", 7770),
        ("http://Shop.Test", "shop.test", 80),
        ("https://shop.test/cart?a=1#top", "shop.test", 443),
        ("wss://shop.test", "shop.test", 443),
        ("http://[::1]:8080/", "::1", 8080),
        ("http://user:word@shop.test:81/", "shop.test", 81),
    ],
)
def test_a_url_allows_its_host_at_its_port_only(url: str, host: str, port: int) -> None:
    allow = AllowList.of(url)
    assert (host, port) in allow
    assert (host.upper(), port) in allow
    assert (host, port + 1) not in allow
    assert (f"other.{host}", port) not in allow
    assert ("", 80) not in allow


def test_several_urls_allow_only_their_own_pairs() -> None:
    allow = AllowList.of("http://one.test:81", "http://two.test:82")
    assert ("one.test", 81) in allow
    assert ("two.test", 82) in allow
    assert ("one.test", 82) not in allow


def test_an_empty_list_allows_nothing() -> None:
    assert ("127.0.0.1", 80) not in AllowList.of()


@pytest.mark.parametrize(
    "url",
    [
        "localhost:7770",
        "shop.test",
        "",
        "http://",
        "http://a:port",
        "http://a:99999",
        "ftp://a",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_one_line(url: str) -> None:
    with pytest.raises(UserError, match="not the address of a shop; write it like") as caught:
        AllowList.of("http://fine.test", url)
    assert "\n" not in str(caught.value)
