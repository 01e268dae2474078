from collections.abc import Callable

import pytest

from interventions.apply.consistency import disagreements
from interventions.apply.engine import Receipt, Rewrite
from interventions.apply.plan import Plan
from interventions.errors import UserError
from interventions.yaml.sitemap import SiteMap, load_site_map
from proxy import session
from proxy.allow_list import AllowList
from proxy.session import Session
from proxy.shown_page import ShownPage


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
    assert ("127.0.0.1", 80) not in AllowList.of()
    both = AllowList.of(url, "http://two.test:82")
    assert (host, port) in both and ("two.test", 82) in both
    assert (host, 82) not in both and ("two.test", port) not in both


NO_SHOPS = ("localhost:7770", "shop.test", "", "http://", "http://a:port", "http://a:99999", "ftp://a")


@pytest.mark.parametrize("url", [*NO_SHOPS, "http://[::1"])
def test_what_is_no_address_is_one_line(url: str) -> None:
    with pytest.raises(UserError, match="not the address of a shop; write it like") as caught:
        AllowList.of("http://fine.test", url)
    assert "\n" not in str(caught.value)


# Limits


@pytest.fixture
def episode() -> Session:
    return Session(Plan(), load_site_map("onestopmarket"))


def a_page(number: int, length: int = 0) -> ShownPage:
    return ShownPage(f"http://shop.test/{number}", "text/html", b"x" * length, None)


@pytest.mark.slow
def test_more_pages_than_an_episode_may_have_fail_it_once(episode: Session) -> None:
    for number in range(session.MOST_PAGES + 3):
        assert bool(episode.failures) == (number > session.MOST_PAGES)
        episode.note_page(a_page(number))
    assert len(episode.pages) == session.MOST_PAGES
    assert episode.failures == [
        f"http://shop.test/{session.MOST_PAGES}: there were too many pages, or too large ones"
    ]


def test_pages_that_are_too_large_together_fail_the_episode(episode: Session) -> None:
    for number in range(3):
        episode.note_page(a_page(number, session.MOST_BYTES // 2))
    assert len(episode.pages) == 2
    assert episode.failures == ["http://shop.test/2: there were too many pages, or too large ones"]


def test_what_the_shop_sent_is_kept_up_to_a_size(episode: Session) -> None:
    receipt = Receipt("", "", "", "", "", 1, "", "", "", "")
    made = Rewrite(b"", "product", None, (receipt,))
    for _ in range(4):
        episode.note_sent("http://shop.test/", "text/html", b"x" * (session.MOST_BYTES // 2), made)
    assert len(episode.sent) == 2


@pytest.mark.parametrize("note", [Session.note_failure, Session.note_upstream_error])
def test_of_many_failures_the_first_are_kept(episode: Session, note: Callable[..., None]) -> None:
    for number in range(session.MOST_FAILURES + 3):
        note(episode, f"failure {number}")
    assert [*episode.failures, *episode.upstream_errors] == [
        f"failure {number}" for number in range(session.MOST_FAILURES)
    ]


def test_redirects_without_end_fail_the_episode(episode: Session) -> None:
    episode.known[episode.site.key("http://shop.test/a")] = "a"
    for number in range(session.MOST_PAGES + 3):
        episode.redirected("http://shop.test/a", f"http://shop.test/{number}")
    assert len(episode.known) == session.MOST_PAGES + 1
    assert episode.failures[0] == "http://shop.test/a: there were too many redirects"


def test_nothing_is_kept_of_what_happens_after_the_end(episode: Session) -> None:
    episode.note_page(a_page(0))
    episode.keep(a_page(1))
    episode.end()
    episode.note_page(a_page(2))
    episode.keep(a_page(3))
    assert (episode.pages, episode.as_sent) == ([], {})


@pytest.mark.slow
def test_pages_that_are_kept_for_their_ids_are_not_larger_together(episode: Session) -> None:
    for number in range(5):
        episode.keep(a_page(number, session.MOST_BYTES // 2))
    assert list(episode.as_sent) == ["http://shop.test/3", "http://shop.test/4"]


CART = SiteMap.model_validate(
    {
        "name": "cart",
        "pages": {"product": "h1"},
        "roles": {
            "product.price": ".price",
            "row": "tr",
            "row.link": {"css": "a", "attribute": "href"},
            "row.price": ".each",
        },
    }
)


def test_control_trials_are_compared_too() -> None:
    session = Session(Plan(), CART)
    cart = b"<table><tr><td><a href=/oil>Oil</a><td class=each>$14.90</table>"
    for url, body in (
        ("http://shop.test/oil", b"<h1>Oil</h1><p class=price>$44.90</p>"),
        ("http://shop.test/cart", cart),
    ):
        session.keep(ShownPage(url, "text/html", body, None, sent=body, cart=None))
    (line,) = disagreements(session.sightings())
    assert line.startswith("oil: price is 44.90 as product.price")
