"""A page that was seen before is rewritten as if it were new, whatever has changed on it meanwhile."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.apply.engine import PlaceMemory, Rewrite, rewrite
from interventions.yaml.sitemap import load_site_map
from tests.interventions.rewriting import plan_of
from tests.interventions.shop_pages import HOST, HTML, KEY, product_page

SITE = load_site_map("onestopmarket")
EDITS = (
    {"set_price": "12.34"},
    {"set_title": "Plain cookies"},
    {"insert_text": {"after": "product.title", "text": "A best seller"}},
    {"remove": "product.sku"},
)
PLAN = plan_of(KEY, *EDITS)
PLACES = PlaceMemory()
numbers = count()


def fresh_url() -> str:
    return f"{HOST}page-{next(numbers)}.html"


def at(url: str, body: bytes) -> Rewrite:
    return rewrite(body, content_type=HTML, url=url, plan=PLAN, site=SITE, places=PLACES)


def test_what_one_proxy_has_seen_is_not_known_to_another() -> None:
    url = fresh_url()
    at(url, product_page())
    assert PLACES.marks(url, PLAN)
    assert PlaceMemory().marks(url, PLAN) is None


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["", "x", "<b>x</b>", "<!--x-->"])), max_size=4)
)
def test_a_page_that_has_changed_is_rewritten_as_if_it_were_new(changes: list[tuple[int, str]]) -> None:
    url, page = fresh_url(), product_page()
    first = at(url, page)
    assert len(first.receipts) == len(EDITS)
    assert at(url, page) == first
    for times, filler in changes:
        changed = page.replace(b"<body", b"<body data-token='%b'" % (b"t" * times), 1).replace(
            b"</h1>", b"</h1>" + filler.encode() * times, 1
        )
        assert at(url, changed) == at(fresh_url(), changed)
