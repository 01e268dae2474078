"""The observer's script, as it is sent to guests' pages."""

import gzip

import brotli  # type: ignore[import-untyped]

from environments.guest_pages.observer import observer, observer_code
from environments.observation.observe import ObservationQuery
from interventions.edits.in_browser import CardQuery, ElementQuery
from interventions.yaml.sitemap import load_site_map

MOST_IN_A_PAGE, MOST_ONCE, MOST_ONCE_BY_BROTLI = 1_600, 12_900, 11_500
"""The most bytes that the script may have: in each page, and once for each browser, compressed."""

CODE = observer_code(load_site_map("onestopmarket"))


def test_the_script_stays_small() -> None:
    spots = tuple(ElementQuery(f"main .{name}") for name in ("title", "price", "stars", "reviews", "stock"))
    parts = tuple(ElementQuery(f"strong.{name}") for name in ("name", "price"))
    cards = (CardQuery("item", "li.product-item", ElementQuery("a.product-item-link", "href"), parts),)
    wanted = ObservationQuery(spots, own=True, cards=cards, pictures=True)
    assert len(observer(wanted, "/.souk/seen/abcdefghijklmnopqrstuv", "viewport")) < MOST_IN_A_PAGE
    assert len(gzip.compress(CODE.encode())) < MOST_ONCE
    assert len(brotli.compress(CODE.encode())) < MOST_ONCE_BY_BROTLI


def test_the_script_can_stand_in_a_page() -> None:
    script = observer(ObservationQuery((ElementQuery("</script>"),)), "/.souk/seen/here", "page")
    for each in (script, CODE):
        assert each.isascii()
        assert "</script" not in each
        assert "<!--" not in each
